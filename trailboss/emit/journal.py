"""The journal: what hooks wrote and the broker has not committed yet.

An entry is two files in `<state>/journal/`. `NAME.env` is made first of all by the hook's front
(`bin/trailboss-emit`), so its mtime is the time of the event; `NAME.json` is the hook's standard
input. NAME is `<hundredths of a second since boot>-<pid>[-<n>]`: names sort by the start.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from trailboss import adapters
from trailboss.adapters.base import Ancestor, Payload
from trailboss.emit import body, procs
from trailboss.events import BadEvent, Event

#: The variables that the front writes into `NAME.env`, in its order.
VARIABLES = (
    "TMUX",
    "TMUX_PANE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_JOB_DIR",
    "CLAUDE_PID",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "AI_AGENT",
    "HOME",
    "CODEX_HOME",
    "TRAILBOSS_RUNTIME_DIR",
    "TRAILBOSS_STATE_DIR",
    "TRAILBOSS_CONFIG",
    "TRAILBOSS_COMMANDER",
    "TRAILBOSS_TMUX_SOCKETS",
)
#: ms after which a body that cannot be read is given up, whoever may still be writing it.
GIVE_UP_MS = 60_000
#: Rejected entries that are kept for a look, and the bytes kept of each body.
REJECTED_KEPT = 100
REJECTED_BODY = 256 * 1024

_NAME = re.compile(r"[0-9]{12}-[0-9]{7,}(?:-[0-9]+)?\Z")


class Entry(NamedTuple):
    """One entry: its name, the journal it lies in, Unix ms of the front's start."""

    name: str
    directory: Path
    started_ms: int

    @property
    def env_file(self) -> Path:
        return self.directory / f"{self.name}.env"

    @property
    def body_file(self) -> Path:
        return self.directory / f"{self.name}.json"

    @property
    def centiseconds(self) -> int:
        """Hundredths of a second since boot at the front's start."""
        return int(self.name[:12])

    @property
    def pid(self) -> int:
        """The front's process."""
        return int(self.name.split("-")[1])


class Incomplete(Exception):
    """The front still writes this entry: look again in a moment."""


class BadEntry(Exception):
    """An entry that cannot be taken, ever; the text says why, for the log."""


def entries(journal: Path) -> list[Entry]:
    """Every entry by name, complete or not; empty where there is no journal."""
    found, bodies = [], []
    now = now_ms()
    try:
        with os.scandir(journal) as files:
            for file in files:
                stem, _, ending = file.name.rpartition(".")
                if not _NAME.match(stem):
                    continue
                if ending == "json":
                    bodies.append(stem)
                elif ending == "env":
                    try:
                        mtime = file.stat(follow_symlinks=False).st_mtime_ns // 1_000_000
                    except FileNotFoundError:
                        continue
                    # The clock may have been set back since (contract, section 2).
                    found.append(Entry(stem, journal, min(mtime, now)))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    _remove_orphans(journal, bodies, found)
    found.sort()
    return found


def _remove_orphans(journal: Path, bodies: list[str], found: list[Entry]) -> None:
    """Remove bodies without a header, which a removal that was cut short leaves behind.

    A scan may miss a header that is made meanwhile, so each is looked for once more.
    """
    if len(bodies) <= len(found):
        return
    known = {entry.name for entry in found}
    for name in bodies:
        if name not in known and not (journal / f"{name}.env").exists():
            (journal / f"{name}.json").unlink(missing_ok=True)


def read(entry: Entry) -> Payload:
    """What the hook was given. Raises Incomplete while it is being written, and BadEntry.

    The ancestors' start times are looked up now, for those that live and lived then.
    """
    header = _read_header(entry)
    try:
        raw = entry.body_file.read_bytes()
    except FileNotFoundError:
        raise _unreadable(entry, "no body") from None
    except OSError as error:
        raise BadEntry(f"the body cannot be read ({error.strerror})") from None
    try:
        data = body.parse(raw)
    except body.NotJson as error:
        raise _unreadable(entry, str(error)) from None
    return replace(header, data=data)


def _read_header(entry: Entry) -> Payload:
    try:
        raw = entry.env_file.read_bytes()
    except FileNotFoundError:
        raise BadEntry("it is gone") from None
    except OSError as error:
        raise BadEntry(f"the header cannot be read ({error.strerror})") from None
    fields = [part.decode("utf-8", "replace") for part in raw.split(b"\0")]
    if len(fields) != len(VARIABLES) + 7 or fields[-2:] != [".", ""]:
        raise _unreadable(entry, "the header is not whole")
    version, uptime, harness, event, ancestors = fields[:5]
    if version != "1":
        raise BadEntry(f"header version {version!r:.20}")
    return Payload(
        name=entry.name,
        harness=harness,
        timestamp=entry.started_ms,
        data={},
        event=event or None,
        env={name: value for name, value in zip(VARIABLES, fields[5:], strict=False) if value},
        ancestors=_ancestors(ancestors, entry, uptime),
    )


def env_of(entry: Entry) -> dict[str, str]:
    """The wanted variables of the hook's environment; empty for a header that is not whole."""
    try:
        return dict(_read_header(entry).env)
    except (BadEntry, Incomplete):
        return {}


def _ancestors(text: str, entry: Entry, uptime: str) -> list[Ancestor]:
    same_boot = procs.is_this_boot(entry.started_ms, uptime)
    chain = []
    for line in text.split("\n"):
        pid, _, comm = line.partition(" ")
        if not pid.isascii() or not pid.isdigit():
            continue
        start = procs.start_ticks(int(pid)) if same_boot else None
        if start is None or start > procs.ticks(entry.centiseconds):
            start = 0
        chain.append(Ancestor(int(pid), start, comm))
    return chain


def _unreadable(entry: Entry, why: str) -> Exception:
    """Incomplete while somebody may still be writing, else BadEntry."""
    if now_ms() - entry.started_ms < GIVE_UP_MS and writer_alive(entry):
        return Incomplete(why)
    return BadEntry(why)


def writer_alive(entry: Entry) -> bool:
    """Does the front that made this entry still run? (Not merely somebody with its pid.)"""
    return procs.alive_since(entry.pid, entry.centiseconds)


def events_of(entry: Entry) -> list[Event]:
    """The events this entry means, the last of them carrying its name; none for an unknown harness.

    Raises Incomplete and BadEntry; an adapter that fails makes the entry bad, with the name of
    its error alone, since the text might hold what the agent said.
    """
    payload = read(entry)
    adapter = adapters.find(payload.harness)
    if adapter is None:
        return []
    try:
        events = adapter.events(payload)
    except Exception as error:
        raise BadEntry(f"the adapter {payload.harness:.40} failed: {describe(error)}") from error
    try:
        # The same door as the socket's: what an adapter made of a payload is checked like any.
        events = [Event.from_dict(event.to_dict()) for event in events]
    except BadEvent as error:
        raise BadEntry(f"the event is not valid: {error}") from error
    if events:
        events = [*events[:-1], replace(events[-1], journal=entry.name)]
    return events


def describe(error: BaseException) -> str:
    """An error for a log without anything an agent said: our own text, or its type and place."""
    if isinstance(error, BadEntry | Incomplete):
        return str(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ""
    if trace is not None:
        place = f" in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return f"{type(error).__name__}{place}"


def remove(journal: Path, name: str) -> None:
    """Remove an entry; one that is not there is fine.

    The header goes first, since a body alone is rubbish that `entries` clears away.
    """
    for ending in ("env", "json"):
        try:
            (journal / f"{name}.{ending}").unlink()
        except OSError:
            continue


def set_aside(journal: Path, name: str, reason: str) -> None:
    """Move an entry to `<state>/rejected/`, its reason beside it; the oldest above a hundred go.

    Where that cannot be written, the entry is removed: it must not be read for ever.
    """
    rejected = journal.parent / "rejected"
    try:
        rejected.mkdir(mode=0o700, exist_ok=True)
        source = journal / f"{name}.json"
        if source.exists() and source.stat().st_size > REJECTED_BODY:
            os.truncate(source, REJECTED_BODY)
        for ending in ("json", "env"):
            try:
                os.chmod(journal / f"{name}.{ending}", 0o600)
                os.replace(journal / f"{name}.{ending}", rejected / f"{name}.{ending}")
            except FileNotFoundError:
                continue
        fd = os.open(rejected / f"{name}.reason", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "w", encoding="utf-8", errors="replace") as note:
            note.write(reason[:1000] + "\n")
        _prune(rejected)
    except OSError:
        pass
    remove(journal, name)


def _prune(rejected: Path) -> None:
    groups: dict[str, int] = {}
    for file in os.scandir(rejected):
        stem = file.name.rpartition(".")[0]
        groups[stem] = max(groups.get(stem, 0), file.stat(follow_symlinks=False).st_ctime_ns)
    for stem in sorted(groups, key=lambda name: groups[name])[:-REJECTED_KEPT]:
        for ending in ("json", "env", "reason"):
            (rejected / f"{stem}.{ending}").unlink(missing_ok=True)


def now_ms() -> int:
    """Unix ms by the clock that the file system stamps with."""
    return time.time_ns() // 1_000_000
