"""Things that tests make once and keep: made under a lock, put in place whole."""

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator


def directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = Path(base, "hedge-test")
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def _locked(name: str) -> Iterator[None]:
    with open(directory() / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def keep(name: str, make: Callable[[Path, Path], None]) -> Path:
    """The file `name` of the cache; where it is absent, `make(target, scratch)` writes it first.

    `scratch` is an empty directory that is removed afterwards. A `make` that raises leaves nothing behind.
    """
    final = directory() / name
    with _locked(name):
        if not final.exists():
            scratch = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=directory()))
            try:
                target = scratch / "result"
                work = scratch / "scratch"
                work.mkdir()
                make(target, work)
                os.replace(target, final)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return final
