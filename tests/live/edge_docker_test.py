"""The edge in front of real containers: they are recreated, swapped, put on two networks and broken."""

import json
import unittest

from docker_world import NETWORK, PORT, PRIVATE, PRIVATE_SUBNET, DockerWorld, prepare
from support import bounded_wait

__all__ = ["prepare", "Containers", "FiveReasons"]
ALPHA, BETA = "wt-alpha", "wt-beta"


class Containers(DockerWorld):
    def test_E02_a_container_recreated_with_another_address_answers_at_once(self):
        self.start_edge()
        self.container(ALPHA)
        host = self.route(ALPHA)
        self.wait_answers(host)
        warm = self.hedge.client()
        self.addCleanup(warm.close)
        self.assertEqual(warm.request(host).status, 200)
        old = self.docker.address(ALPHA, NETWORK)

        self.docker.run("rm", "-f", ALPHA)
        self.docker.run("run", "-d", "--name", "filler", "--network", NETWORK, "--ip", old, "shop", "sleep", "600")
        recreated = self.container(ALPHA)
        self.assertNotEqual(self.docker.address(ALPHA, NETWORK), old)
        self.wait_listening(ALPHA)
        bounded_wait.until(lambda: self.hedge.get(host).status == 200, 1, "the new container answers")

        for client in [warm, *(self.hedge.client() for _ in range(19))]:
            answer = client.request(host)
            self.assertEqual(answer.status, 200, f"{answer.error} {answer.body[:300]!r}")
            self.assertEqual(answer.json()["hostname"], recreated[:12])
            if client is not warm:
                client.close()

    def test_E02_a_websocket_reaches_the_recreated_container(self):
        self.start_edge()
        self.container(ALPHA)
        host = self.route(ALPHA)
        self.wait_answers(host)
        self.docker.run("rm", "-f", ALPHA)
        self.container("filler")  # takes the old address
        self.container(ALPHA)
        self.wait_listening(ALPHA)
        bounded_wait.until(lambda: self._upgraded_by(host) == ALPHA, 1, "a WebSocket to the new container")

    def _upgraded_by(self, host: str) -> str:
        """Speaks one WebSocket message by hand and returns which worktree echoed it."""
        import os
        import socket
        import struct

        with socket.create_connection(("127.0.0.1", self.hedge.http_port), 10) as peer:
            peer.sendall(
                f"GET /ws HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
            stream = peer.makefile("rb")
            status = int(stream.readline().split()[1])
            while stream.readline() not in (b"\r\n", b""):
                pass
            if status != 101:
                return ""
            text, mask = b"hello", os.urandom(4)
            masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(text))
            peer.sendall(bytes([0x81, 0x80 | len(text)]) + mask + masked)
            length = stream.read(2)[1]
            if length == 126:
                (length,) = struct.unpack("!H", stream.read(2))
            return json.loads(stream.read(length))["worktree"]

    def test_E03_addresses_swapped_under_warm_pools_never_answer_for_the_other_worktree(self):
        self.start_edge()
        hosts = {}
        for name in (ALPHA, BETA):
            self.container(name)
            hosts[name] = self.route(name)
            self.wait_answers(hosts[name])
        clients = {name: self.hedge.client() for name in hosts}
        before = {name: self.docker.address(name, NETWORK) for name in hosts}
        for name, client in clients.items():
            self.assertEqual(client.request(hosts[name]).json()["worktree"], name)

        wrong, answers = [], []

        def ask_both() -> None:
            for name, client in clients.items():
                try:
                    answer = client.request(hosts[name])
                except OSError:
                    continue
                answers.append(answer.status)
                if answer.status == 200 and answer.json()["worktree"] != name:
                    wrong.append((name, answer.json()))

        self.docker.run("stop", "-t", "1", ALPHA, BETA)
        for _ in range(20):
            ask_both()
        self.docker.run("start", BETA)
        for _ in range(20):
            ask_both()
        self.docker.run("start", ALPHA)
        after = {name: self.docker.address(name, NETWORK) for name in hosts}
        self.assertEqual(after, {ALPHA: before[BETA], BETA: before[ALPHA]}, "the addresses were to be swapped")
        for _ in range(200):
            ask_both()
        for name in hosts:
            self.wait_answers(hosts[name])
        for _ in range(200):
            ask_both()

        self.assertEqual(wrong, [])
        self.assertLessEqual(set(answers), {200, 502, 504})
        self.assertEqual(set(answers[-400:]), {200})

    def test_E05_a_container_on_two_networks_is_reached_on_the_edge_network_in_either_order(self):
        self.start_edge()
        self.docker.run("network", "create", "--subnet", PRIVATE_SUBNET, PRIVATE)
        host = self.route(ALPHA)
        for first, second in [(PRIVATE, NETWORK), (NETWORK, PRIVATE)] * 5:
            self.container(ALPHA, network=first)
            self.docker.run("network", "connect", second, ALPHA)
            self.wait_listening(ALPHA)
            bounded_wait.until(lambda: self.hedge.get(host).status == 200, 1, f"an answer when {first} came first")
            self.docker.run("rm", "-f", ALPHA)

    def test_E05_a_container_off_the_edge_network_is_said_to_be(self):
        self.start_edge()
        self.docker.run("network", "create", "--internal", "--subnet", PRIVATE_SUBNET, PRIVATE)
        self.container(ALPHA)
        self.docker.run("network", "connect", PRIVATE, ALPHA)
        host = self.route(ALPHA)
        self.wait_answers(host)
        self.docker.run("network", "disconnect", NETWORK, ALPHA)
        bounded_wait.until(
            lambda: self.hedge.get(host).error == "upstream_off_network", 2, "the reason is the network")
        answer = self.hedge.get(host)
        self.assertEqual(answer.status, 502)
        self.assertIn("network", answer.json()["detail"])


class FiveReasons(DockerWorld):
    """E-39: each way of not answering has a name of its own."""

    def expect(self, host: str, status: int, error: str, words: str = "") -> None:
        answer = self.hedge.get(host)
        self.assertEqual((answer.status, answer.error), (status, error), answer.body[:500])
        self.assertEqual(answer.headers["content-type"].split(";")[0], "application/problem+json")
        self.assertIn(words, answer.body.decode())

    def listen(self, address: str, port: int) -> tuple[str, ...]:
        return ("/usr/bin/python3", "-m", "http.server", "--bind", address, str(port))

    def test_E39_a_missing_container_is_unresolved(self):
        self.start_edge()
        self.expect(self.route("wt-none"), 502, "upstream_unresolved", "wt-none")

    def test_E39_a_stopped_container_is_stopped(self):
        self.start_edge()
        self.container(ALPHA)
        self.docker.run("stop", "-t", "1", ALPHA)
        self.expect(self.route(ALPHA), 502, "container_stopped", ALPHA)

    def test_E39_a_container_that_listens_on_loopback_only_refuses_and_the_hint_says_so(self):
        self.start_edge()
        self.container(ALPHA, command=self.listen("127.0.0.1", PORT))
        self.expect(self.route(ALPHA), 502, "upstream_refused", "127.0.0.1")

    def test_E39_a_container_that_listens_on_another_port_refuses(self):
        self.start_edge()
        self.container(ALPHA, command=self.listen("0.0.0.0", PORT + 1))
        self.wait_listening(ALPHA, port=PORT + 1)
        self.expect(self.route(ALPHA), 502, "upstream_refused", str(PORT))

    def test_E39_a_port_whose_packets_are_dropped_times_out(self):
        import subprocess

        self.start_edge()
        self.container(ALPHA)
        self.wait_listening(ALPHA)
        subprocess.run(["iptables", "-I", "OUTPUT", "-d", self.docker.address(ALPHA, NETWORK), "-p", "tcp", "--dport",
                        str(PORT), "-j", "DROP"], check=True, timeout=30)
        self.expect(self.route(ALPHA), 504, "upstream_timeout", ALPHA)


if __name__ == "__main__":
    unittest.main()
