"""Marks: one file `<state>/marks/<session id>.<name>` for each request that nobody has settled.

While a session has a mark, the hooks that fire on every tool call are journalled; without one
their front leaves at once. A request's own mark bears the name of its journal entry and is made by
the front; the broker removes a settled one by its name, so that it never removes a newer one.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

from trailboss import paths

#: The session ids that the front looks marks up for; others have none and are always journalled.
_SESSION = re.compile(r"[A-Za-z0-9-]{1,100}\Z")
_NAME = re.compile(r"[A-Za-z0-9.-]{1,100}\Z")


#: The name of the broker's own mark, which stands while a session is queued.
BROKER = "broker"


def of_session(state: Path, session_id: str) -> set[str]:
    """The names of that session's marks."""
    if not _SESSION.match(session_id):
        return set()
    prefix = f"{session_id}."
    try:
        with os.scandir(paths.marks_dir(state)) as files:
            return {file.name[len(prefix) :] for file in files if file.name.startswith(prefix)}
    except OSError:
        return set()


def older_than(state: Path, session_id: str, seconds: float) -> set[str]:
    """The names of those of that session's marks that were made longer ago than that."""
    end = time.time() - seconds
    out = set()
    for name in of_session(state, session_id):
        try:
            if (paths.marks_dir(state) / f"{session_id}.{name}").stat().st_mtime < end:
                out.add(name)
        except OSError:
            continue
    return out


def put(state: Path, session_id: str, name: str = BROKER) -> None:
    """Make a mark, so that this session's tool hooks are journalled from now on.

    Where it cannot be made, or the id or name is not one a file may bear, nothing happens: a
    mark is a hint, and what its absence hides the transcript shows.
    """
    if not _SESSION.match(session_id) or not _NAME.match(name):
        return
    directory = paths.marks_dir(state)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(directory / f"{session_id}.{name}", os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError:
        pass


def remove(state: Path, session_id: str, names: Iterable[str]) -> None:
    """Remove these marks of the session; one that is not there is fine."""
    if not _SESSION.match(session_id):
        return
    for name in names:
        if _NAME.match(name):
            try:
                (paths.marks_dir(state) / f"{session_id}.{name}").unlink()
            except OSError:
                continue
