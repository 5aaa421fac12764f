// Opens both worktrees, edits a file of one, and says whether the edit arrived there and only there.
// Argument: JSON {chromium, edited: {url, directory}, other: {url, directory}}. Exit 0: all as it should be.
import { strict as assert } from "node:assert";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";

const plan = JSON.parse(process.argv[2]);
const limit = { timeout: 20_000 };
const marker = "rgb(1, 2, 3)";

// A page, what it heard over its WebSocket, and every error that it reported.
async function open(context, worktree) {
  const page = await context.newPage();
  const seen = { page, sockets: [], updates: [], errors: [] };
  page.on("websocket", (socket) => {
    seen.sockets.push(socket.url());
    socket.on("framereceived", ({ payload }) => {
      const message = JSON.parse(payload.toString());
      if (message.type === "update") seen.updates.push(...message.updates.map((update) => update.path));
    });
  });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("requestfailed", (request) => seen.errors.push(`${request.url()}: ${request.failure().errorText}`));
  const connected = page.waitForEvent("console", { predicate: (line) => line.text().includes("[vite] connected"), ...limit });
  const response = await page.goto(worktree.url, limit);
  assert.equal(response.status(), 200);
  await connected;
  await page.getByRole("heading", { name: "Hello Vite!" }).waitFor(limit);
  // Lost by a reload: proves that the module was replaced in the running page.
  await page.evaluate(() => { window.loadedOnce = true; });
  return seen;
}

const color = (page) => page.evaluate(() => getComputedStyle(document.querySelector("h1")).color);

const browser = await chromium.launch({ executablePath: plan.chromium, args: ["--no-sandbox"] });
try {
  const context = await browser.newContext();
  const edited = await open(context, plan.edited);
  const other = await open(context, plan.other);
  const before = await color(other.page);

  const sheet = join(plan.edited.directory, "src/style.css");
  await writeFile(sheet, `${await readFile(sheet, "utf8")}\nh1 { color: ${marker}; }\n`);
  await edited.page.waitForFunction(
    (wanted) => getComputedStyle(document.querySelector("h1")).color === wanted, marker, limit);
  assert.equal(await edited.page.evaluate(() => window.loadedOnce), true, "the page was reloaded, not updated in place");
  assert.ok(edited.updates.includes("/src/style.css"), `updates: ${edited.updates}`);

  // An edit of the other worktree's own, later, has arrived: so the first one would have arrived there too by now.
  const text = join(plan.other.directory, "src/counter.js");
  await writeFile(text, (await readFile(text, "utf8")).replace("count is", "it counts"));
  await other.page.getByRole("button", { name: "it counts" }).waitFor(limit);
  assert.equal(await color(other.page), before, "the edit shows in the other worktree");
  assert.deepEqual(other.updates.filter((path) => path.endsWith("style.css")), []);
  assert.equal(await edited.page.evaluate(() => window.loadedOnce), true, "the other worktree's edit reloaded this page");

  for (const [seen, worktree] of [[edited, plan.edited], [other, plan.other]]) {
    // Vite falls back to its own port where the page's address does not work: that would not be through the edge.
    const origin = new URL(worktree.url).origin.replace("http", "ws");
    assert.ok(seen.sockets.length > 0 && seen.sockets.every((url) => url.startsWith(`${origin}/`)), `${seen.sockets}`);
    assert.deepEqual(seen.errors, []);
  }
  console.log("hot reload arrived in the edited worktree only");
} finally {
  await browser.close();
}
