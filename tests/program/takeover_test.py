"""A new process takes the place of the running edge: no client notices, and a failed attempt changes nothing."""

import array
import json
import os
import signal
import socket
import subprocess
import threading
import unittest
from pathlib import Path

from program_world import ProgramWorld, prepare
from support import bounded_wait
from support.control_api import ControlApi
from support.grpc_load import GrpcApp, GrpcLoad
from support.load import Load
from support.small_app import SmallApp

__all__ = ["prepare", "Takeover", "HeldTakeover", "FailedTakeover"]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs/control-api.yaml"
HOST = "alpha.localhost"


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class TakeoverWorld(ProgramWorld):
    ports = ("--http", "127.0.0.1:0", "--https", "127.0.0.1:0")

    def setUp(self):
        super().setUp()
        self.app = SmallApp()
        self.addCleanup(self.app.close)
        self.first = self.json("edge", "start", *self.ports, "--workers", "2")
        self.addCleanup(self.end_all)
        self.pids = [self.first["pid"]]
        self.hedge.run("route", "add", HOST, str(self.app.port))
        self.port = self.port_of(self.first, "http")
        self.control = Path((self.hedge.state / "edge-control").read_text().strip())

    def end_all(self):
        self.app.release()
        for pid in self.pids:
            if alive(pid):
                os.kill(pid, 9)

    @staticmethod
    def port_of(status: dict, scheme: str) -> int:
        return next(one["port"] for one in status["listeners"] if one["scheme"] == scheme)

    def holds_the_lock(self, pid: int) -> bool:
        lock = f"{self.control}.lock"
        try:
            return any(os.readlink(entry.path) == lock for entry in os.scandir(f"/proc/{pid}/fd"))
        except FileNotFoundError:
            return False

    def take_over(self, *options) -> dict:
        started = self.json("edge", "start", "--takeover", *(options or (*self.ports, "--workers", "2")))
        self.pids.append(started["pid"])
        return started


class Takeover(TakeoverWorld):
    def test_no_request_fails_over_ten_takeovers_under_load(self):
        with Load(self.port, HOST) as load:
            for number in range(10):
                before = load.answered
                bounded_wait.until(lambda: load.answered > before + 50 or load.failures, 30, "the load runs")
                workers = str(1 + number % 3)  # fewer and more than there are sockets
                told = self.take_over(*self.ports, "--workers", workers)
                self.assertEqual((told["workers"], self.port_of(told, "http")), (int(workers), self.port))
            before = load.answered
            bounded_wait.until(lambda: load.answered > before + 50 or load.failures, 30, "the last one serves")
        self.assertEqual(load.failures, [])
        self.assertEqual(len(set(self.pids)), 11)
        # Each of those before has nothing left to do and ends by itself.
        for pid in self.pids[:-1]:
            bounded_wait.until(lambda pid=pid: not alive(pid), 30, f"process {pid} has ended")
        self.assertTrue(alive(self.pids[-1]))

    def test_no_call_over_http2_fails_and_no_connection_is_cut(self):
        app = GrpcApp()
        self.addCleanup(app.close)
        self.hedge.run("route", "add", "grpc.localhost", str(app.port), "--protocol", "h2c")
        with GrpcLoad(self.port, "grpc.localhost") as load:
            for _ in range(3):
                before = load.answered
                bounded_wait.until(lambda: load.answered > before + 20 or load.failures, 30, "the load runs")
                old = self.pids[-1]
                self.take_over()
                # Whoever stays at the old process is cut off when it ends.
                bounded_wait.until(lambda: not alive(old), 30, "the old process has ended")
            before = load.answered
            bounded_wait.until(lambda: load.answered > before + 20 or load.failures, 30, "the last one serves")
        self.assertEqual(load.failures, [])

    def test_what_is_under_way_finishes_in_the_old_process(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as held:
            held.sendall(f"GET /held HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            received = b""
            while b"hello" not in received:
                received += held.recv(4096)
            second = self.take_over()
            self.assertNotEqual(second["pid"], self.first["pid"])
            self.app.release()
            while block := held.recv(4096):
                received += block
        self.assertTrue(received.endswith(b"helloagain"), received)

    def test_the_new_process_is_the_edge_for_every_verb(self):
        second = self.take_over()
        self.assertEqual(self.json("edge", "status")["pid"], second["pid"])
        self.assertEqual(self.json("route", "add", "beta.localhost", str(self.app.port))["edge"], "told")
        bounded_wait.until(lambda: not alive(self.first["pid"]), 30, "the old process has ended")
        self.assertTrue(self.control.is_socket(), "the old process leaves the socket to the new one")
        self.assertEqual(self.json("edge", "stop")["pid"], second["pid"])
        self.assertFalse(self.control.exists())
        self.assertFalse(alive(second["pid"]))

    def test_listeners_follow_the_new_settings(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            extra = free.getsockname()[1]
        told = self.take_over("--http", "127.0.0.1:0", "--http", f"127.0.0.1:{extra}", "--https", "off", "--workers", "1")
        self.assertEqual({one["port"] for one in told["listeners"]}, {self.port, extra})
        for port in (self.port, extra):
            with Load(port, HOST, 1, 0) as load:
                bounded_wait.until(lambda: load.answered or load.failures, 20, "it serves")
            self.assertEqual(load.failures, [])

    def test_an_address_becomes_wider_and_another_is_exchanged(self):
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
            plain, tls = one.getsockname()[1], other.getsockname()[1]
        self.take_over("--http", f"127.0.0.1:{plain}", "--https", f"127.0.0.1:{tls}", "--workers", "2")
        told = self.take_over("--http", f"0.0.0.0:{plain}", "--https", f"127.0.0.1:{tls}", "--workers", "2")
        self.assertEqual(sorted((one["address"], one["port"]) for one in told["listeners"]), sorted([("0.0.0.0", plain), ("127.0.0.1", tls)]))
        told = self.take_over("--http", f"127.0.0.1:{tls}", "--https", f"127.0.0.1:{plain}", "--workers", "2")
        self.assertEqual((self.port_of(told, "http"), self.port_of(told, "https")), (tls, plain))
        with Load(tls, HOST, 1, 1) as load:
            bounded_wait.until(lambda: load.answered > 10 or load.failures, 20, "it serves")
        self.assertEqual(load.failures, [])

    def test_without_a_running_edge_it_simply_starts(self):
        self.hedge.run("edge", "stop")
        told = self.take_over()
        self.assertFalse(told["already_running"])

    def test_the_ways_in_which_it_is_refused(self):
        api = ControlApi(DOCUMENT, self.control)
        api.ask("POST", "/v1/takeover", 426)
        first = Successor(self.control)
        self.addCleanup(first.close)
        first.receive()
        second = Successor(self.control)
        self.addCleanup(second.close)
        self.assertTrue(second.head().startswith("HTTP/1.1 503 "))
        done = self.hedge.run("edge", "start", "--takeover", *self.ports, expect=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("takeover_refused", done.stderr)
        self.assertEqual(self.json("edge", "status")["pid"], self.first["pid"])


class Successor:
    """The new process's side, spoken by hand, so that it can stop at any point."""

    def __init__(self, path: Path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(20)
        self.socket.connect(str(path))
        self.socket.sendall(b"POST /v1/takeover HTTP/1.1\r\nHost: edge\r\nContent-Length: 0\r\n"
                            b"Connection: Upgrade\r\nUpgrade: hedge-takeover\r\n\r\n")
        self.descriptors = array.array("i")
        self._unread = b""

    def line(self) -> str:
        while b"\n" not in self._unread:
            block, ancillary, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(253 * 4))
            if not block:
                raise ConnectionError("closed")
            for _, _, data in ancillary:
                self.descriptors.frombytes(data[: len(data) - len(data) % self.descriptors.itemsize])
            self._unread += block
        line, self._unread = self._unread.split(b"\n", 1)
        return line.decode().rstrip("\r")

    def head(self) -> str:
        first = self.line()
        while self.line():
            pass
        return first

    def receive(self) -> list[dict]:
        assert self.head().startswith("HTTP/1.1 101 ")
        items = []
        while not items or items[-1]["item"] != "complete":
            items.append(json.loads(self.line()))
        return items

    def say(self, word: str) -> None:
        self.socket.sendall(word.encode() + b"\n")

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = array.array("i")
        self.socket.close()


class HeldTakeover(TakeoverWorld):
    """A log that nobody reads holds the new process in the middle of its preparation, until this reads it."""

    def setUp(self):
        super().setUp()
        self.pipe = self.directory / "access.log"
        os.mkfifo(self.pipe)
        settings = self.directory / "edge.toml"
        settings.write_text(f'[edge]\naccess_log = "{self.pipe}"\n')
        self.process = subprocess.Popen(
            [self.hedge.binary, "edge", "run", "--takeover", "--config", settings, *self.ports], cwd=self.hedge.home,
            env=self.hedge.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.process.wait, 20)
        self.addCleanup(self.process.kill)
        bounded_wait.until(lambda: self.holds_the_lock(self.process.pid), 20, "it was handed the sockets")

    def let_go(self) -> None:
        def read_to_the_end():
            with self.pipe.open("rb", buffering=0) as log:
                while log.read(4096):
                    pass

        threading.Thread(target=read_to_the_end, daemon=True).start()

    def test_an_old_process_that_dies_meanwhile_is_followed_all_the_same(self):
        os.kill(self.first["pid"], 9)
        bounded_wait.until(lambda: not alive(self.first["pid"]), 20, "the old process is gone")
        with Load(self.port, HOST, 0, 1) as load:  # it waits in the queue
            self.let_go()
            bounded_wait.until(lambda: load.answered > 20 or load.failures, 30, "the new process serves")
        self.assertEqual(load.failures, [])
        self.assertEqual(self.json("edge", "status")["pid"], self.process.pid)
        self.assertEqual(self.json("route", "add", "beta.localhost", str(self.app.port))["edge"], "told")

    def test_a_hang_up_meanwhile_opens_the_log_anew_and_is_no_end_for_the_new_process(self):
        log = self.hedge.state / "logs/access.log"
        log.rename(log.with_suffix(".1"))
        for pid in (self.first["pid"], self.process.pid):
            os.kill(pid, signal.SIGHUP)
        bounded_wait.until(log.exists, 20, "the old process writes to a new file")
        self.let_go()
        bounded_wait.until(lambda: self.json("edge", "status")["pid"] == self.process.pid, 30, "the new process serves")


class FailedTakeover(TakeoverWorld):
    def still_serves(self, load: Load):
        before = load.answered
        bounded_wait.until(lambda: load.answered > before + 50 or load.failures, 30, "it goes on")
        self.assertEqual(load.failures, [])
        self.assertEqual(self.json("edge", "status")["pid"], self.first["pid"])

    def test_a_successor_that_dies_at_any_point_before_it_serves_leaves_everything_as_it_was(self):
        with Load(self.port, HOST) as load:
            for words in ((), ("ready",), ("nonsense",)):
                successor = Successor(self.control)
                items = successor.receive()
                self.assertEqual([one["item"] for one in items], ["address", "address", "control", "complete"])
                self.assertEqual(len(successor.descriptors), 2 + 2 + 3, "two workers' sockets, the control socket, and two locks")
                for word in words:
                    successor.say(word)
                if words == ("ready",):
                    self.assertEqual(successor.line(), "go")
                successor.close()
                self.still_serves(load)

    def test_clients_wait_while_a_successor_hangs_and_are_served_when_its_time_is_over(self):
        with Load(self.port, HOST) as load:
            successor = Successor(self.control)
            self.addCleanup(successor.close)
            successor.receive()
            successor.say("ready")
            self.assertEqual(successor.line(), "go")
            self.assertEqual(successor.line(), "cancelled")
            self.still_serves(load)

    def test_a_killed_new_process_leaves_the_old_one_serving(self):
        # A certificate that nobody writes holds the new process in the middle of its preparation.
        pipe = self.directory / "certificate.pem"
        os.mkfifo(pipe)
        settings = self.directory / "edge.toml"
        settings.write_text(f'[edge]\ncertificate = "{pipe}"\nprivate_key = "{pipe}"\n')
        with Load(self.port, HOST) as load:
            for _ in range(5):
                process = subprocess.Popen(
                    [self.hedge.binary, "edge", "run", "--takeover", "--config", settings, *self.ports], cwd=self.hedge.home,
                    env=self.hedge.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    bounded_wait.until(lambda: self.holds_the_lock(process.pid), 20, "it was handed the sockets")
                finally:
                    process.kill()
                    process.wait(20)
                self.still_serves(load)


if __name__ == "__main__":
    unittest.main()
