"""Reading the ends of growing files: transcripts of any size, each byte once.

A tail keeps its offset; a file that was truncated, replaced, rotated or recreated is begun anew
from its end. Size and inode do not always tell (inodes are used again), so the bytes before the
offset must be there still. Lines split at \\n alone, and a half-written last line waits for its
rest (case B61).
"""

from __future__ import annotations

import os
from pathlib import Path

#: Bytes before the end where a file that is opened for the first time is begun.
FIRST = 256 * 1024
#: Bytes read from one file in one pass; more waits for the next pass.
PASS = 2 * 1024 * 1024
#: Bytes before the offset that must be the same.
MARK = 64
#: A line longer than this is skipped without being kept in memory.
LINE = 8 * 1024 * 1024


class Tail:
    """One file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity: tuple[int, int] | None = None
        self._offset = 0
        self._mark = b""
        self._rest = b""
        self._skipping = False
        self.size = 0

    def read(self) -> tuple[list[bytes], bool]:
        """The whole lines that are new, without their ends; and whether more is there already.

        An absent or unreadable file has none.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            self._identity = None
            return [], False
        try:
            facts = os.fstat(fd)
            identity = facts.st_dev, facts.st_ino
            self.size = facts.st_size
            if identity != self._identity or not self._goes_on(fd):
                self._begin(identity, facts.st_size)
            data = os.pread(fd, PASS, self._offset)
        except OSError:
            return [], False
        finally:
            os.close(fd)
        self._offset += len(data)
        self._mark = (self._mark + data[-MARK:])[-MARK:]
        return self._lines(data), self._offset < facts.st_size

    def _goes_on(self, fd: int) -> bool:
        """Whether it is still the file that was read up to the offset."""
        return os.pread(fd, len(self._mark), self._offset - len(self._mark)) == self._mark

    def _begin(self, identity: tuple[int, int], size: int) -> None:
        self._identity = identity
        self._offset = max(0, size - FIRST)
        self._mark = b""
        self._rest = b""
        # Begun in the middle: what comes before the first newline is the end of some line.
        self._skipping = self._offset > 0

    def _lines(self, data: bytes) -> list[bytes]:
        *whole, rest = (self._rest + data).split(b"\n")
        if self._skipping and whole:
            whole, self._skipping = whole[1:], False
        if len(rest) > LINE:
            rest, self._skipping = b"", True
        self._rest = b"" if self._skipping else rest
        return [line.removesuffix(b"\r") for line in whole]
