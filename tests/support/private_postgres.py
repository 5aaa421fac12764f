"""A PostgreSQL server of a test's own: data, port and password are made for it and end with it.

As a program: private_postgres.py COMMAND... runs COMMAND with HEDGE_TEST_POSTGRES_URL set to the server's
superuser URL, and exits as COMMAND does; 77 where PostgreSQL is not installed.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import bounded_wait  # noqa: E402
from support.child_process import ChildProcess  # noqa: E402
from support.private_world import exit_status, skip  # noqa: E402

ADMIN = "hedge_admin"


def _programs() -> Path:
    """Debian keeps the server's programs off PATH, one directory a version."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if versions:
        return versions[-1].parent
    found = shutil.which("initdb")
    if found is None:
        skip("PostgreSQL is not installed (scripts/setup test)")
    return Path(found).resolve().parent


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class PrivatePostgres:
    """Listens on 127.0.0.1 and on the further `addresses`, which must exist when it starts."""

    def __init__(self, addresses: tuple[str, ...] = ()):
        self._addresses = ("127.0.0.1", *addresses)
        self._programs = _programs()
        self._password = secrets.token_hex(16)
        self.port = _free_port()

    def url(self, database: str = "postgres", host: str = "127.0.0.1") -> str:
        return f"postgresql://{ADMIN}:{self._password}@{host}:{self.port}/{database}"

    def query(self, sql: str, database: str = "postgres") -> str:
        """Rows as text, columns by `|`, as `psql -At` gives them."""
        return subprocess.run(
            [self._programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.url(database), "-c", sql],
            check=True, capture_output=True, text=True, timeout=60,
        ).stdout.strip()

    def _owner(self) -> dict[str, str | int]:
        """The server refuses to run as root: the packaged user, or else nobody."""
        if os.geteuid() != 0:
            return {}
        known = {entry.pw_name: entry for entry in pwd.getpwall()}
        entry = known.get("postgres") or known["nobody"]
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [entry.pw_gid]}

    def __enter__(self) -> "PrivatePostgres":
        self._directory = Path(tempfile.mkdtemp(prefix="hedge-pg-"))
        owner = self._owner()
        data, secret = self._directory / "data", self._directory / "password"
        secret.touch(mode=0o600)
        secret.write_text(self._password, encoding="utf-8")
        if owner:
            for path in (self._directory, secret):
                os.chown(path, owner["user"], owner["group"])
        subprocess.run(
            [self._programs / "initdb", "--no-sync", "-A", "scram-sha-256", "-U", ADMIN, "-E", "UTF8",
             "--locale=C.UTF-8", f"--pwfile={secret}", "-D", data],
            check=True, capture_output=True, timeout=120, cwd=self._directory, **owner,
        )
        with open(data / "pg_hba.conf", "a", encoding="utf-8") as rules:
            rules.write("host all all samenet scram-sha-256\n")
        self._server = ChildProcess(
            [self._programs / "postgres", "-D", data, "-p", str(self.port), "-k", self._directory,
             "-c", f"listen_addresses={','.join(self._addresses)}", "-c", "fsync=off", "-c", "max_connections=60",
             "-c", "shared_buffers=32MB"],
            self._directory / "log", cwd=self._directory, **owner,
        )
        try:
            bounded_wait.until(self._answers, 30, "PostgreSQL answers")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _answers(self) -> bool:
        self._server.require_running()
        return subprocess.run(
            [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], timeout=10, check=False
        ).returncode == 0

    def __exit__(self, *_) -> None:
        self._server.stop(signal.SIGINT)  # a fast shutdown: sessions are ended, not waited for
        shutil.rmtree(self._directory, ignore_errors=True)


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    with PrivatePostgres() as server:
        return subprocess.run(
            sys.argv[1:], env={**os.environ, "HEDGE_TEST_POSTGRES_URL": server.url()}, check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(exit_status(main))
