// Scenarios of pages behind the edge, in Debian's Chromium. Argument: JSON {scenario, chromium, control, http, https, netlog}.
// Exit 0: all as it should be.
import { strict as assert } from "node:assert";
import { readFile } from "node:fs/promises";
import { chromium } from "playwright-core";
import { BrowserApp } from "./browser_app.mjs";
import { putRoute } from "./control_api.mjs";

const plan = JSON.parse(process.argv[2]);
const limit = { timeout: 20_000 };
const secure = (host, path = "/") => `https://${host}:${plan.https}${path}`;
const plain = (host, path = "/") => `http://${host}:${plan.http}${path}`;
const alphaHost = "alpha.dev.localhost";
const betaHost = "beta.dev.localhost";

const protocolOf = (page) => page.evaluate(() => performance.getEntriesByType("navigation")[0].nextHopProtocol);
const fetchJson = (page, path) => page.evaluate(async (where) => (await fetch(where)).json(), path);

async function open(context, url) {
  const page = await context.newPage();
  const response = await page.goto(url, limit);
  assert.equal(response.status(), 200, url);
  return page;
}

// HTTP/1.1 would leave nothing for the seventh: browsers open six connections to an origin.
async function eventStreams({ context, alpha }) {
  const pages = [];
  for (let i = 0; i < 7; ++i) {
    const page = await open(context, secure(alphaHost));
    assert.equal(await protocolOf(page), "h2");
    await page.evaluate(() => new Promise((resolve, reject) => {
      window.received = [];
      window.source = new EventSource("/events");
      window.source.onmessage = (event) => window.received.push(event.data);
      // Before anything was sent but the head.
      window.source.onopen = resolve;
      window.source.onerror = () => reject(new Error("the stream broke off"));
    }));
    pages.push(page);
  }
  assert.equal(alpha.streams.size, 7);
  alpha.broadcast("first");
  for (const page of pages) await page.waitForFunction(() => window.received.length === 1, null, limit);
  // With all of them open, an ordinary request is still answered.
  assert.equal((await fetchJson(pages[6], "/cookies")).id, "alpha");
  alpha.broadcast("second");
  for (const page of pages) {
    await page.waitForFunction(() => window.received.length === 2, null, limit);
    assert.deepEqual(await page.evaluate(() => window.received), ["first", "second"]);
  }
  for (const page of pages) await page.close();
}

async function webSocket({ context, alpha }) {
  const page = await open(context, secure(alphaHost));
  assert.equal(await protocolOf(page), "h2");
  const received = await page.evaluate(() => new Promise((resolve, reject) => {
    const socket = new WebSocket(`wss://${location.host}/hmr`);
    const answers = [];
    socket.onerror = () => reject(new Error("the WebSocket failed"));
    socket.onopen = () => { for (let i = 0; i < 100; ++i) socket.send(`message ${i}`); };
    socket.onmessage = (event) => {
      answers.push(event.data);
      if (answers.length === 100) { socket.close(); resolve(answers); }
    };
  }));
  assert.deepEqual(received, Array.from({ length: 100 }, (_, i) => `message ${i}`));
  assert.equal(alpha.upgrades.length, 1);
  // The application is asked as ever, whatever the browser spoke.
  assert.equal(alpha.upgrades[0].version, "1.1");
  assert.equal(alpha.upgrades[0].headers.host, `${alphaHost}:${plan.https}`);
}

async function cookies({ context }) {
  const page = await open(context, secure(alphaHost));
  const query = Array.from({ length: 30 }, (_, i) => `cookie=${encodeURIComponent(`name${i}=value${i}; Path=/; Max-Age=600`)}`);
  await fetchJson(page, `/set?${query.join("&")}`);
  await page.reload(limit);
  assert.equal(await protocolOf(page), "h2");
  const { cookies } = await fetchJson(page, "/cookies");
  assert.deepEqual(cookies.sort(), Array.from({ length: 30 }, (_, i) => `name${i}=value${i}`).sort());
}

// One certificate for both names: the browser sends the second host's request over the first one's connection.
async function coalescing({ context }) {
  const page = await open(context, secure(alphaHost));
  // Requests without credentials have connections of their own.
  const ask = (url) => page.evaluate(async (where) => (await fetch(where, { credentials: "include" })).text(), url);
  assert.equal(await ask(secure(alphaHost, "/who")), "alpha");
  assert.equal(await ask(secure(betaHost, "/who")), "beta");
  assert.equal(await ask(secure(alphaHost, "/who")), "alpha");
}

// What both set for their common parent stays with the one that set it.
async function parentCookies({ context }) {
  const alpha = await open(context, secure(alphaHost));
  const beta = await open(context, secure(betaHost));
  const logIn = async (page, id) => fetchJson(page, `/set?cookie=${encodeURIComponent(`sid=${id}; Domain=dev.localhost; Path=/; Max-Age=600`)}`);
  await logIn(alpha, "of-alpha");
  await logIn(beta, "of-beta");
  for (let i = 0; i < 20; ++i) {
    const [page, id] = i % 2 === 0 ? [alpha, "of-alpha"] : [beta, "of-beta"];
    await page.reload(limit);
    assert.deepEqual((await fetchJson(page, "/cookies")).cookies, [`sid=${id}`]);
  }
  const told = await alpha.evaluate(async (where) => (await fetch(where)).headers.get("Hedge-Cookie"),
    `/set?cookie=${encodeURIComponent("sid=; Domain=dev.localhost; Path=/; Max-Age=0")}`);
  assert.equal(told, "narrowed=sid");
  assert.deepEqual((await fetchJson(alpha, "/cookies")).cookies, []);
  assert.deepEqual((await fetchJson(beta, "/cookies")).cookies, ["sid=of-beta"]);
}

// A browser keeps no cookie for a single label. Passed on as it is, it is lost; narrowed, it is the worktree's own.
async function singleLabelCookies({ context, narrows }) {
  const alpha = await open(context, secure(alphaHost));
  const beta = await open(context, secure(betaHost));
  await fetchJson(alpha, `/set?cookie=${encodeURIComponent("t=1; Domain=localhost; Path=/")}`);
  assert.deepEqual((await fetchJson(alpha, "/cookies")).cookies, narrows ? ["t=1"] : []);
  assert.deepEqual((await fetchJson(beta, "/cookies")).cookies, []);
}

// Plain text: a name that only this machine resolves is as good as https, any other is not.
async function secureCookiesOverHttp({ context }) {
  for (const [host, kept] of [[alphaHost, ["t=1"]], ["alpha.test", []]]) {
    const page = await open(context, plain(host));
    await fetchJson(page, `/set?cookie=${encodeURIComponent("t=1; Secure; SameSite=None; Path=/")}`);
    assert.deepEqual((await fetchJson(page, "/cookies")).cookies, kept, host);
  }
}

async function redirects({ context }) {
  for (const from of [secure(alphaHost), plain(alphaHost)]) {
    const expected = new URL("/next", from).href;
    for (const path of ["/redirect-relative", "/redirect-forwarded"]) {
      const page = await open(context, new URL(path, from).href);
      assert.equal(page.url(), expected, path);
      await page.close();
    }
  }
}

const scenarios = { eventStreams, webSocket, cookies, coalescing, parentCookies, secureCookiesOverHttp, redirects,
  singleLabelNarrowed: (world) => singleLabelCookies({ ...world, narrows: true }),
  singleLabelPassed: (world) => singleLabelCookies({ ...world, narrows: false }) };

// Sockets to the edge and what was asked over HTTP/2, by the browser's own log.
async function readLog() {
  const text = await readFile(plan.netlog, "utf8");
  const log = JSON.parse(text);
  const types = Object.fromEntries(Object.entries(log.constants.logEventTypes).map(([name, number]) => [number, name]));
  const named = log.events.map((event) => ({ ...event, name: types[event.type] }));
  const headers = named.filter((event) => event.name === "HTTP2_SESSION_SEND_HEADERS").map((event) => event.params.headers);
  const sessions = new Set(named.filter((event) => event.name === "HTTP2_SESSION_SEND_HEADERS").map((event) => event.source.id));
  return { headers, sessions };
}

const checks = {
  // RFC 8441: the WebSocket is a stream of the page's own connection.
  webSocket: ({ headers }) => assert.ok(headers.some((list) => list.includes(":method: CONNECT") && list.includes(":protocol: websocket"))),
  coalescing: ({ headers, sessions }) => {
    for (const host of [alphaHost, betaHost])
      assert.ok(headers.some((list) => list.includes(`:authority: ${host}:${plan.https}`)), host);
    assert.equal(sessions.size, 1, "one connection carried both");
  },
};

const alpha = await new BrowserApp("alpha").start();
const beta = await new BrowserApp("beta").start();
for (const host of [alphaHost, "alpha.test"]) await putRoute(plan.control, host, { upstream: alpha.upstream });
await putRoute(plan.control, betaHost, { upstream: beta.upstream });
const args = ["--no-sandbox", "--host-resolver-rules=MAP * 127.0.0.1", `--log-net-log=${plan.netlog}`, "--net-log-capture-mode=IncludeSensitive"];
const browser = await chromium.launch({ executablePath: plan.chromium, args });
try {
  const context = await browser.newContext();
  await scenarios[plan.scenario]({ context, alpha, beta });
} finally {
  await browser.close();
  alpha.close();
  beta.close();
}
// The log is whole once the browser has ended.
if (plan.scenario in checks) checks[plan.scenario](await readLog());
console.log(`${plan.scenario}: as it should be`);
