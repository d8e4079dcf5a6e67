"""Events on their way in: read, counted, told apart from their repetitions, applied."""

from __future__ import annotations

import hashlib
import logging
import os
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import orjson

from trailboss.broker.headless import is_headless
from trailboss.core.board import Board
from trailboss.emit import journal
from trailboss.events import BadEvent, Event

log = logging.getLogger(__name__)

#: ms within which a byte-identical event of the same session is the same one, told twice: the same
#: hook can be configured in two places (case B07).
TWIN = 100
#: Ids kept in memory against repetition.
IDS_KEPT = 100_000


class Intake:
    """Applies events to the board and remembers which ones must be committed.

    `uncommitted` holds (id, time) and `journalled` the names of journal entries whose last event
    was applied: they may be removed once the batch is on disk.
    """

    def __init__(self, board: Board, known_ids: Iterable[str] = ()) -> None:
        self.board = board
        self.received = 0
        self.rejected = 0
        self.replayed = 0
        self.uncommitted: list[tuple[str, int]] = []
        self.journalled: set[str] = set()
        self._ids: OrderedDict[str, None] = OrderedDict.fromkeys(known_ids)
        self._headless: OrderedDict[str, None] = OrderedDict()
        self._last: dict[str, tuple[bytes, int]] = {}

    def frames(self, frames: list[bytes], now: int) -> bool:
        """Take one message as it came from the socket; whether it was an event."""
        self.received += 1
        try:
            if len(frames) != 1:
                raise BadEvent(f"{len(frames)} frames in one message")
            event = Event.from_wire(frames[0])
        except BadEvent as error:
            self.reject(str(error))
            return False
        self.event(event, now)
        return True

    def reject(self, reason: str) -> None:
        self.rejected += 1
        log.warning("event set aside: %s", reason)

    def event(self, event: Event, now: int) -> bool:
        """Apply one event unless it is a repetition; whether it was applied."""
        if event.journal is not None:
            self.journalled.add(event.journal)
        if event.id in self._ids:
            return False
        if event.tmux_socket is not None:
            # One server has one name, through whatever links it was reached.
            event = replace(event, tmux_socket=os.path.realpath(event.tmux_socket))
        self._ids[event.id] = None
        while len(self._ids) > IDS_KEPT:
            self._ids.popitem(last=False)
        self.uncommitted.append((event.id, now))
        if self._is_twin(event) or self._is_headless(event):
            return False
        self.board.apply(event, now)
        return True

    def _is_headless(self, event: Event) -> bool:
        """Whether it is of a run that asks nobody; decided once, by its first event."""
        if event.session_id in self.board.sessions:
            return False
        if event.session_id not in self._headless and is_headless(event):
            self._headless[event.session_id] = None
            while len(self._headless) > IDS_KEPT:
                self._headless.popitem(last=False)
        return event.session_id in self._headless

    def _is_twin(self, event: Event) -> bool:
        """Whether the session's event before this one was the very same."""
        body = event.to_dict()
        for name in ("id", "timestamp", "journal"):
            body.pop(name, None)
        digest = hashlib.blake2b(
            orjson.dumps(body, option=orjson.OPT_SORT_KEYS), digest_size=16
        ).digest()
        known = self._last.get(event.session_id)
        self._last[event.session_id] = (digest, event.timestamp)
        return known is not None and known[0] == digest and abs(known[1] - event.timestamp) <= TWIN

    # --- the journal ------------------------------------------------------------

    def entry(self, entry: journal.Entry, events: list[Event], now: int) -> None:
        """Apply what a journal entry means; its removal waits for the commit."""
        fresh = [self.event(event, now) for event in events]
        self.journalled.add(entry.name)
        if any(fresh):
            self.replayed += 1

    def take_uncommitted(self) -> tuple[list[tuple[str, int]], set[str]]:
        """What the next commit holds; given back with `put_back` if it fails."""
        batch = self.uncommitted, self.journalled
        self.uncommitted, self.journalled = [], set()
        return batch

    def put_back(self, events: list[tuple[str, int]], names: set[str]) -> None:
        self.uncommitted = events + self.uncommitted
        self.journalled |= names


def read_journal(
    directory: Path, older_than_ms: int, now: int
) -> tuple[list[tuple[journal.Entry, list[Event]]], list[tuple[str, str]]]:
    """The readable entries with their events, in order of their start, and (name, reason) of the
    bad ones. For a thread: it reads files. Entries younger than that are left to the worker."""
    good: list[tuple[journal.Entry, list[Event]]] = []
    bad: list[tuple[str, str]] = []
    for entry in journal.entries(directory):
        if entry.started_ms > now - older_than_ms:
            continue
        try:
            good.append((entry, journal.events_of(entry)))
        except journal.Incomplete:
            continue
        except journal.BadEntry as error:
            bad.append((entry.name, str(error)))
        except Exception as error:  # an adapter's fault must not stop the others
            log.exception("journal entry %s", entry.name)
            bad.append((entry.name, f"adapter failed: {type(error).__name__}"))
    good.sort(key=lambda item: (item[0].started_ms, item[0].name))
    return good, bad
