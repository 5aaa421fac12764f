"""The edge under a service manager: activated sockets, readiness, and the unit files."""

import os
import shutil
import signal
import socket
import subprocess
import unittest
from pathlib import Path

from program_world import ProgramWorld, prepare
from support import bounded_wait
from support.child_process import ChildProcess
from support.control_api import ControlApi

__all__ = ["prepare", "SocketActivation", "UnitFiles"]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs/control-api.yaml"
UNITS = Path(__file__).resolve().parents[2] / "config/systemd"


class SocketActivation(ProgramWorld):
    def activate(self, sockets: list[socket.socket], names: str = "", arguments: tuple = ()) -> ChildProcess:
        """Starts the edge as systemd does: sockets from descriptor 3 on, and LISTEN_PID its own process."""
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.notified.close)
        path = self.directory / "notify.sock"
        self.notified.bind(str(path))
        self.notified.settimeout(20)
        environment = {**self.hedge.environment, "LISTEN_FDS": str(len(sockets)), "LISTEN_FDNAMES": names, "NOTIFY_SOCKET": str(path)}
        descriptors = [one.fileno() for one in sockets]

        def place() -> None:
            # First out of the way, so that none is overwritten.
            high = [os.dup2(descriptor, 100 + place) for place, descriptor in enumerate(descriptors)]
            for place, descriptor in enumerate(high):
                os.dup2(descriptor, 3 + place)

        edge = ChildProcess(
            ["sh", "-c", 'LISTEN_PID=$$ exec "$0" edge run "$@"', self.hedge.binary, *arguments], self.directory / "edge.log",
            cwd=self.hedge.home, env=environment, preexec_fn=place, close_fds=False)
        self.addCleanup(edge.stop)
        return edge

    def listener(self, family=socket.AF_INET, host="127.0.0.1") -> socket.socket:
        one = socket.create_server((host, 0), family=family)
        self.addCleanup(one.close)
        return one

    def status_of(self, port: int, text: bytes = b"GET / HTTP/1.1\r\nHost: nobody.localhost\r\nConnection: close\r\n\r\n") -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(text)
            received = b""
            while block := client.recv(4096):
                received += block
        return received.split(b"\r\n")[0]

    def test_clients_that_came_before_the_edge_are_served_on_the_given_sockets(self):
        plain, tls = self.listener(), self.listener()
        early = socket.create_connection(plain.getsockname())
        self.addCleanup(early.close)
        early.sendall(b"GET / HTTP/1.1\r\nHost: nobody.localhost\r\nConnection: close\r\n\r\n")
        edge = self.activate([plain, tls], "http:https", ("--workers", "2"))
        self.assertTrue(self.notified.recv(1000).startswith(b"READY=1"))
        early.settimeout(20)
        self.assertTrue(early.recv(100).startswith(b"HTTP/1.1 404 "))
        listeners = self.json("edge", "status")["listeners"]
        self.assertEqual([(one["scheme"], one["port"]) for one in listeners],
                         [("http", plain.getsockname()[1]), ("https", tls.getsockname()[1])])
        self.assertEqual(self.status_of(tls.getsockname()[1]), b"HTTP/1.1 307 Temporary Redirect", "plain on the TLS port")
        edge.send_signal(signal.SIGTERM)
        self.assertTrue(self.notified.recv(1000).startswith(b"STOPPING=1"))
        self.assertEqual(edge.stop(), 0)
        # The service manager has the sockets still: who comes now waits for the next edge.
        with socket.create_connection(plain.getsockname(), timeout=5):
            pass

    def test_a_sighup_leaves_the_given_sockets_alone(self):
        plain = self.listener()
        settings = self.directory / "edge.toml"
        settings.write_text('[edge]\nhttp = ["127.0.0.1:8099"]\n')
        edge = self.activate([plain], "http", ("--config", settings))
        self.notified.recv(1000)
        edge.send_signal(signal.SIGHUP)
        api = ControlApi(DOCUMENT, Path((self.hedge.state / "edge-control").read_text().strip()))
        done = 'hedge_reloads_total{result="ok"} 1'
        bounded_wait.until(lambda: done in api.ask("GET", "/v1/metrics", 200), 20, "the file was read again")
        self.assertEqual([one["port"] for one in self.json("edge", "status")["listeners"]], [plain.getsockname()[1]])
        self.assertEqual(self.status_of(plain.getsockname()[1]), b"HTTP/1.1 404 Not Found")

    def test_its_ports_are_not_handed_over_past_the_service_manager(self):
        self.activate([self.listener()], "http")
        self.notified.recv(1000)
        done = self.hedge.run("edge", "start", "--takeover", expect=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("takeover_refused", done.stderr)
        self.assertIn("service manager", done.stderr)

    def test_what_is_no_listening_socket_is_refused_by_name(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            edge = self.activate([datagrams])
            bounded_wait.until(lambda: "activation_invalid" in edge.log(), 20, "it says what is wrong")
            self.assertNotEqual(edge.stop(), 0)

    def test_sockets_for_another_process_are_not_taken(self):
        self.hedge.environment |= {"LISTEN_PID": "1", "LISTEN_FDS": "1"}
        self.hedge.start_edge()
        self.assertEqual(self.hedge.get("nobody.localhost").status, 404)


class UnitFiles(ProgramWorld):
    def test_systemd_finds_nothing_wrong_with_them(self):
        units = self.directory / "units"
        units.mkdir()
        for unit in UNITS.glob("hedge-edge*"):
            text = unit.read_text().replace("/usr/local/bin/hedge", self.hedge.binary)
            (units / unit.name.replace("@.", "@root.")).write_text(text)
        self.assertEqual(len(list(units.iterdir())), 2)
        self.assertIsNotNone(shutil.which("systemd-analyze"), "scripts/setup test installs systemd")
        for unit in sorted(units.iterdir()):
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60, check=False,
                                  env={**os.environ, "SYSTEMD_UNIT_PATH": f"{units}:"})
            told = [line for line in (done.stdout + done.stderr).splitlines() if "hedge" in line]
            self.assertEqual(told, [], done.stderr)

    def test_the_service_exposes_little(self):
        text = next(UNITS.glob("*.service")).read_text()
        for line in ("NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=full", "MemoryDenyWriteExecute=yes",
                     "SystemCallFilter=@system-service", "UMask=0077"):
            self.assertIn(f"\n{line}\n", text)


if __name__ == "__main__":
    unittest.main()
