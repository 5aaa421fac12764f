"""The running edge's control API: it is what docs/control-api.yaml says, and its metrics are what Prometheus reads."""

import json
import socket
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from program_world import ProgramWorld, prepare
from prometheus_client.parser import text_string_to_metric_families
from support import bounded_wait
from support.control_api import ControlApi, UnixConnection

__all__ = ["prepare", "OpenApi", "Metrics", "Activity", "Events"]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs/control-api.yaml"
ROUTE = "/v1/routes/{host}"
# Not provoked against a running edge; the unit tests answer it for every kind of failure.
ONLY_IN_UNIT_TESTS = {(ROUTE, "put", "507"), (ROUTE, "delete", "507")}


class App(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500 if self.path == "/fails" else 200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


class EdgeWorld(ProgramWorld):
    settings = ""

    def setUp(self):
        super().setUp()
        self.hedge.start_edge(self.settings)
        noted = (self.hedge.state / "edge-control").read_text().strip()
        self.api = ControlApi(DOCUMENT, Path(noted))
        self.app = ThreadingHTTPServer(("127.0.0.1", 0), App)
        self.addCleanup(self.app.server_close)
        self.addCleanup(self.app.shutdown)
        threading.Thread(target=self.app.serve_forever, daemon=True).start()

    def put(self, host: str, worktree: str = "", **members):
        body = {"upstream": f"127.0.0.1:{self.app.server_port}", "worktree": worktree, **members}
        return self.api.ask("PUT", ROUTE, 200, target=f"/v1/routes/{host}", body=json.dumps(body))


class OpenApi(EdgeWorld):
    settings = '[[routes]]\nhost = "fixed.localhost"\nupstream = "tcp:127.0.0.1:9"\n'

    def test_every_path_method_and_status_is_as_the_file_says(self):
        self.api.check_document()
        self.ask_for_reading()
        self.ask_for_routes()
        self.refused_bodies()
        self.ask_with_wrong_methods()
        self.too_many_listeners()
        self.ask_without_a_store()
        missing = self.api.declared() - self.api.seen - ONLY_IN_UNIT_TESTS
        self.assertEqual(missing, set(), "declared, and asked for by nobody here")

    def ask_for_reading(self):
        status = self.api.ask("GET", "/v1/status", 200)
        self.assertEqual(status["state_directory"], str(self.hedge.state))
        self.api.ask("GET", "/v1/metrics", 200)
        self.api.ask("GET", "/v1/activity", 200)
        self.api.ask("POST", "/v1/refresh", 200)
        self.api.ask("POST", "/v1/takeover", 426)
        # Tests of their own ask for these: Events here, takeover_test and service_manager_test.
        self.api.seen |= {("/v1/events", "get", "200"), ("/v1/takeover", "post", "101"), ("/v1/takeover", "post", "409"),
                          ("/v1/takeover", "post", "503")}

    def ask_for_routes(self):
        self.assertEqual(self.put("Alpha.LOCALHOST", "alpha")["host"], "alpha.localhost")
        self.api.ask("PUT", ROUTE, 409, target="/v1/routes/alpha.localhost", body='{"upstream": "3000", "worktree": "beta"}')
        self.api.ask("PUT", ROUTE, 409, target="/v1/routes/fixed.localhost", body='{"upstream": "3000"}')
        self.assertEqual(self.api.ask("GET", ROUTE, 200, target="/v1/routes/alpha%2Elocalhost")["worktree"], "alpha")
        listed = self.api.ask("GET", "/v1/routes", 200)["routes"]
        self.assertEqual({(route["host"], route["static"]) for route in listed},
                         {("alpha.localhost", False), ("fixed.localhost", True)})
        self.api.ask("GET", ROUTE, 404, target="/v1/routes/nobody.localhost")
        self.api.ask("GET", ROUTE, 400, target="/v1/routes/a..b")
        self.api.ask("DELETE", ROUTE, 409, target="/v1/routes/fixed.localhost")
        self.api.ask("DELETE", ROUTE, 409, target="/v1/routes/alpha.localhost?worktree=beta")
        self.api.ask("DELETE", ROUTE, 204, target="/v1/routes/alpha.localhost?worktree=alpha")
        self.api.ask("DELETE", ROUTE, 204, target="/v1/routes/alpha.localhost?worktree=alpha")
        self.api.ask("DELETE", ROUTE, 400, target="/v1/routes/alpha.localhost?force=1")

    def refused_bodies(self):
        target = "/v1/routes/alpha.localhost"
        told = self.api.ask("PUT", ROUTE, 400, target=target, body='{\n "upstream": oops}')
        self.assertIn("line 2, column 14", told["detail"])
        for body in ("", "[]", "null", '{"upstream": 1}', '{"upstream": "3000", "colour": "red"}', '{"upstream": "3000", "n": 1e999}',
                     '{"host": "beta.localhost", "upstream": "3000"}', "[" * 500_000, '{"upstream": "x:99999"}', '{"a":"\\ud800"}'):
            self.api.ask("PUT", ROUTE, 400, target=target, body=body)
        self.api.ask("PUT", ROUTE, 415, target=target, body="{}", content_type="text/plain")
        self.api.ask("PUT", ROUTE, 413, target=target, body="x" * (1 << 20) + "x")

    def ask_with_wrong_methods(self):
        for path in self.api.document["paths"]:
            target = path.replace("{host}", "alpha.localhost")
            for method in ("PATCH", "OPTIONS", *({"PUT", "GET", "POST", "DELETE"} - self.api.allowed(path))):
                self.api.ask(method, path, 405, target=target)
            # The same answer stands for each method that there is.
            self.api.seen |= {(path, name.lower(), "405") for name in self.api.allowed(path)}
        for target in ("/", "/v1", "/v1/statu", "/v2/status", "/v1/routes/", "/v1/status/x", "/v1/routes/%zz"):
            response, content = self.api.exchange("GET", target)
            self.assertIn(response.status, (400, 404), target)
            self.api.validate(self.api.schema("Problem"), json.loads(content))

    def too_many_listeners(self):
        listeners = [UnixConnection(self.api.socket) for _ in range(16)]
        for listener in listeners:
            self.addCleanup(listener.close)
            listener.request("GET", "/v1/events")
            self.assertEqual(listener.getresponse().status, 200)
        self.api.ask("GET", "/v1/events", 503)

    def ask_without_a_store(self):
        for file in self.hedge.state.glob("routes.db*"):
            file.unlink()
        (self.hedge.state / "routes.db").mkdir()
        self.api.ask("POST", "/v1/refresh", 200)
        self.api.ask("PUT", ROUTE, 503, target="/v1/routes/alpha.localhost", body='{"upstream": "3000"}')
        self.api.ask("DELETE", ROUTE, 503, target="/v1/routes/alpha.localhost")
        self.assertTrue(self.api.ask("GET", "/v1/status", 200)["warnings"])


class Metrics(EdgeWorld):
    def metrics(self) -> dict:
        """(name, labels) -> value, as the client library of Prometheus reads them."""
        families = list(text_string_to_metric_families(self.api.ask("GET", "/v1/metrics", 200)))
        self.assertEqual(len({family.name for family in families}), len(families), "each family once")
        for family in families:
            self.assertIn(family.type, ("counter", "gauge", "histogram"), family.name)
            self.assertTrue(family.documentation, family.name)
        return {(sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples}

    def value(self, name: str, **labels) -> float:
        return self.metrics().get((name, *sorted(labels.items())), 0)

    def wait_for(self, value: float, name: str, **labels):
        bounded_wait.until(lambda: self.value(name, **labels) == value, 10, f"{name} {labels} is {value}")

    def test_requests_are_counted_for_their_worktree(self):
        self.put("alpha.localhost", "alpha")
        self.put("dead.localhost", "dead", upstream="tcp:127.0.0.1:1")
        for path in ("/a", "/b", "/fails"):
            self.hedge.get("alpha.localhost", path)
        self.hedge.get("dead.localhost")
        self.hedge.get("nobody.localhost")
        self.wait_for(2, "hedge_requests_total", worktree="alpha", code="2xx")
        self.wait_for(1, "hedge_requests_total", worktree="alpha", code="5xx")
        self.wait_for(1, "hedge_errors_total", worktree="dead", error="upstream_refused")
        self.wait_for(1, "hedge_requests_total", worktree="_unrouted", code="4xx")
        metrics = self.metrics()
        self.assertEqual(metrics["hedge_request_duration_seconds_count", ("worktree", "alpha")], 3)
        self.assertEqual(metrics["hedge_request_duration_seconds_bucket", ("le", "+Inf"), ("worktree", "alpha")], 3)
        self.assertGreater(metrics["hedge_request_duration_seconds_sum", ("worktree", "alpha")], 0)
        self.assertEqual(metrics["hedge_body_bytes_total", ("direction", "out"), ("worktree", "alpha")], 15)
        self.assertEqual(metrics["hedge_http_requests_total",], 5)
        self.assertGreater(metrics["process_open_fds",], 5)
        self.assertGreater(metrics["process_resident_memory_bytes",], 1 << 20)

    def test_handshakes_are_counted_by_how_they_ended(self):
        self.put("alpha.localhost", "alpha")
        client = self.hedge.tls_client("alpha.localhost")
        self.addCleanup(client.close)
        client.request("alpha.localhost")
        with socket.create_connection(("127.0.0.1", self.hedge.https_port)) as raw:
            raw.sendall(b"\x16\x03\x01\x00\x05hello")
            raw.recv(100)
        self.wait_for(1, "hedge_tls_handshakes_total", result="ok")
        self.wait_for(1, "hedge_tls_handshakes_total", result="not_tls")

    def test_a_worktree_that_is_gone_leaves_no_series_behind(self):
        self.put("alpha.localhost", "alpha")
        self.hedge.get("alpha.localhost")
        self.wait_for(1, "hedge_requests_total", worktree="alpha", code="2xx")
        self.api.ask("DELETE", ROUTE, 204, target="/v1/routes/alpha.localhost?worktree=alpha")
        bounded_wait.until(lambda: not any(("worktree", "alpha") in key for key in self.metrics()), 10, "its series are gone")


class Activity(EdgeWorld):
    def worktrees(self) -> dict:
        return {one["worktree"]: one for one in self.api.ask("GET", "/v1/activity", 200)["worktrees"]}

    def test_requests_count_and_reconnecting_pages_do_not(self):
        self.put("alpha.localhost", "alpha")
        self.put("hand-made.localhost")
        self.hedge.get("hand-made.localhost")
        for headers in ({"Accept": "text/event-stream"}, {"Connection": "Upgrade", "Upgrade": "websocket"}):
            self.hedge.get("alpha.localhost", headers=headers)
        bounded_wait.until(lambda: self.worktrees().get("alpha", {}).get("requests") == 2, 10, "both were counted")
        self.assertIsNone(self.worktrees()["alpha"]["last_request"])
        self.hedge.get("alpha.localhost")
        bounded_wait.until(lambda: self.worktrees()["alpha"]["last_request"], 10, "a person's request is told")
        self.assertEqual(set(self.worktrees()), {"alpha"})


class Events(EdgeWorld):
    def listen(self):
        connection = UnixConnection(self.api.socket)
        self.addCleanup(connection.close)
        connection.request("GET", "/v1/events")
        response = connection.getresponse()
        self.assertEqual((response.status, response.headers["Content-Type"]), (200, "text/event-stream"))
        return response

    @staticmethod
    def next_event(response) -> tuple[str, dict]:
        lines = []
        while True:
            line = response.readline().decode().rstrip("\n")
            if line.startswith(":") or (not line and not lines):
                continue
            if not line:
                fields = dict(one.split(": ", 1) for one in lines)
                return fields["event"], json.loads(fields["data"])
            lines.append(line)

    def test_a_listener_hears_the_status_and_then_each_change(self):
        stream = self.listen()
        name, status = self.next_event(stream)
        self.assertEqual(name, "status")
        self.api.validate(self.api.schema("Status"), status)
        self.put("alpha.localhost", "alpha")
        name, changes = self.next_event(stream)
        self.assertEqual((name, changes["added"], changes["removed"]), ("routes", ["alpha.localhost"], []))
        self.api.validate(self.api.schema("RouteChanges"), changes)
        self.put("alpha.localhost", "alpha", state="stopped")
        self.assertEqual(self.next_event(stream)[1]["changed"], ["alpha.localhost"])
        self.api.ask("POST", "/v1/refresh", 200)  # changes nothing, so nothing is told
        self.api.ask("DELETE", ROUTE, 204, target="/v1/routes/alpha.localhost?worktree=alpha")
        self.assertEqual(self.next_event(stream)[1]["removed"], ["alpha.localhost"])

    def test_the_end_of_the_edge_is_told_and_ends_the_stream(self):
        stream = self.listen()
        self.next_event(stream)
        self.assertEqual(self.hedge.stop_edge(), 0)
        self.assertEqual(self.next_event(stream), ("draining", {}))
        self.assertEqual(stream.read(), b"")


if __name__ == "__main__":
    unittest.main()
