"""What an install or uninstall is going to do, before it does it."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field

from trailboss.install.files import Snapshot, check_writable, write
from trailboss.text import clean_lines


@dataclass(frozen=True, slots=True)
class Change:
    """One file's new bytes; None removes it."""

    snapshot: Snapshot
    after: bytes | None
    backup: bool = True


@dataclass(slots=True)
class Plan:
    """One target's part. `finish` runs after the files are written; its lines are for the person.

    With no changes and no `pending` there is nothing to ask, and `finish` runs at once.
    """

    name: str
    changes: list[Change] = field(default_factory=list)
    #: What is going to happen besides the files, for the person to agree to.
    pending: list[str] = field(default_factory=list)
    #: Said before asking: what the person should know.
    notes: list[str] = field(default_factory=list)
    #: Said when all is as wanted.
    done: str = ""
    finish: Callable[[], list[str]] = list

    def change(self, snapshot: Snapshot, after: bytes | None, backup: bool = True) -> None:
        """Add a change if it is one. Raises Refused where the file cannot be written."""
        if snapshot.data != after:
            check_writable(snapshot)
            self.changes.append(Change(snapshot, after, backup))

    def apply(self) -> list[str]:
        """Do it; lines for the person. Raises Refused with the failing file untouched."""
        lines = []
        for each in self.changes:
            made = write(each.snapshot, each.after, each.backup)
            if made is not None:
                lines.append(f"the old file is kept as {made}")
        return [self.done, *lines, *self.finish()]


def diff(change: Change) -> list[str]:
    """A unified diff as printable lines."""
    path = str(change.snapshot.path)
    before = _lines(change.snapshot.data)
    after = _lines(change.after)
    old = path if change.snapshot.data is not None else "/dev/null"
    new = path if change.after is not None else "/dev/null"
    return list(difflib.unified_diff(before, after, old, new, lineterm=""))


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    lines = clean_lines(text, limit=max(1, len(text)))
    return lines[:-1] if lines and lines[-1] == "" else lines
