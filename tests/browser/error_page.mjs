// Opens the edge's error pages and says whether they are as they should be. Argument: JSON {chromium, port, control, hosts: {host:
// [status, command]}, starting: host, live: route, pictures: directory or ""}. Exit 0: all as it should be.
import { strict as assert } from "node:assert";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { putRoute } from "./control_api.mjs";

const plan = JSON.parse(process.argv[2]);
const limit = { timeout: 20_000 };
const url = (host) => `http://${host}:${plan.port}/some/page?x=1`;

// What the page asked for besides itself, and everything that it or the browser complained about. A browser always asks for the icon.
function watch(page) {
  const seen = { requests: [], complaints: [] };
  page.on("request", (one) => { if (!one.url().endsWith("/favicon.ico")) seen.requests.push(one.url()); });
  page.on("pageerror", (error) => seen.complaints.push(String(error)));
  page.on("console", (line) => {
    const ours = line.location().url.endsWith("/favicon.ico") || line.text().startsWith("Failed to load resource");
    if (!ours) seen.complaints.push(line.text());
  });
  return seen;
}

async function picture(page, name) {
  if (plan.pictures) await page.screenshot({ path: join(plan.pictures, `${name}.png`), fullPage: true });
}

async function checkPage(browser, host, status, command) {
  const backgrounds = new Set();
  for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ colorScheme });
    const page = await context.newPage();
    const seen = watch(page);
    const response = await page.goto(url(host), limit);
    assert.equal(response.status(), status, host);
    assert.equal(response.headers()["content-type"], "text/html; charset=utf-8");
    assert.ok((await response.body()).length <= 8192);
    assert.equal(await page.locator("pre code").innerText(), command);
    // One click takes the whole command, without the prompt in front of it.
    await page.locator("pre code").click(limit);
    assert.equal(await page.evaluate(() => String(getSelection())), command);
    assert.ok(await page.getByText(host, { exact: true }).first().isVisible());
    backgrounds.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    await picture(page, `${host}-${colorScheme}`);
    await page.setViewportSize({ width: 360, height: 700 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${host} is ${overflow} pixels wider than a telephone`);
    await picture(page, `${host}-${colorScheme}-narrow`);
    assert.deepEqual(seen.requests, [url(host)]);
    assert.deepEqual(seen.complaints, []);
    await context.close();
  }
  assert.equal(backgrounds.size, 2, "light and dark differ");
}

async function checkStarting(browser) {
  const page = await browser.newPage();
  const response = await page.goto(url(plan.starting), limit);
  assert.equal(response.status(), 503);
  assert.equal(response.headers()["retry-after"], "2");
  assert.ok(await page.getByText("Looking again").isVisible());
  await picture(page, "starting");
  await putRoute(plan.control, plan.starting, plan.live);
  await page.getByText("hello").waitFor(limit);
  assert.equal(page.url(), url(plan.starting));
}

const browser = await chromium.launch({ executablePath: plan.chromium, args: ["--no-sandbox"] });
try {
  for (const [host, [status, command]] of Object.entries(plan.hosts)) await checkPage(browser, host, status, command);
  await checkStarting(browser);
  console.log("the pages are as they should be");
} finally {
  await browser.close();
}
