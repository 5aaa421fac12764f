"""The edge as a process: whose it is when root starts it, and what it does when descriptors run out."""

import os
import resource
import socket
import unittest
from pathlib import Path

from program_world import NOBODY, ProgramWorld, prepare
from support import bounded_wait
from support.control_api import ControlApi
from support.small_app import SmallApp

__all__ = ["prepare", "Privileges", "Descriptors"]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs/control-api.yaml"


class Privileges(ProgramWorld):
    def test_U01_through_sudo_it_takes_the_low_ports_and_is_the_user_for_good(self):
        self.as_nobody()
        self.hedge.environment |= {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"}
        self.hedge.http_port, self.hedge.https_port = 80, 443
        self.hedge.start_edge()
        self.assertEqual(self.hedge.get("nobody.localhost").status, 404)
        status = self.proc_status(self.json("edge", "status")["pid"])
        for kind in ("Uid", "Gid"):
            self.assertEqual(set(status[kind].split()), {str(NOBODY)}, f"{kind}: real, effective, saved and of files")
        for kind in ("CapEff", "CapPrm"):
            self.assertEqual(int(status[kind], 16), 0, "nothing of root is left")
        self.assertNotIn("0", status["Groups"].split())
        for path in (self.hedge.state, *self.hedge.state.rglob("*")):
            self.assertEqual(path.lstat().st_uid, NOBODY, path)

    @staticmethod
    def proc_status(pid: int) -> dict[str, str]:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


class Descriptors(ProgramWorld):
    limit = 100

    def setUp(self):
        super().setUp()
        self.app = SmallApp()
        self.addCleanup(self.app.close)
        self.hedge.start_edge(f'[[routes]]\nhost = "alpha.localhost"\nupstream = "tcp:127.0.0.1:{self.app.port}"',
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (self.limit, self.limit)))
        self.api = ControlApi(DOCUMENT, Path((self.hedge.state / "edge-control").read_text().strip()))

    def back_offs(self) -> int:
        text = self.api.ask("GET", "/v1/metrics", 200)
        return int(next(line.split()[1] for line in text.splitlines() if line.startswith("hedge_accept_back_offs_total ")))

    def test_more_clients_than_descriptors_wait_and_those_within_are_served(self):
        inside = self.hedge.client()
        self.addCleanup(inside.close)
        self.assertEqual(inside.request("alpha.localhost").status, 200)
        crowd = [socket.create_connection(("127.0.0.1", self.hedge.http_port)) for _ in range(3 * self.limit)]
        for one in crowd:
            self.addCleanup(one.close)
        bounded_wait.until(self.back_offs, 20, "the listener rests")
        for _ in range(20):
            # Each needs a descriptor for a connection to the upstream, now and then.
            self.assertEqual(inside.request("alpha.localhost").status, 200)
        self.assertEqual(self.json("edge", "status")["workers"], 1, "the control socket answers")
        other = SmallApp()
        self.addCleanup(other.close)
        self.hedge.run("route", "add", "beta.localhost", str(other.port))
        # The worker may take up the route just after the command has ended.
        bounded_wait.until(lambda: inside.request("beta.localhost").status == 200, 20, "an upstream without a connection yet is reached")
        for one in crowd:
            one.close()
        bounded_wait.until(lambda: self.hedge.get("alpha.localhost").status == 200, 20, "who comes later is served")
        self.assertIn("cannot accept connections for now", self.hedge.edge_log())

    def test_a_flood_that_leaves_lets_everybody_in_who_waited(self):
        crowd = [socket.create_connection(("127.0.0.1", self.hedge.http_port), timeout=30) for _ in range(2 * self.limit)]
        for one in crowd:
            self.addCleanup(one.close)
            one.sendall(b"GET / HTTP/1.1\r\nHost: alpha.localhost\r\nConnection: close\r\n\r\n")
        for one in crowd:
            self.assertTrue(one.recv(100).startswith(b"HTTP/1.1 200 "))


if __name__ == "__main__":
    unittest.main()
