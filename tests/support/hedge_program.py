"""The built program with a home, a state directory and ports of its own, and a client for its edge."""

import http.client
import json
import os
import signal
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support import bounded_wait
from support.child_process import ChildProcess

COMMAND_SECONDS = 180


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def error(self) -> str:
        return self.headers.get("hedge-error", "")

    def json(self):
        return json.loads(self.body)


class Client:
    """One keep-alive connection to the edge; every request names its own host."""

    def __init__(self, port: int, certificate: Path | None = None, name: str = ""):
        self._port, self._certificate, self._name = port, certificate, name
        self._connection: http.client.HTTPConnection | None = None

    def _connect(self) -> http.client.HTTPConnection:
        if self._certificate is None:
            return http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        context = ssl.create_default_context(cafile=str(self._certificate))
        # *.localhost is loopback for browsers and curl; Python asks the system, which may not know.
        connection = http.client.HTTPSConnection(self._name, self._port, timeout=20, context=context)
        connection._create_connection = lambda address, *rest: _loopback(address[1], *rest)
        return connection

    def request(self, host: str, path: str = "/whoami", method: str = "GET", body: str | None = None,
                headers: dict[str, str] | None = None) -> Answer:
        if self._connection is None:
            self._connection = self._connect()
        fields = {"Host": host, "Accept": "application/json", **(headers or {})}
        try:
            self._connection.request(method, path, body=body, headers=fields)
            response = self._connection.getresponse()
            answer = Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        except BaseException:
            self.close()
            raise
        if response.will_close:
            self.close()
        return answer

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _loopback(port: int, timeout, source_address):
    import socket

    return socket.create_connection(("127.0.0.1", port), timeout, source_address)


class HedgeProgram:
    http_port = 8080
    https_port = 8443

    def __init__(self, directory: Path, environment: dict[str, str] | None = None):
        binary = os.environ.get("HEDGE_BINARY")
        if not binary or not os.access(binary, os.X_OK):
            raise RuntimeError("HEDGE_BINARY must name the built program")
        self.binary = os.path.abspath(binary)
        self.home = directory / "home"
        self.home.mkdir(parents=True)
        self.state = directory / "state"
        # Nothing of the caller's that could steer Hedge, git or Docker.
        inherited = {name: os.environ[name] for name in ("PATH", "TMPDIR", "TERM") if name in os.environ}
        self.environment = {
            **inherited, "HOME": str(self.home), "HEDGE_STATE_DIR": str(self.state), "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8", **(environment or {}),
        }
        self._edge: ChildProcess | None = None
        self._edge_log = directory / "edge.log"

    def run(self, *arguments, cwd: Path | None = None, expect: int | None = 0) -> subprocess.CompletedProcess:
        """Runs one command; a status other than `expect` raises with what it printed."""
        done = subprocess.run(
            [self.binary, *map(str, arguments)], cwd=cwd or self.home, env=self.environment, timeout=COMMAND_SECONDS,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )
        if expect is not None and done.returncode != expect:
            raise AssertionError(
                f"hedge {' '.join(map(str, arguments))} exited {done.returncode}, not {expect}:\n"
                f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done

    def contract(self, *arguments, cwd: Path | None = None, expect: int | None = 0) -> dict:
        return json.loads(self.run(*arguments, "--json", cwd=cwd, expect=expect).stdout)

    def git(self, *arguments, cwd: Path) -> str:
        identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "init.defaultBranch=main"]
        return subprocess.run(
            ["git", *identity, *map(str, arguments)], cwd=cwd, env=self.environment, check=True, timeout=60,
            capture_output=True, text=True,
        ).stdout.strip()

    def start_edge(self, settings: str = "", schemes: tuple[str, ...] = ("http", "https"), **options) -> None:
        """Runs the edge on 127.0.0.1; `settings` are further lines of its [edge] table."""
        file = self.home / "edge.toml"
        ports = {"http": self.http_port, "https": self.https_port}
        listeners = "".join(f'{scheme} = "127.0.0.1:{ports[scheme]}"\n' for scheme in schemes)
        file.write_text(f"[edge]\n{listeners}workers = 1\n{settings}\n", encoding="utf-8")
        self._edge = ChildProcess(
            [self.binary, "edge", "run", "--config", file], self._edge_log, cwd=self.home, env=self.environment, **options)
        bounded_wait.until(self._edge_answers, 20, "the edge answers")

    def _edge_answers(self) -> bool:
        self._edge.require_running()
        return self.run("edge", "status", "--json", expect=None).returncode == 0

    def edge_log(self) -> str:
        return self._edge_log.read_text(encoding="utf-8", errors="replace") if self._edge_log.exists() else ""

    def stop_edge(self) -> int:
        status = 0
        if self._edge is not None:
            status = self._edge.stop(signal.SIGTERM, 20)
            self._edge = None
        return status

    def client(self) -> Client:
        return Client(self.http_port)

    def tls_client(self, name: str) -> Client:
        certificate = self.home / "ca.pem"
        if not certificate.exists():
            certificate.write_text(self.run("ca", "export").stdout, encoding="utf-8")
        return Client(self.https_port, certificate, name)

    def get(self, host: str, path: str = "/whoami", **options) -> Answer:
        """One request on a connection of its own, in plain text."""
        client = self.client()
        try:
            return client.request(host, path, **options)
        finally:
            client.close()
