"""SIGHUP: the settings file is read again; what can change changes, and nothing else is touched."""

import os
import signal
import socket
import unittest
from pathlib import Path

from program_world import ProgramWorld, prepare
from support import bounded_wait
from support.control_api import ControlApi
from support.hedge_program import Client
from support.load import Load
from support.small_app import SmallApp

__all__ = ["prepare", "Reload"]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs/control-api.yaml"
HOST = "alpha.localhost"


class Reload(ProgramWorld):
    def setUp(self):
        super().setUp()
        self.app = SmallApp()
        self.addCleanup(self.app.close)
        self.file = self.directory / "edge.toml"
        self.write('http = ["127.0.0.1:8081"]', f'[[routes]]\nhost = "{HOST}"\nupstream = "tcp:127.0.0.1:{self.app.port}"')
        self.pid = self.json("edge", "start", "--config", self.file)["pid"]
        self.api = ControlApi(DOCUMENT, Path((self.hedge.state / "edge-control").read_text().strip()))

    def write(self, edge: str, routes: str = "") -> None:
        self.file.write_text(f"[edge]\nworkers = 2\n{edge}\n{routes or self.routes()}\n")

    def routes(self) -> str:
        return f'[[routes]]\nhost = "{HOST}"\nupstream = "tcp:127.0.0.1:{self.app.port}"'

    def reloads(self) -> tuple[float, float]:
        text = self.api.ask("GET", "/v1/metrics", 200)
        values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("hedge_reloads_total"))
        return float(values['hedge_reloads_total{result="ok"}']), float(values['hedge_reloads_total{result="failed"}'])

    def hang_up(self) -> list[str]:
        """Sends SIGHUP and waits until it was acted upon; the warnings that the edge tells then."""
        before = sum(self.reloads())
        os.kill(self.pid, signal.SIGHUP)
        bounded_wait.until(lambda: sum(self.reloads()) > before, 20, "the file was read again")
        return self.api.ask("GET", "/v1/status", 200)["warnings"]

    def ports(self) -> list[int]:
        return sorted(one["port"] for one in self.api.ask("GET", "/v1/status", 200)["listeners"])

    def answers(self, port: int) -> bool:
        client = Client(port)
        try:
            return client.request(HOST).status == 200
        except ConnectionError:
            return False
        finally:
            client.close()

    def test_listeners_come_and_go_and_the_others_notice_nothing(self):
        kept = Client(8081)
        self.addCleanup(kept.close)
        self.assertEqual(kept.request(HOST).status, 200)
        local = kept._connection.sock.getsockname()
        with Load(8081, HOST) as load:
            self.write('http = ["127.0.0.1:8081", "127.0.0.1:8082", "[::1]:8083"]')
            self.assertEqual(self.hang_up(), [])
            self.assertEqual(self.ports(), [8081, 8082, 8083])
            self.assertTrue(self.answers(8082))
            self.write('http = ["127.0.0.1:8081"]')
            self.hang_up()
            bounded_wait.until(lambda: not self.answers(8082), 20, "the removed address refuses")
            self.assertEqual(self.ports(), [8081])
            bounded_wait.until(lambda: load.answered > 100 or load.failures, 20, "the load ran")
        self.assertEqual(load.failures, [])
        self.assertEqual(kept.request(HOST).status, 200)
        self.assertEqual(kept._connection.sock.getsockname(), local, "on the connection of before")

    def test_a_wider_address_on_a_port_of_its_own_takes_the_place_of_the_narrow_one(self):
        with Load(8081, HOST) as load:
            self.write('http = ["0.0.0.0:8081"]')
            self.assertEqual(self.hang_up(), [])
            bounded_wait.until(lambda: load.answered > 50 or load.failures, 20, "the load ran")
        self.assertEqual(load.failures, [])
        self.assertEqual(self.api.ask("GET", "/v1/status", 200)["listeners"][0]["address"], "0.0.0.0")

    def test_a_broken_file_changes_nothing_and_is_named_until_it_is_mended(self):
        self.write('http = ["127.0.0.1:8082"]\nnonsense = 1', '[[routes]]\nhost = "other.localhost"\nupstream = "3000"')
        warnings = self.hang_up()
        self.assertEqual(len(warnings), 1, warnings)
        self.assertIn("config_invalid", warnings[0])
        self.assertIn("edge.toml:4:", warnings[0])
        self.assertIn("edge.toml:4:", (self.hedge.state / "logs/edge.log").read_text())
        self.assertEqual(self.ports(), [8081])
        self.assertTrue(self.answers(8081))
        self.assertEqual(self.reloads(), (0, 1))
        self.file.unlink()
        self.assertEqual(len(self.hang_up()), 1, "a file that is gone changes nothing either")
        self.write('http = ["127.0.0.1:8081"]')
        self.assertEqual(self.hang_up(), [])

    def test_a_port_that_cannot_be_had_refuses_the_whole_file(self):
        with socket.create_server(("127.0.0.1", 8085)):
            self.write('http = ["127.0.0.1:8082", "127.0.0.1:8085"]', '[[routes]]\nhost = "other.localhost"\nupstream = "3000"')
            warnings = self.hang_up()
        self.assertIn("port_in_use", warnings[0])
        self.assertEqual(self.ports(), [8081])
        self.assertTrue(self.answers(8081))
        self.assertFalse(self.answers(8082))

    def test_what_only_a_new_process_takes_up_is_named(self):
        self.write('http = ["127.0.0.1:8081"]\nsuffixes = ["localhost", "test"]\ntrusted_proxies = ["10.0.0.0/8"]\ncookies = "pass"')
        warnings = self.hang_up()
        self.assertEqual(len(warnings), 1, warnings)
        self.assertTrue(warnings[0].endswith(": trusted_proxies, suffixes"), warnings)
        self.write('http = ["127.0.0.1:8081"]')
        self.assertEqual(self.hang_up(), [], "taken back")

    def test_the_ports_of_a_new_listener_are_remembered_for_urls(self):
        self.write('http = ["127.0.0.1:8084"]')
        self.hang_up()
        self.assertIn('"http_port":8084', (self.hedge.state / "edge.json").read_text())


if __name__ == "__main__":
    unittest.main()
