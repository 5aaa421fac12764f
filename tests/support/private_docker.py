"""A Docker engine of a test's own, inside the test's private world: data, socket and networks end with it."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from support import bounded_wait, private_world
from support.child_process import ChildProcess
from support.private_world import require_programs


class PrivateDocker:
    """`run` gives the standard output of a docker command; one that fails raises with its own words."""

    def __init__(self):
        require_programs("dockerd", "docker")
        self._client = "/usr/bin/docker" if Path("/usr/bin/docker").exists() else shutil.which("docker")
        self._directory = Path(tempfile.mkdtemp(prefix="hedge-docker-"))
        self._engine: ChildProcess | None = None
        if private_world.inside():
            # An image's thousands of files in memory: quicker than any disk, and gone with the mount.
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", self._directory], check=True, timeout=30)

    @property
    def socket(self) -> Path:
        return self._directory / "docker.sock"

    @property
    def host(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        """No default bridge: every test names its own networks."""
        d = self._directory
        self._engine = ChildProcess(
            ["dockerd", "--data-root", d / "data", "--exec-root", d / "exec", "--pidfile", d / "pid",
             "-H", self.host, "--bridge=none"],
            d / "log",
        )
        bounded_wait.until(self._answers, 60, "the Docker engine answers")

    def _answers(self) -> bool:
        self._engine.require_running()
        return self.socket.exists() and self._docker("version", timeout=10).returncode == 0

    def stop(self) -> None:
        if self._engine is not None:
            self._engine.stop(seconds=30)
            self._engine = None

    def __enter__(self) -> "PrivateDocker":
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        if self._engine is not None:
            # At once: an engine that ends gives each of its containers ten seconds.
            containers = self._docker("ps", "-aq", timeout=60).stdout.split()
            if containers:
                self._docker("rm", "-f", *containers, timeout=120)
        self.stop()
        if private_world.inside():
            subprocess.run(["umount", "-l", self._directory], check=True, timeout=30)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _docker(self, *arguments, timeout: float) -> subprocess.CompletedProcess:
        return subprocess.run(
            [self._client, *map(str, arguments)], env={**os.environ, "DOCKER_HOST": self.host},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False,
        )

    def run(self, *arguments, timeout: float = 120) -> str:
        done = self._docker(*arguments, timeout=timeout)
        if done.returncode != 0:
            raise RuntimeError(f"docker {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout.strip()

    def import_image(self, archive: Path, name: str) -> None:
        self.run("import", "--change", "WORKDIR /srv/shop", "--change", "ENV HOST=0.0.0.0 PORT=8000",
                 "--change", 'CMD ["/usr/bin/python3", "-m", "shop", "serve"]', archive, name, timeout=300)

    def inspect(self, container: str) -> dict:
        return json.loads(self.run("inspect", container))[0]

    def address(self, container: str, network: str) -> str:
        """Its address on that network; empty while it is stopped or not attached."""
        attached = self.inspect(container)["NetworkSettings"]["Networks"]
        return attached[network]["IPAddress"] if network in attached else ""
