"""A temporary home for the built program, in a private world where even the system's trust store may be changed."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.hedge_program import HedgeProgram

SYSTEM_STORE = (Path("/usr/local/share/ca-certificates"), Path("/etc/ssl/certs"))
NOBODY = 65534


def prepare() -> None:
    """Nothing comes from the network."""


class ProgramWorld(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="hedge-program-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.hedge = HedgeProgram(self.directory)
        self.addCleanup(self._stop_edges)

    def _stop_edges(self) -> None:
        self.hedge.stop_edge()
        self.hedge.run("edge", "stop", expect=None)

    def json(self, *arguments, expect: int | None = 0) -> dict:
        return json.loads(self.hedge.run(*arguments, "--json", expect=expect).stdout)

    def refused(self, identifier: str, *arguments, expect: int) -> subprocess.CompletedProcess:
        """The command fails with this id, in text and as an object, and prints nothing else as its result."""
        done = self.hedge.run(*arguments, expect=expect)
        self.assertEqual(done.stdout, "")
        self.assertIn(f"[{identifier}]", done.stderr)
        told = self.json(*arguments, expect=expect)
        self.assertIn(identifier, json.dumps(told))
        return done

    def private_system_store(self) -> None:
        """Copies of the system's store in its own places; they go with the mount namespace."""
        # Apart from the home, which as_nobody() gives away.
        copies = Path(tempfile.mkdtemp(prefix="hedge-store-"))
        self.addCleanup(shutil.rmtree, copies, ignore_errors=True)
        copies.chmod(0o755)
        for place in SYSTEM_STORE:
            copy = copies / place.name
            shutil.copytree(place, copy, symlinks=True)
            subprocess.run(["mount", "--bind", copy, place], check=True)
            self.addCleanup(subprocess.run, ["umount", place], check=True)

    def as_nobody(self) -> dict:
        """Arguments for subprocess: a user without any right, who owns the temporary home."""
        for path in [self.directory, *self.directory.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        return {"user": NOBODY, "group": NOBODY, "extra_groups": []}

    def openssl(self, *arguments, text: str = "", expect: int | None = 0) -> subprocess.CompletedProcess:
        done = subprocess.run(["openssl", *map(str, arguments)], input=text, capture_output=True, text=True, timeout=30, check=False)
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stderr)
        return done
