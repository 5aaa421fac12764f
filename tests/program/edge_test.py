"""The life of an edge as a person sees it: started, asked, stopped; and what stands in the way."""

import json
import os
import socket
import ssl
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from program_world import ProgramWorld, prepare
from support import bounded_wait

__all__ = ["prepare", "Background", "Handshakes", "Obstacles"]
PORTS = ("--http", "127.0.0.1:0", "--https", "127.0.0.1:0", "--workers", "1")


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


class Background(ProgramWorld):
    def test_start_waits_until_it_answers_and_stop_until_it_is_gone(self):
        started = self.json("edge", "start", *PORTS)
        self.assertFalse(started["already_running"])
        self.assertTrue(all(listener["port"] > 0 for listener in started["listeners"]))
        status = self.json("edge", "status")
        self.assertEqual((status["pid"], status["workers"]), (started["pid"], 1))
        self.assertEqual(os.getsid(started["pid"]), started["pid"], "a session of its own outlives the terminal")
        self.assertEqual(oct((self.hedge.state / "logs/edge.log").stat().st_mode)[-3:], "600")
        stopped = self.json("edge", "stop")
        self.assertEqual((stopped["was_running"], stopped["pid"]), (True, started["pid"]))
        self.assertFalse(alive(started["pid"]))
        self.refused("edge_not_running", "edge", "status", expect=3)

    def test_U02_starting_twice_is_success_and_one_edge(self):
        first = self.json("edge", "start", *PORTS)
        done = self.hedge.run("edge", "start", *PORTS, "--json")
        self.assertIn("already running", done.stderr)
        self.assertEqual(self.json("edge", "start", *PORTS)["pid"], first["pid"])

    def test_ten_starts_at_once_make_one_edge(self):
        with ThreadPoolExecutor(10) as pool:
            told = list(pool.map(lambda _: self.json("edge", "start", *PORTS), range(10)))
        self.assertEqual(len({one["pid"] for one in told}), 1)
        self.assertEqual([one["already_running"] for one in told].count(False), 1)

    def test_stopping_nothing_is_success(self):
        self.assertFalse(self.json("edge", "stop")["was_running"])
        self.assertEqual(self.hedge.run("edge", "stop").stdout, "no edge was running\n")

    def test_a_control_socket_of_ones_own_is_found_by_the_other_verbs(self):
        socket_path = self.directory / "own.sock"
        self.json("edge", "start", *PORTS, "--control", socket_path)
        self.assertTrue(socket_path.is_socket())
        self.assertEqual(self.json("route", "add", "alpha.localhost", "9001")["edge"], "told")
        self.assertTrue(self.json("edge", "stop")["was_running"])

    def test_a_killed_edge_leaves_nothing_in_the_way_of_the_next(self):
        first = self.json("edge", "start", *PORTS)["pid"]
        os.kill(first, 9)
        bounded_wait.until(lambda: not alive(first), 10, "the edge is gone")
        second = self.json("edge", "start", *PORTS)
        self.assertFalse(second["already_running"])
        self.assertNotEqual(second["pid"], first)

    def test_one_state_directory_has_one_edge_whatever_its_control_socket(self):
        first = self.json("edge", "start", *PORTS)
        done = self.hedge.run("edge", "run", *PORTS, "--control", self.directory / "other.sock", expect=1)
        self.assertIn("[edge_already_running]", done.stderr)
        self.assertEqual(self.json("edge", "status")["pid"], first["pid"])

    def test_a_living_edge_without_its_socket_is_not_called_ended(self):
        socket_path = self.directory / "own.sock"
        pid = self.json("edge", "start", *PORTS, "--control", socket_path)["pid"]
        socket_path.unlink()
        self.refused("edge_unresponsive", "edge", "status", expect=1)
        self.assertIn(str(pid), self.hedge.run("edge", "stop", expect=1).stderr)
        os.kill(pid, 15)
        bounded_wait.until(lambda: not alive(pid), 20, "the edge is gone")
        self.assertFalse(self.json("edge", "stop")["was_running"])

    def test_two_state_directories_have_two_edges(self):
        first = self.json("edge", "start", *PORTS)
        self.hedge.environment["HEDGE_STATE_DIR"] = str(self.directory / "second")
        second = self.json("edge", "start", *PORTS)
        self.assertNotEqual(first["pid"], second["pid"])
        self.json("edge", "stop")
        self.hedge.environment["HEDGE_STATE_DIR"] = str(self.hedge.state)
        self.assertEqual(self.json("edge", "status")["pid"], first["pid"])


class Obstacles(ProgramWorld):
    def test_U02_a_taken_port_names_its_holder(self):
        with socket.create_server(("127.0.0.1", 8088)):
            done = self.hedge.run("edge", "run", "--http", "127.0.0.1:8088", expect=1)
            self.assertIn("[port_in_use]", done.stderr)
            self.assertIn(str(os.getpid()), done.stderr)
            done = self.hedge.run("edge", "start", "--http", "127.0.0.1:8088", expect=1)
            self.assertIn("[edge_start_failed]", done.stderr)
            self.assertIn("port_in_use", done.stderr, "the end of the log says why")

    def test_the_reason_is_found_at_the_end_of_a_log_of_any_size(self):
        log = self.hedge.state / "logs/edge.log"
        log.parent.mkdir(parents=True)
        log.touch()
        os.truncate(log, 70 << 20)  # sparse
        with socket.create_server(("127.0.0.1", 8088)):
            done = self.hedge.run("edge", "start", "--http", "127.0.0.1:8088", expect=1)
        self.assertIn("port_in_use", done.stderr)

    def test_wrong_settings_are_told_at_their_place_by_start_itself(self):
        settings = self.directory / "edge.toml"
        settings.write_text('[edge]\nworkers = "many"\nunknown = 1\n')
        for verb in ("run", "start"):
            done = self.hedge.run("edge", verb, "--config", settings, expect=2)
            self.assertIn("edge.toml:2:", done.stderr)
            self.assertIn("edge.toml:3:", done.stderr)
        self.assertFalse((self.hedge.state / "logs/edge.log").exists())

    def test_wrong_options_are_usage_errors(self):
        for options in (("--http", "nowhere"), ("--https", "127.0.0.1:99999"), ("--workers", "0"), ("--workers", "65")):
            self.hedge.run("edge", "run", *options, expect=2)
            self.hedge.run("edge", "start", *options, expect=2)
        self.hedge.run("edge", "run", "--config", self.directory / "none.toml", expect=None)

    def test_T10_a_damaged_ca_does_not_keep_the_edge_from_serving_plain_http(self):
        self.hedge.run("ca", "init")
        (self.hedge.state / "ca/intermediate.pem").write_text("garbage")
        self.hedge.start_edge()
        self.assertEqual(self.hedge.get("nobody.localhost").status, 404)
        self.assertIn("no TLS until this is mended", self.hedge.edge_log())

    def test_an_engine_behind_tls_is_named_and_not_spoken_to_in_plain_text(self):
        with socket.create_server(("127.0.0.1", 0)) as engine:
            engine.setblocking(False)
            self.hedge.environment["DOCKER_HOST"] = f"tcp://127.0.0.1:{engine.getsockname()[1]}"
            self.hedge.environment["DOCKER_TLS_VERIFY"] = "1"
            self.hedge.start_edge()
            self.hedge.run("route", "add", "alpha.localhost", "docker:app:80")
            answer = self.hedge.get("alpha.localhost")
            self.assertEqual((answer.status, answer.error), (502, "engine_unsupported"))
            self.assertIn("DOCKER_TLS_VERIFY or DOCKER_TLS", json.dumps(answer.json()))
            self.assertRaises(BlockingIOError, engine.accept)

    def test_a_directory_of_certificates_alone_is_no_wish_for_tls(self):
        with socket.create_server(("127.0.0.1", 0)) as engine:
            engine.settimeout(20)
            self.hedge.environment["DOCKER_HOST"] = f"tcp://127.0.0.1:{engine.getsockname()[1]}"
            self.hedge.environment["DOCKER_CERT_PATH"] = str(self.directory)
            self.hedge.start_edge()
            self.hedge.run("route", "add", "alpha.localhost", "docker:app:80")
            self.assertNotEqual(self.hedge.get("alpha.localhost").error, "engine_unsupported")
            peer, _ = engine.accept()
            with peer:
                peer.settimeout(20)
                self.assertEqual(peer.recv(4), b"GET ")

    def test_T12_a_missing_openssl_configuration_is_no_obstacle(self):
        self.hedge.environment["OPENSSL_CONF"] = str(self.directory / "missing.cnf")
        self.hedge.start_edge()
        client = self.hedge.tls_client("nobody.localhost")
        self.addCleanup(client.close)
        self.assertEqual(client.request("nobody.localhost").status, 404)


    def test_the_access_log_goes_to_a_standard_output_that_is_a_socket(self):
        settings = self.directory / "edge.toml"
        settings.write_text('[edge]\naccess_log = "-"\n')
        ours, its = socket.socketpair()
        self.addCleanup(ours.close)
        with its:
            edge = subprocess.Popen([self.hedge.binary, "edge", "run", *PORTS, "--config", settings], stdin=subprocess.DEVNULL,
                                    stdout=its, stderr=subprocess.DEVNULL, env=self.hedge.environment)
        self.addCleanup(edge.wait, 20)
        self.addCleanup(edge.terminate)
        bounded_wait.until(lambda: self.hedge.run("edge", "status", expect=None).returncode == 0, 20, "the edge answers")
        port = self.json("edge", "status")["listeners"][0]["port"]
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(b"GET /told HTTP/1.1\r\nHost: nobody.localhost\r\nConnection: close\r\n\r\n")
            self.assertIn(b"404", b"".join(iter(lambda: client.recv(65536), b"")))
        edge.terminate()
        ours.settimeout(20)
        told = b"".join(iter(lambda: ours.recv(65536), b""))
        self.assertIn(b'"target":"/told"', told)


class Handshakes(ProgramWorld):
    def setUp(self):
        super().setUp()
        self.hedge.start_edge()
        self.root = self.directory / "root.pem"
        self.root.write_text(self.hedge.run("ca", "export").stdout)

    def s_client(self, name: str | None) -> subprocess.CompletedProcess:
        names = ("-servername", name) if name else ("-noservername",)
        return self.openssl("s_client", "-connect", f"127.0.0.1:{self.hedge.https_port}", *names, "-CAfile", self.root,
                            "-verify_return_error", *(("-verify_hostname", name) if name else ()), expect=None)

    def names(self, shown: subprocess.CompletedProcess) -> str:
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
        text = self.openssl("x509", "-noout", "-ext", "subjectAltName", text=shown.stdout).stdout
        return text.splitlines()[1].strip()

    def test_T06_a_route_at_any_depth_gets_its_exact_name(self):
        for host in ("admin.api.alpha.dev.localhost", "alpha.localhost", "localhost"):
            self.hedge.run("route", "add", host, "9001")
            self.assertEqual(self.names(self.s_client(host)), f"DNS:{host}")

    def test_T07_a_host_of_120_characters(self):
        host = "a" * 50 + "." + "b" * 59 + ".localhost"
        self.assertEqual(len(host), 120)
        self.hedge.run("route", "add", host, "9001")
        self.assertEqual(self.names(self.s_client(host)), f"DNS:{host}")

    def test_without_a_name_the_edges_own_certificate(self):
        self.assertIn("DNS:hedge.localhost", self.names(self.s_client(None)))

    def test_T06_an_unknown_name_gets_the_alert_and_nothing_is_written(self):
        self.assertIn("unrecognized name", self.s_client("x.example.com").stderr)

        def listing():
            return sorted((str(path), path.stat().st_mtime_ns) for path in (self.hedge.state / "ca").rglob("*"))

        before = listing()
        context = ssl.create_default_context(cafile=str(self.root))
        refused = 0
        for number in range(1000):
            name = f"n{number}.example.com" if number % 2 else f"n{number}.localhost"
            try:
                with socket.create_connection(("127.0.0.1", self.hedge.https_port), 10) as plain:
                    context.wrap_socket(plain, server_hostname=name).close()
            except ssl.SSLError:
                refused += 1
        self.assertEqual(listing(), before)
        self.assertGreaterEqual(refused, 500)
        self.assertEqual(self.names(self.s_client("hedge.localhost")).split(",")[0], "DNS:hedge.localhost")

    def test_T09_a_new_ca_signs_without_a_restart(self):
        subprocess.run(["rm", "-r", self.hedge.state / "ca"], check=True)
        self.hedge.run("ca", "init")
        self.root.write_text(self.hedge.run("ca", "export").stdout)
        bounded_wait.until(lambda: self.s_client("alpha.localhost").returncode == 0, 5, "the new CA is used")

    def test_T17_clients_refuse_a_name_outside_the_constraints(self):
        self.hedge.run("route", "add", "www.example.com", "9001")
        shown = self.s_client("www.example.com")
        self.assertNotEqual(shown.returncode, 0)
        self.assertIn("permitted subtree violation", shown.stdout + shown.stderr)
        address = f"https://www.example.com:{self.hedge.https_port}/"
        resolve = f"www.example.com:{self.hedge.https_port}:127.0.0.1"
        done = subprocess.run(["curl", "-sS", "--cacert", self.root, "--resolve", resolve, address], capture_output=True,
                              text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 60, done.stderr)
        context = ssl.create_default_context(cafile=str(self.root))
        with socket.create_connection(("127.0.0.1", self.hedge.https_port), 10) as plain:
            with self.assertRaisesRegex(ssl.SSLCertVerificationError, "permitted subtree violation"):
                context.wrap_socket(plain, server_hostname="www.example.com")


if __name__ == "__main__":
    unittest.main()
