"""Processes: alive or not, whose child, which start. One read of /proc a process, no fork.

Where there is no /proc (macOS), psutil answers the same questions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple


class Process(NamedTuple):
    """`start` is in clock ticks since boot (Linux) or Unix ms (elsewhere)."""

    pid: int
    ppid: int
    start: int
    comm: str
    state: str = "R"

    @property
    def stopped(self) -> bool:
        """Whether it was stopped (Ctrl-Z)."""
        return self.state == "T"


_HAS_PROC = os.path.exists("/proc/self/stat")


def look(pid: int) -> Process | None:
    """The process, or None when it is gone or a zombie."""
    if not _HAS_PROC:
        return _by_psutil(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            head, _, tail = file.read().rpartition(b")")
        fields = tail.split()
        state = fields[0].decode()
        if state in "ZX":
            return None
        comm = head.partition(b"(")[2].decode("utf-8", "replace")
        return Process(pid, int(fields[1]), int(fields[19]), comm, state)
    except (OSError, ValueError, IndexError):
        return None


def alive(pid: int, start: int | None) -> bool:
    """Whether that very process lives (a start of None or 0 is not compared)."""
    found = look(pid)
    return found is not None and (not start or found.start == start)


def ancestors(pid: int, limit: int = 24) -> list[int]:
    """The pids above that process, nearest first, itself first of all."""
    chain: list[int] = []
    while pid > 1 and len(chain) < limit and pid not in chain:
        chain.append(pid)
        found = look(pid)
        if found is None:
            break
        pid = found.ppid
    return chain


def command_line(pid: int) -> list[str]:
    """The arguments it was started with; empty when they cannot be read."""
    if not _HAS_PROC:
        import psutil

        try:
            return list(psutil.Process(pid).cmdline())
        except psutil.Error:
            return []
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [part.decode("utf-8", "replace") for part in file.read().split(b"\0")[:-1]]
    except OSError:
        return []


def working_directory(pid: int) -> str | None:
    if not _HAS_PROC:
        import psutil

        try:
            return str(psutil.Process(pid).cwd())
        except psutil.Error:
            return None
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None


def environment(pid: int) -> dict[str, str]:
    """The environment it was started with; empty when it cannot be read."""
    if not _HAS_PROC:
        import psutil

        try:
            return dict(psutil.Process(pid).environ())
        except psutil.Error:
            return {}
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            raw = file.read()
    except OSError:
        return {}
    pairs = (part.decode("utf-8", "replace").partition("=") for part in raw.split(b"\0"))
    return {name: value for name, _, value in pairs if name}


def named(names: Iterable[str]) -> list[Process]:
    """The user's live processes of these names, in one pass."""
    wanted = frozenset(names)
    if not _HAS_PROC:
        import psutil

        pids = psutil.pids()
    else:
        pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    uid = os.getuid()
    found = []
    for pid in pids:
        process = look(pid)
        if process is None or process.comm not in wanted:
            continue
        try:
            if _HAS_PROC and os.stat(f"/proc/{pid}").st_uid != uid:
                continue
        except OSError:
            continue
        found.append(process)
    return found


def _by_psutil(pid: int) -> Process | None:
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            state = "T" if process.status() == psutil.STATUS_STOPPED else "R"
            return Process(
                pid, process.ppid(), int(process.create_time() * 1000), process.name(), state
            )
    except psutil.Error:
        return None
