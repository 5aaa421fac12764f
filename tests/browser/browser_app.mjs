// The application of one worktree, for pages in a browser: says who it is, keeps cookies, streams events, echoes WebSockets.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

// Text frames of up to 125 bytes, as the test sends them, come back as they are.
function echo(request, socket) {
  const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + magic).digest("base64");
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  let unread = Buffer.alloc(0);
  socket.on("data", (bytes) => {
    unread = Buffer.concat([unread, bytes]);
    while (unread.length >= 6 && unread.length >= 6 + (unread[1] & 127)) {
      const length = unread[1] & 127;
      const payload = Buffer.from(unread.subarray(6, 6 + length)).map((byte, i) => byte ^ unread[2 + (i % 4)]);
      socket.write(Buffer.concat([Buffer.from([unread[0], length]), payload]));
      unread = unread.subarray(6 + length);
    }
  });
  socket.on("error", () => {});
}

const page = (id) => `<!doctype html><title>${id}</title><h1>${id}</h1>`;

export class BrowserApp {
  constructor(id) {
    this.id = id;
    this.streams = new Set();
    this.upgrades = [];
    this.server = createServer((request, response) => this.answer(request, response));
    this.server.on("upgrade", (request, socket) => {
      this.upgrades.push({ version: request.httpVersion, headers: request.headers });
      echo(request, socket);
    });
  }

  async start() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get upstream() { return `tcp:127.0.0.1:${this.server.address().port}`; }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  broadcast(text) {
    for (const stream of this.streams) stream.write(`data: ${text}\n\n`);
  }

  answer(request, response) {
    const url = new URL(request.url, "http://app");
    const query = url.searchParams;
    const cookies = (request.headers.cookie ?? "").split("; ").filter((one) => one !== "");
    const json = (value) => {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify(value));
    };
    response.setHeader("Cache-Control", "no-store");
    switch (url.pathname) {
      case "/who":
        // For a page of the other worktree.
        response.setHeader("Access-Control-Allow-Origin", request.headers.origin ?? "null");
        response.setHeader("Access-Control-Allow-Credentials", "true");
        return response.end(this.id);
      case "/cookies":
        return json({ id: this.id, cookies });
      case "/set":
        response.setHeader("Set-Cookie", query.getAll("cookie"));
        return json({ id: this.id });
      case "/events":
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        // The head alone: nothing may wait for the first event.
        response.flushHeaders();
        this.streams.add(response);
        return response.on("close", () => this.streams.delete(response));
      case "/redirect-relative":
        return response.writeHead(302, { Location: "/next" }).end();
      case "/redirect-forwarded": {
        const { "x-forwarded-proto": scheme, "x-forwarded-host": host } = request.headers;
        return response.writeHead(302, { Location: `${scheme}://${host}/next` }).end();
      }
      default:
        response.setHeader("Content-Type", "text/html");
        return response.end(page(this.id));
    }
  }
}
