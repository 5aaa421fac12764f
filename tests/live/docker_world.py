"""What the edge's tests with a real engine share: the engine, two networks, the shop's containers and the edge."""

import tempfile
import unittest
from pathlib import Path

from support import bounded_wait, sample_image
from support.hedge_program import HedgeProgram
from support.private_docker import PrivateDocker
from support.private_world import require_programs

IMAGE = "shop"
NETWORK, SUBNET = "edge", "10.89.7.0/24"
PRIVATE, PRIVATE_SUBNET = "zz-private", "10.89.8.0/24"
PORT = 8000


def prepare() -> None:
    require_programs("dockerd", "docker")
    sample_image.archive()


class DockerWorld(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hedge-live-")))
        # An edge that runs as another user reaches its own files in here by name only.
        self.directory.chmod(0o711)
        self.docker = self.enterContext(PrivateDocker())
        self.docker.import_image(sample_image.archive(), IMAGE)
        self.docker.run("network", "create", "--subnet", SUBNET, NETWORK)
        self.hedge = HedgeProgram(self.directory, {"DOCKER_HOST": self.docker.host})
        self.addCleanup(self.hedge.stop_edge)

    def start_edge(self, settings: str = "") -> None:
        self.hedge.start_edge(f'network = "{NETWORK}"\n{settings}')

    def container(self, name: str, *options: str, network: str = NETWORK, command: tuple[str, ...] = ()) -> str:
        """Starts one that answers /whoami with its id as hostname; returns the id."""
        database = f"DATABASE_URL=sqlite:////tmp/{name}.sqlite3"
        return self.docker.run(
            "run", "-d", "--name", name, "--network", network, "-e", f"HEDGE_SLUG={name}", "-e", database, *options,
            IMAGE, *command)

    def route(self, name: str, port: int = PORT) -> str:
        """Registers the container's host and returns it."""
        host = f"shop.{name}.localhost"
        self.hedge.run("route", "add", host, f"docker:{name}:{port}")
        return host

    def wait_listening(self, name: str, network: str = NETWORK, port: int = PORT) -> None:
        """Asks inside the container's own network, so that the edge has seen nothing of it."""
        probe = f"import socket; socket.create_connection(('{self.docker.address(name, network)}', {port}), 1)"

        def listening() -> bool:
            try:
                self.docker.run("exec", name, "/usr/bin/python3", "-c", probe, timeout=20)
            except RuntimeError:
                return False
            return True

        bounded_wait.until(listening, 30, f"{name} listens")

    def wait_answers(self, host: str, seconds: float = 10) -> None:
        bounded_wait.until(lambda: self.hedge.get(host).status == 200, seconds, f"{host} answers 200")

    def answered_by(self, host: str, **options) -> str:
        answer = self.hedge.get(host, **options)
        self.assertEqual(answer.status, 200, f"{host}: {answer.error} {answer.body[:400]!r}")
        return answer.json()["worktree"]
