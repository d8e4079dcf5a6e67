"""Which files this process opens, and how much it reads."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest


class Opened:
    """The paths that this process opens within a `with`."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._on = False
        # A hook of this kind cannot be removed again: off, it does nothing.
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if self._on and event == "open" and isinstance(args[0], str | bytes | os.PathLike):
            self.paths.append(os.fsdecode(args[0]))

    def __enter__(self) -> Opened:
        self._on = True
        return self

    def __exit__(self, *_: object) -> None:
        self._on = False


def bytes_read() -> int:
    """What this process has read so far, of everything."""
    if not os.path.exists("/proc/self/io"):
        pytest.skip("the system counts no reads")
    return int(Path("/proc/self/io").read_text().split()[1])
