"""Waiting for a condition, never for a time."""

import time
from typing import Callable, TypeVar

T = TypeVar("T")
_POLL_SECONDS = 0.02


def until(condition: Callable[[], T], seconds: float, what: str) -> T:
    """The first true value of `condition`; raises TimeoutError that names `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(_POLL_SECONDS)
