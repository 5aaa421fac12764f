"""Namespaces of a test's own: its network, its processes and its mounts end with it, whatever ends it."""

import os
import shutil
import signal
import subprocess
import sys
import unittest
from typing import Callable, NoReturn

SKIPPED = 77  # what ctest is told to count as skipped (SKIP_RETURN_CODE)
_INSIDE = "HEDGE_TEST_PRIVATE_WORLD"


def skip(reason: str) -> NoReturn:
    """Ends the test as skipped; the reason is what a person reads in the log."""
    raise unittest.SkipTest(reason)


def exit_status(run: Callable[[], int]) -> int:
    """What a test program ends with: the result of `run`, or 77 and the printed reason where it skips."""
    try:
        return run()
    except unittest.SkipTest as reason:
        print(f"skipped: {reason}", flush=True)
        return SKIPPED


def require_programs(*names: str) -> None:
    absent = [name for name in names if shutil.which(name) is None]
    if absent:
        skip(f"not installed: {', '.join(absent)} (scripts/setup test)")


def inside() -> bool:
    return _INSIDE in os.environ


def enter() -> None:
    """Starts this program again as process 1 of new network, process and mount namespaces; returns inside.

    When that process ends, also by SIGKILL, the kernel ends everything it started and takes down its bridges,
    packet filter rules and mounts. Loopback is up and every port is free; nothing else can be reached.
    """
    if inside():
        # Process 1 ignores every signal that it has no handler for.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    if os.geteuid() != 0:
        skip("needs root, for namespaces of its own")
    require_programs("unshare", "ip")
    command = ["unshare", "--net", "--pid", "--mount", "--mount-proc", "--fork", "--kill-child"]
    os.execvpe(command[0], [*command, sys.executable, *sys.argv], {**os.environ, _INSIDE: "1"})
