"""scripts/demo with the built program: it says what it does, and leaves nothing behind whatever ends it."""

import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import bounded_wait, sample_image

DEMO = sample_image.REPOSITORY / "scripts/demo"


def prepare() -> None:
    """Nothing is fetched."""


class Demo(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hedge-live-")))
        self.output = self.directory / "output"

    def _start(self, temporary: str = "", **options) -> subprocess.Popen:
        environment = {name: os.environ[name] for name in ("PATH", "HEDGE_BINARY")}
        with open(self.output, "wb") as output:
            return subprocess.Popen(
                [DEMO], env={**environment, "HOME": str(self.directory), "TMPDIR": temporary or str(self.directory)}, cwd=self.directory,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, **options)

    def _said(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def _processes(self) -> set[str]:
        """Command lines of every process of this private world but the test's own."""
        commands = set()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            except OSError:
                continue
            if command and int(entry.name) != os.getpid():
                commands.add(f"{entry.name} {command}")
        return commands

    def _expect_nothing_left(self):
        self.assertEqual([path.name for path in self.directory.iterdir()], ["output"])
        bounded_wait.until(lambda: not self._processes(), 10, f"every process ended: {self._processes()}")

    def test_it_exits_0_ends_with_its_summary_and_leaves_nothing(self):
        process = self._start()
        process.wait(240)
        self.assertEqual(process.returncode, 0, self._said())
        self.assertIn("Your turn:", self._said()[-300:])
        self.assertNotIn("\x1b", self._said(), "colours without a terminal")
        self._expect_nothing_left()

    def _interrupt(self, number: int, status: int):
        process = self._start()
        bounded_wait.until(lambda: "What one writes" in self._said() or process.poll() is not None, 120, "the demo is busy")
        os.killpg(process.pid, number)
        self.assertEqual(process.wait(60), status, self._said())
        self._expect_nothing_left()

    def test_whatever_the_temporary_directory_is_called_nothing_is_left(self):
        process = self._start(f"{self.directory}/")
        process.wait(240)
        self.assertEqual(process.returncode, 0, self._said())
        self._expect_nothing_left()

    def test_an_interrupt_leaves_nothing(self):
        self._interrupt(signal.SIGINT, 130)

    def test_a_request_to_end_leaves_nothing(self):
        self._interrupt(signal.SIGTERM, 143)

    def test_a_program_that_does_not_do_what_is_said_makes_it_fail(self):
        stub = self.directory / "hedge"
        stub.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        stub.chmod(0o755)
        os.environ["HEDGE_BINARY"] = str(stub)
        process = self._start()
        self.assertEqual(process.wait(60), 1, self._said())
        self.assertIn("✗ the edge ended as soon as it was started", self._said())
        stub.unlink()
        self._expect_nothing_left()


if __name__ == "__main__":
    unittest.main()
