"""Fronts whose standard input is never closed: a hook must not wait for that (case B57)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from trailboss.emit import procs
from trailboss.emit.journal import GIVE_UP_MS, Entry, now_ms, writer_alive

#: ms after its start that a front may still be reading.
PATIENCE_MS = 600
#: Bytes of the list at which it is begun anew.
_LIST_MAX = 64 * 1024


class Fronts:
    """Ends the `cat` of every front that reads for longer than PATIENCE_MS, and nobody else's.

    Fronts are known by their journal entry, or, where they only drain, by the list
    `<state>/emit.drains`, to which each appends its pid. That pid may be another's by now, and
    an entry's too after a restart of the machine.
    """

    def __init__(self, state: Path) -> None:
        self._list = state / "emit.drains"
        self._read_to = 0
        self._entries: dict[str, Entry] = {}
        self._pids: dict[int, float] = {}

    def watch(self, entry: Entry) -> None:
        """Mind the front of this entry, if it is there."""
        if now_ms() - entry.started_ms < GIVE_UP_MS and writer_alive(entry):
            self._entries[entry.name] = entry

    def __len__(self) -> int:
        return len(self._entries) + len(self._pids)

    def look(self) -> bool:
        """End what is overdue, forget what is gone; whether any front has come since."""
        new = self._read_list()
        for name, entry in list(self._entries.items()):
            if not writer_alive(entry) or now_ms() - entry.started_ms > GIVE_UP_MS:
                del self._entries[name]
            elif now_ms() - entry.started_ms > PATIENCE_MS:
                _end_cats(entry.pid)
        now = time.monotonic()
        for pid, since in list(self._pids.items()):
            if not procs.is_front(pid):
                del self._pids[pid]
            elif (now - since) * 1000 > PATIENCE_MS:
                _end_cats(pid)
                del self._pids[pid]
        return new

    def _read_list(self) -> bool:
        try:
            size = self._list.stat().st_size
            if size == self._read_to:
                return False
            with open(self._list, "r+b") as file:
                file.seek(self._read_to if size > self._read_to else 0)
                lines = file.read().split()
                self._read_to = file.tell()
                if self._read_to > _LIST_MAX:
                    file.truncate(0)
                    self._read_to = 0
        except OSError:
            return False
        now = time.monotonic()
        for line in lines:
            if line.isdigit() and procs.is_front(int(line)):
                self._pids[int(line)] = now
        return bool(lines)


def _end_cats(pid: int) -> None:
    for cat in procs.cats_of(pid):
        if not procs.waits(cat):
            continue  # held up by the machine, not by its input, which may be there
        try:
            os.kill(cat, signal.SIGTERM)
        except OSError:
            continue
