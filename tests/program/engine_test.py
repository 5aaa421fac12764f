"""K-05: each way in which the container engine fails has an identifier of its own, within seconds, and is never called ready."""

import shutil
import socket
import subprocess
import threading
from pathlib import Path

from shop_world import EXAMPLE, ShopWorld, prepare

__all__ = ["prepare", "EngineSetUps"]

SOCKET = Path("/var/run/docker.sock")
LIMIT = 60  # seconds: less than any wait without a bound, more than a busy machine needs


class EngineSetUps(ShopWorld):
    def setUp(self):
        super().setUp()
        (self.main / "hedge.toml").write_text(
            '[app]\nname = "shop"\n[stack]\nruntime = "compose"\ncompose = ["compose.yml"]\n'
            '[[stack.services]]\nname = "app"\nport = 8000\n', encoding="utf-8")
        self.assertTrue((EXAMPLE / "compose.yml").exists())
        self.git("commit", "--quiet", "--all", "--message", "in a container")
        # The default socket's directory is the test's own; it goes with the mount namespace.
        directory = SOCKET.parent.resolve()
        subprocess.run(["mount", "-t", "tmpfs", "none", directory], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", directory], check=True)
        self.tools = self.directory / "tools"
        self.tools.mkdir()
        for program in ("git", "sh", "env"):
            (self.tools / program).symlink_to(shutil.which(program))
        self.hedge.environment["PATH"] = str(self.tools)

    def install_docker(self, script: str = "echo no such command >&2; exit 1") -> None:
        file = self.tools / "docker"
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)

    def listen(self, answer: bytes = b"") -> None:
        """An engine that says `answer` to everything; without one it accepts and stays silent."""
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(SOCKET))
        server.listen(64)
        self.addCleanup(server.close)
        kept = []

        def serve() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                kept.append(peer)
                if answer:
                    peer.recv(65536)
                    peer.sendall(answer)
                    peer.close()

        threading.Thread(target=serve, daemon=True).start()

    def expect(self, identifier: str, **options) -> None:
        done = subprocess.run([self.hedge.binary, "create", "feature/login", "--json"], cwd=self.main, text=True, timeout=LIMIT,
                              env=self.hedge.environment, stdin=subprocess.DEVNULL, capture_output=True, check=False, **options)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(f'"{identifier}"', done.stdout)
        self.assertNotIn('"status":"ready"', done.stdout)

    def test_K05_no_docker_at_all(self):
        self.expect("engine_not_installed")

    def test_K05_a_docker_command_and_no_engine(self):
        self.install_docker()
        self.expect("engine_not_running")

    def test_K05_a_socket_that_this_user_may_not_use(self):
        self.install_docker()
        self.listen()
        SOCKET.chmod(0o600)
        self.expect("engine_permission", **self.as_nobody())

    def test_K05_a_DOCKER_HOST_where_nobody_answers(self):
        self.install_docker()
        self.hedge.environment["DOCKER_HOST"] = "tcp://127.0.0.1:1"
        self.expect("engine_host_unreachable")

    def test_K05_an_engine_without_Compose(self):
        self.install_docker('[ "$1" = info ] && echo null && exit 0; echo no such command >&2; exit 1')
        self.listen(b"HTTP/1.1 200 OK\r\nApi-Version: 1.44\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]")
        self.expect("compose_not_installed")

    def test_K09_an_engine_with_a_Compose_that_fails(self):
        self.install_docker('[ "$1" = info ] && echo \'[{"Name":"compose"}]\' && exit 0; echo the disk is on fire >&2; exit 1')
        self.listen(b"HTTP/1.1 200 OK\r\nApi-Version: 1.44\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]")
        self.expect("compose_failed")

    def test_K05_an_engine_that_accepts_and_never_answers(self):
        self.install_docker()
        self.listen()
        self.expect("engine_unresponsive")
