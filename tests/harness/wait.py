"""Waiting for a condition, with a deadline: the only way a test waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Seconds until a condition that should come true at once is given up, on a machine shared by many.
DEADLINE = 20.0


def until(
    condition: Callable[[], T], seconds: float = DEADLINE, what: str = "", interval: float = 0.02
) -> T:
    """The first true value of `condition`. Raises AssertionError with its last value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what or condition} (last: {value!r})")
        time.sleep(interval)


def holds(condition: Callable[[], object], seconds: float, what: str = "") -> None:
    """The condition stays true for that long: for what must NOT happen."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert condition(), f"ceased to hold: {what or condition}"
        time.sleep(0.02)
