// The edge's control API, as far as browser tests need it. `control`: the path of its socket.
import { request } from "node:http";

export function putRoute(control, host, route) {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json" };
    const call = request({ socketPath: control, method: "PUT", path: `/v1/routes/${host}`, headers }, (answer) => {
      answer.resume();
      answer.on("end", () => (answer.statusCode === 200 ? resolve() : reject(new Error(`status ${answer.statusCode}`))));
    });
    call.on("error", reject);
    call.end(JSON.stringify(route));
  });
}
