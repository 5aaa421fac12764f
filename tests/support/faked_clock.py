"""A process whose wall clock stands elsewhere and can jump while it runs; its monotonic clock is the real one."""

from glob import glob
from pathlib import Path

from support.private_world import skip

LIBRARY = "/usr/lib/*/faketime/libfaketimeMT.so.1"


def require() -> None:
    if not glob(LIBRARY):
        skip("not installed: libfaketime (scripts/setup test)")


class FakedClock:
    def __init__(self, directory: Path, offset: str):
        """`offset` from the real time as libfaketime reads it: "-40d", "+2h"."""
        self._file = directory / "clock"
        self.jump(offset)
        self.environment = {
            "LD_PRELOAD": glob(LIBRARY)[0], "FAKETIME_TIMESTAMP_FILE": str(self._file), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
        }

    def jump(self, offset: str) -> None:
        self._file.write_text(f"{offset}\n", encoding="ascii")
