"""100,000 routes: what they cost, and that one more is served at once while everybody else is."""

import json
import sqlite3
import unittest
from pathlib import Path

from program_world import ProgramWorld, prepare
from support import bounded_wait
from support.control_api import ControlApi
from support.load import Load
from support.small_app import SmallApp

__all__ = ["prepare", "ManyRoutes"]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs/control-api.yaml"
ROUTES = 100_000
HOST = "wt-77.shop.localhost"
MOST_KIB = 64 * 1024


class ManyRoutes(ProgramWorld):
    def setUp(self):
        super().setUp()
        self.app = SmallApp()
        self.addCleanup(self.app.close)
        self.upstream = f"tcp:127.0.0.1:{self.app.port}"
        # The program makes the store; what it holds comes from elsewhere, in one go.
        self.hedge.run("route", "add", "first.localhost", self.upstream)
        with sqlite3.connect(self.hedge.state / "routes.db") as store:
            store.executemany("INSERT INTO routes VALUES (?, 0, ?, 'http1', ?, 'live')",
                              ((f"wt-{i}.shop.localhost", self.upstream, f"shop/wt-{i}") for i in range(ROUTES)))
        store.close()
        self.hedge.start_edge()
        self.pid = self.json("edge", "status")["pid"]
        self.api = ControlApi(DOCUMENT, Path((self.hedge.state / "edge-control").read_text().strip()))

    def put(self, host: str) -> None:
        self.api.ask("PUT", "/v1/routes/{host}", 200, f"/v1/routes/{host}", json.dumps({"upstream": self.upstream}))

    def own_kib(self) -> int:
        """What the process has allocated; its program and libraries are not in it."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

    def test_one_more_is_served_at_once_and_no_request_fails(self):
        self.assertEqual(self.json("edge", "status")["routes"], ROUTES + 1)
        for number in (0, 77, ROUTES - 1):
            self.assertEqual(self.hedge.get(f"wt-{number}.shop.localhost", "/").body, b"hello")
        self.assertEqual(self.hedge.get(f"wt-{ROUTES}.shop.localhost", "/").error, "route_unknown")
        client = self.hedge.client()
        self.addCleanup(client.close)
        with Load(self.hedge.http_port, HOST) as load:
            for number in range(100):
                host = f"new-{number}.localhost"
                self.put(host)
                bounded_wait.until(lambda host=host: client.request(host, "/").status == 200, 10, f"{host} is served")
            bounded_wait.until(lambda: load.answered > 100 or load.failures, 60, "the load runs")
        self.assertEqual(load.failures, [])
        self.assertEqual(self.json("edge", "status")["routes"], ROUTES + 101)

    def test_they_fit_into_64_mib_also_after_changes(self):
        for number in range(50):
            self.put(f"new-{number}.localhost")
        self.hedge.run("route", "add", "by-hand.localhost", self.upstream)
        self.assertLess(self.own_kib(), MOST_KIB)
        # Told by nobody, every one of them: the whole store is read again.
        with sqlite3.connect(self.hedge.state / "routes.db") as store:
            store.execute("UPDATE routes SET state = 'starting' WHERE host LIKE 'wt-%'")
        store.close()
        bounded_wait.until(lambda: self.hedge.get(HOST, "/").status == 503, 30, "the change is seen")
        self.assertLess(self.own_kib(), MOST_KIB)

    def test_an_unknown_host_gets_a_page_of_the_usual_size(self):
        answer = self.hedge.get("nobody.localhost", "/")
        self.assertEqual(answer.status, 404)
        told = answer.json()
        self.assertEqual((len(told["known_hosts"]), told["known_hosts_total"]), (50, ROUTES + 1))
        self.assertLess(len(answer.body), 8192)


if __name__ == "__main__":
    unittest.main()
