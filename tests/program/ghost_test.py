"""E-01: upstreams that do not exist cost their own hostnames an answer, and nobody else anything."""

import os
import signal
import socket
import unittest
from pathlib import Path

from program_world import ProgramWorld, prepare
from support import bounded_wait
from support.client_threads import ClientThreads
from support.control_api import ControlApi
from support.load import Load
from support.small_app import SmallApp

__all__ = ["prepare", "Ghosts"]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs/control-api.yaml"
HOST = "alpha.dev.localhost"
GHOSTS = 200
CLIENTS = 8


class Hammer(ClientThreads):
    """Clients that ask one ghost after the other; every answer's error id is counted."""

    def __init__(self, world: "Ghosts"):
        super().__init__(self._run, range(CLIENTS))
        self._world = world
        self.answers: dict[tuple[int, str], int] = {}

    def _run(self, number: int) -> None:
        client = self._world.hedge.client()
        while not self.stop.is_set():
            number = (number + CLIENTS) % GHOSTS
            answer = client.request(f"ghost{number}.dev.localhost")
            with self.lock:
                key = (answer.status, answer.error)
                self.answers[key] = self.answers.get(key, 0) + 1

    @property
    def count(self) -> int:
        with self.lock:
            return sum(self.answers.values())


class Ghosts(ProgramWorld):
    def setUp(self):
        super().setUp()
        self.app = SmallApp()
        self.addCleanup(self.app.close)
        # A name server that never says anything is the worst one.
        self.silent = self.enterContext(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.silent.bind(("127.0.0.1", 0))
        routes = [(HOST, f"tcp:127.0.0.1:{self.app.port}")]
        routes += [(f"ghost{i}.dev.localhost", f"dns:no-such-container-{i}:80") for i in range(GHOSTS)]
        self.settings = f'dns_servers = ["127.0.0.1:{self.silent.getsockname()[1]}"]\n' + "".join(
            f'[[routes]]\nhost = "{host}"\nupstream = "{upstream}"\n' for host, upstream in routes)

    def check_alone(self) -> None:
        self.assertEqual(self.hedge.get(HOST, "/").body, b"hello")
        answer = self.hedge.get("ghost7.dev.localhost")
        self.assertEqual((answer.status, answer.error), (502, "upstream_unresolved"))
        self.assertIn("no-such-container-7", answer.json()["upstream"])

    def test_E01_ghosts_stop_neither_the_start_nor_a_reload_nor_their_neighbour(self):
        self.hedge.start_edge(self.settings)
        self.check_alone()
        self.assertEqual(self.hedge.stop_edge(), 0)
        self.hedge.start_edge(self.settings)
        status = self.json("edge", "status")
        self.assertEqual(status["routes"], GHOSTS + 1)
        os.kill(status["pid"], signal.SIGHUP)
        api = ControlApi(DOCUMENT, Path((self.hedge.state / "edge-control").read_text().strip()))
        bounded_wait.until(lambda: 'hedge_reloads_total{result="ok"} 1' in api.ask("GET", "/v1/metrics", 200), 20, "the reload")
        self.check_alone()
        with Hammer(self) as hammer, Load(self.hedge.http_port, HOST) as load:
            bounded_wait.until(lambda: load.answered >= 300 and hammer.count >= 30 or load.failures, 60, "both are answered")
        self.assertEqual(load.failures, [])
        self.assertEqual(set(hammer.answers), {(502, "upstream_unresolved")})


if __name__ == "__main__":
    unittest.main()
