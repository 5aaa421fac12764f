"""The edge and an engine that is away, refuses, or comes back: other routes never notice."""

import http.server
import os
import shutil
import threading
import unittest

from docker_world import NETWORK, DockerWorld, prepare
from support import bounded_wait

__all__ = ["prepare", "Engine"]
ALPHA = "wt-alpha"
OTHER = "other.localhost"
NOBODY = 65534


class Engine(DockerWorld):
    def setUp(self):
        super().setUp()
        # An upstream that no engine knows of: what must go on whatever the engine does.
        self._other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Plain)
        threading.Thread(target=self._other.serve_forever, daemon=True).start()
        self.addCleanup(self._other.shutdown)
        self.hedge.run("route", "add", OTHER, f"tcp:127.0.0.1:{self._other.server_address[1]}")

    def expect_other_answers(self):
        self.assertEqual(self.hedge.get(OTHER).status, 200)

    def expect_reason(self, host: str, error: str):
        answer = self.hedge.get(host)
        self.assertEqual((answer.status, answer.error), (502, error), answer.body[:500])

    def test_the_edge_starts_and_serves_other_routes_while_no_engine_runs(self):
        host = self.route(ALPHA)
        self.docker.stop()
        self.start_edge()
        self.expect_other_answers()
        self.expect_reason(host, "engine_not_running")
        self.expect_other_answers()
        self.docker.start()
        self.container(ALPHA)
        self.wait_answers(host, 15)

    def test_an_engine_that_denies_permission_is_told_apart_from_one_that_is_away(self):
        host = self.route(ALPHA)
        self.container(ALPHA)
        self.wait_listening(ALPHA)
        # The edge runs as a user whom the engine's socket is closed to; everything else is open to that user.
        self.docker.socket.chmod(0o600)
        self.docker.socket.parent.chmod(0o755)
        self.hedge.binary = shutil.copy(self.hedge.binary, self.directory)
        for path in [self.hedge.home, self.hedge.state, *self.hedge.state.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)
        self.hedge.start_edge(f'network = "{NETWORK}"', user=NOBODY, group=NOBODY, extra_groups=[])
        self.expect_other_answers()
        self.expect_reason(host, "engine_permission")
        self.docker.stop()
        self.expect_reason(host, "engine_not_running")
        self.expect_other_answers()

    def test_an_engine_restarted_under_the_edge_is_found_again_without_a_reload(self):
        self.start_edge()
        self.container(ALPHA)
        host = self.route(ALPHA)
        self.wait_answers(host)
        self.docker.stop()
        self.expect_other_answers()
        self.docker.start()
        # The engine stopped its containers when it ended.
        self.docker.run("start", ALPHA)
        self.wait_listening(ALPHA)
        self.wait_answers(host, 15)
        self.docker.run("rm", "-f", ALPHA)
        recreated = self.container(ALPHA)
        self.wait_listening(ALPHA)
        # Events arrive again: the answer is the new container's, and stays so.
        bounded_wait.until(lambda: self.hedge.get(host).status == 200, 5, "the recreated container answers")
        self.assertEqual(self.hedge.get(host).json()["hostname"], recreated[:12])
        self.expect_other_answers()


class _Plain(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    unittest.main()
