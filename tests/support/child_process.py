"""A service that a test starts: its output in a file, ended by the process id that was started."""

import signal
import subprocess
from pathlib import Path


class ChildProcess:
    def __init__(self, command: list, log: Path, **options):
        self._log = log
        with open(log, "ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, **options
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def require_running(self) -> None:
        status = self._process.poll()
        if status is not None:
            raise RuntimeError(f"{self._process.args[0]} ended with {status}:\n{self.log()[-3000:]}")

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM, seconds: float = 15) -> int:
        """Asks it to end and waits; a process that does not is killed. Returns its exit status."""
        if self._process.poll() is None:
            self._process.send_signal(number)
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        return self._process.returncode
