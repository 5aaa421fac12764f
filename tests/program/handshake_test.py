"""Names and clocks in real handshakes with the running edge."""

import socket
import struct
import subprocess
import unittest

from program_world import ProgramWorld, prepare
from support import bounded_wait, faked_clock

__all__ = ["prepare", "Names", "Clocks"]

UNRECOGNIZED_NAME = 112


def client_hello(name: bytes) -> bytes:
    """One TLS record with a hello that asks for `name`, byte by byte as given: no library would send it."""
    entry = b"\0" + struct.pack("!H", len(name)) + name
    listed = struct.pack("!H", len(entry)) + entry
    groups, signatures = struct.pack("!HH", 2, 0x17), struct.pack("!HH", 2, 0x0403)
    extensions = b"".join(struct.pack("!HH", kind, len(body)) + body
                          for kind, body in ((0, listed), (10, groups), (13, signatures)))
    body = (b"\x03\x03" + bytes(32) + b"\0" + struct.pack("!HH", 2, 0xC02B) + b"\x01\0" +
            struct.pack("!H", len(extensions)) + extensions)
    handshake = b"\x01" + struct.pack("!I", len(body))[1:] + body
    return b"\x16\x03\x01" + struct.pack("!H", len(handshake)) + handshake


class Handshaking(ProgramWorld):
    def reply(self, name: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.hedge.https_port), 20) as peer:
            peer.sendall(client_hello(name))
            return peer.recv(4096)

    def leaf(self, name: str) -> str:
        """The subject's names, the serial number and the dates of what is shown for `name`."""
        shown = self.openssl("s_client", "-connect", f"127.0.0.1:{self.hedge.https_port}", "-servername", name, expect=None).stdout
        return self.openssl("x509", "-noout", "-ext", "subjectAltName", "-serial", "-dates", text=shown).stdout

    def is_valid_now(self, name: str) -> bool:
        root = self.directory / "root.pem"
        root.write_text(self.hedge.run("ca", "export").stdout)
        done = self.openssl("s_client", "-connect", f"127.0.0.1:{self.hedge.https_port}", "-servername", name, "-CAfile", root,
                            "-verify_return_error", "-verify_hostname", name, expect=None)
        return done.returncode == 0


class Names(Handshaking):
    def test_T06_hostile_names_get_an_alert_each_and_the_edge_goes_on(self):
        self.hedge.start_edge()
        hostile = {
            "an address": b"127.0.0.1", "an address of six": b"::1", "a path": b"../../etc/passwd", "line breaks": b"a\r\nb.localhost",
            "a zero byte": b"alpha.localhost\0.example.com", "bytes above ASCII": b"\xff\xfe.localhost", "a wildcard": b"*.localhost",
            "spaces": b"a b.localhost", "an empty label": b"a..localhost", "300 bytes": b"a" * 290 + b".localhost",
            "an underscore": b"_acme.localhost", "a hyphen at the end": b"a-.localhost", "a label of 64": b"a" * 64 + b".localhost",
            "two dots at the end": b"alpha.localhost..",
        }
        for what, name in hostile.items():
            with self.subTest(what):
                reply = self.reply(name)
                self.assertEqual(reply[:1], b"\x15", f"an alert, not {reply[:16]!r}")
        self.assertIn("DNS:alpha.localhost", self.leaf("alpha.localhost"))

    def test_T06_unrecognized_name_is_the_alert_for_a_name_of_others(self):
        self.hedge.start_edge()
        for name in (b"www.example.com", b"localhost.example.com", b"evillocalhost", b"127.0.0.1"):
            reply = self.reply(name)
            self.assertEqual((reply[0], reply[6]), (0x15, UNRECOGNIZED_NAME), name)

    def test_T06_E16_E17_upper_case_and_a_trailing_dot_are_the_same_name(self):
        self.hedge.start_edge()
        serials = {self.leaf(name) for name in ("alpha.localhost", "ALPHA.LocalHost")}
        self.assertEqual(len(serials), 1, serials)
        self.assertEqual(self.reply(b"alpha.localhost.")[:1], b"\x16", "a server hello")

    def test_T06_ten_thousand_names_of_nobody_cost_bounded_memory_and_routes_go_on(self):
        self.hedge.start_edge()
        self.hedge.run("route", "add", "alpha.localhost", "9001")
        route = self.leaf("alpha.localhost")
        pid = self.json("edge", "status")["pid"]

        def resident() -> int:
            with open(f"/proc/{pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4096

        def ask(numbers) -> int:
            refused = 0
            for number in numbers:
                reply = self.reply(f"n{number}.localhost".encode())
                refused += reply[0] == 0x15
            return refused

        ask(range(1000))
        before = resident()
        refused = ask(range(1000, 3000))
        self.assertGreater(refused, 0, "the rate is limited")
        self.assertLess(resident() - before, 8 << 20)
        self.assertEqual(self.leaf("alpha.localhost"), route, "a route's certificate is not pushed out")


class Clocks(Handshaking):
    def start_at(self, offset: str) -> faked_clock.FakedClock:
        faked_clock.require()
        clock = faked_clock.FakedClock(self.directory, offset)
        real = self.hedge.environment
        self.hedge.environment = {**real, **clock.environment}
        self.hedge.run("ca", "init")
        self.hedge.start_edge()
        self.hedge.environment = real
        self.hedge.run("route", "add", "alpha.localhost", "9001")
        return clock

    def test_T13_after_a_sleep_of_forty_days_the_first_handshake_gets_a_valid_leaf(self):
        clock = self.start_at("-40d")
        ended = self.leaf("alpha.localhost")
        self.assertFalse(self.is_valid_now("alpha.localhost"), "it ended ten days ago")
        clock.jump("+0")
        self.assertTrue(self.is_valid_now("alpha.localhost"))
        self.assertNotEqual(self.leaf("alpha.localhost"), ended)

    def test_T13_a_clock_that_is_set_back_gets_a_leaf_that_is_valid_then(self):
        clock = self.start_at("-40d")
        clock.jump("+0")
        later = self.leaf("alpha.localhost")
        clock.jump("-39d")
        earlier = self.leaf("alpha.localhost")
        self.assertNotEqual(earlier, later)
        clock.jump("+0")
        self.assertTrue(self.is_valid_now("alpha.localhost"))

    def test_T13_fifty_parallel_first_handshakes_after_the_jump_get_one_leaf(self):
        clock = self.start_at("-40d")
        self.leaf("alpha.localhost")
        clock.jump("+0")
        argv = ["openssl", "s_client", "-connect", f"127.0.0.1:{self.hedge.https_port}", "-servername", "alpha.localhost"]
        running = [subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                   for _ in range(50)]
        shown = {self.openssl("x509", "-noout", "-serial", text=process.communicate(timeout=60)[0]).stdout for process in running}
        self.assertEqual(len(shown), 1, shown)

    def test_T14_a_root_that_ended_is_named_as_ours_and_rotate_replaces_it_without_a_restart(self):
        self.start_at("-3660d")
        done = self.refused("ca_expired", "ca", "status", expect=1)
        self.assertIn("Hedge's own CA", done.stderr)
        self.assertIn("hedge ca rotate", done.stderr)
        self.hedge.stop_edge()
        self.hedge.start_edge()
        self.assertFalse(self.is_valid_now("alpha.localhost"))
        bounded_wait.until(lambda: "Hedge's own CA" in self.hedge.edge_log(), 10, "the log says whose fault it is")
        self.hedge.run("ca", "rotate")
        self.assertTrue(self.is_valid_now("alpha.localhost"))

    def test_T14_a_clock_before_the_cas_birth_is_named_and_put_right_without_a_restart(self):
        clock = self.start_at("+0")
        clock.jump("-400d")
        self.assertEqual(self.reply(b"alpha.localhost")[:1], b"\x15")
        bounded_wait.until(lambda: "is not valid now" in self.hedge.edge_log(), 10, "the log says why")
        clock.jump("+0")
        self.assertTrue(self.is_valid_now("alpha.localhost"))

    def test_T14_status_warns_while_there_is_time(self):
        faked_clock.require()
        clock = faked_clock.FakedClock(self.directory, "-3600d")
        real = self.hedge.environment
        self.hedge.environment = {**real, **clock.environment}
        self.hedge.run("ca", "init")
        self.hedge.environment = real
        told = self.json("ca", "init")
        self.assertEqual([(warning["id"], warning["remediation"]["command"]) for warning in told["warnings"]],
                         [("ca_ending", "hedge ca rotate")])

    def test_T13_a_client_whose_clock_is_ahead_is_told_apart_from_a_leaf_that_ended(self):
        faked_clock.require()
        self.hedge.start_edge()
        self.hedge.run("route", "add", "alpha.localhost", "9001")
        root = self.directory / "root.pem"
        root.write_text(self.hedge.run("ca", "export").stdout)
        ahead = faked_clock.FakedClock(self.directory, "+200d")
        subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.hedge.https_port}", "-servername", "alpha.localhost",
                        "-CAfile", root, "-verify_return_error"], env={**self.hedge.environment, **ahead.environment},
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        bounded_wait.until(lambda: "one of the two clocks is wrong" in self.hedge.edge_log(), 10, "the log says it")


if __name__ == "__main__":
    unittest.main()
