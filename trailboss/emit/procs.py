"""What the emitter asks about processes, without psutil: /proc on Linux, `ps` elsewhere."""

from __future__ import annotations

import functools
import os
import subprocess
import time
from pathlib import Path

HAS_PROC = os.path.exists("/proc/self/stat")
#: ms that two readings of the time of boot may differ and still be of the same boot: clocks drift
#: and are set, and an entry of a boot before is at least that much older.
BOOT_TOLERANCE_MS = 10_000


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot (proc(5)); None if gone or unknown."""
    stat = _stat(pid)
    return int(stat[19]) if stat else None


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on, None for a process that is gone or dead."""
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = raw.rpartition(b")")[2].decode("ascii", "replace").split()
    return fields if len(fields) > 20 and fields[0] not in ("Z", "X") else None


@functools.cache
def _ticks_per_second() -> int:
    return os.sysconf("SC_CLK_TCK")


def ticks(centiseconds: int) -> int:
    """Hundredths of a second since boot as clock ticks, rounded up by one."""
    return centiseconds * _ticks_per_second() // 100 + 1


def is_this_boot(at_ms: int, uptime: str) -> bool:
    """Was the machine up for `uptime` (as /proc/uptime has it) at that time in this very boot?"""
    try:
        booted = at_ms - float(uptime) * 1000
        with open("/proc/uptime", encoding="ascii") as file:
            up = float(file.read().split()[0])
    except (OSError, ValueError):
        return False
    return abs(time.time() * 1000 - up * 1000 - booted) < BOOT_TOLERANCE_MS


def alive_since(pid: int, centiseconds: int) -> bool:
    """Does a process of that pid live that had started by that time since boot?"""
    if HAS_PROC:
        start = start_ticks(pid)
        return start is not None and start <= ticks(centiseconds)
    return alive(pid)


def alive(pid: int) -> bool:
    """Does any process of that pid live?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def waits(pid: int) -> bool:
    """Does that process sleep until something comes, neither stopped nor in need of a processor?"""
    if HAS_PROC:
        stat = _stat(pid)
        return stat is not None and stat[0] == "S"
    return any(row.strip().startswith("S") for row in _ps("-p", str(pid), "-o", "stat="))


def is_front(pid: int) -> bool:
    """Does that process run `trailboss-emit`?"""
    if HAS_PROC:
        try:
            return b"trailboss-emit" in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
    return any("trailboss-emit" in row for row in _ps("-p", str(pid), "-o", "args="))


def cats_of(pid: int) -> list[int]:
    """The children of that process that are a `cat`."""
    if HAS_PROC:
        return [child for child in _children(pid) if _comm(child) == "cat"]
    rows = [line.split(None, 2) for line in _ps("-axo", "pid=,ppid=,comm=")]
    return [
        int(row[0])
        for row in rows
        if len(row) == 3 and row[1] == str(pid) and row[2].rpartition("/")[2].strip() == "cat"
    ]


def _ps(*args: str) -> list[str]:
    try:
        return subprocess.run(
            ["ps", *args], capture_output=True, text=True, timeout=2
        ).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return []


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except FileNotFoundError:
        # A kernel without CONFIG_PROC_CHILDREN, or the process is gone.
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and (stat := _stat(int(name))) and stat[1] == str(pid):
                found.append(int(name))
        return found
    except OSError:
        return []


def _comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""
