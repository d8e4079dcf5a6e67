"""Telling the outside that the queue has changed: PUB, and the options of every tmux server.

Held back a little (contract, rule 9): many a permission is granted, and many a stop is followed
by the next prompt, within milliseconds, and neither should flicker. `queue.list` tells at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import orjson

from trailboss.broker.fleet import Fleet, on_server
from trailboss.core.board import Board, Session
from trailboss.core.queue import next_change
from trailboss.text import clean
from trailboss.tmux.options import Stop, View, status_text

log = logging.getLogger(__name__)

#: ms that a new item is held back, by reason.
HOLD = {"permission": 300, "stopped": 80}


class Announcer:
    """Announces what is visible. `publish` sends the PUB message; `next_rev` counts."""

    def __init__(
        self,
        board: Board,
        fleet: Fleet,
        now: Callable[[], int],
        publish: Callable[[bytes], None],
        next_rev: Callable[[], int],
    ) -> None:
        self._board = board
        self._fleet = fleet
        self._now = now
        self._publish = publish
        self._next_rev = next_rev
        self._shown: set[tuple[str, int]] = set()
        self._signature: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._options_wanted = asyncio.Event()

    def visible(self, now: int) -> list[Session]:
        """The queue as it is announced: what is still held back is not in it."""
        queue = self._board.queue(now)
        out = []
        for session in queue:
            assert session.entry is not None
            wait = session.session_id, session.entry.since
            if wait in self._shown or self._due(session) <= now:
                self._shown.add(wait)
                out.append(session)
        self._shown &= {(s.session_id, s.entry.since) for s in queue if s.entry}
        return out

    def _due(self, session: Session) -> int:
        assert session.entry is not None
        # A moment later than now is of before the clock was set back.
        return min(session.entry.queued_at, self._now()) + HOLD.get(session.verdict.reason or "", 0)

    def notify(self) -> None:
        """Something may have changed: announce it, now or when its time has come."""
        now = self._now()
        visible = self.visible(now)
        signature = [
            (s.session_id, s.pane, s.entry, s.verdict.reason, s.verdict.text, s.note,
             s.entry.standing(now) if s.entry else "")
            for s in visible
        ]  # fmt: skip
        if signature != self._signature:
            self._signature = signature
            self._announce(visible, now)
        self._set_timer(now)

    def _announce(self, visible: list[Session], now: int) -> None:
        ready = [s for s in visible if s.entry and s.entry.standing(now) == "ready"]
        head = ready[0] if ready else None
        message = {
            "v": 1,
            "rev": self._next_rev(),
            "depth": len(visible),
            "ready": len(ready),
            "head": head.pane.pane_id if head and head.pane else None,
            "head_session": head.session_id if head else None,
        }
        self._publish(orjson.dumps(message))
        self.refresh_options()

    def refresh_options(self) -> None:
        """Have the options written again (a server or a pane may have come or gone)."""
        self._options_wanted.set()

    def _set_timer(self, now: int) -> None:
        """Wake up when the next held-back item is due or a cooling one becomes ready."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        queued = self._board.queue(now)
        times = [t for t in map(self._due, queued) if t > now]
        ready_at = next_change((s.entry for s in queued if s.entry), now)
        if ready_at is not None:
            times.append(ready_at)
        if times:
            delay = (min(times) - now) / 1000 + 0.002
            self._timer = asyncio.get_running_loop().call_later(delay, self.notify)

    async def keep_options(self) -> None:
        """For ever: write the options of each server after a change."""
        while True:
            await self._options_wanted.wait()
            self._options_wanted.clear()
            try:
                await self._fleet.publish(self.views())
            except Exception:
                log.exception("options could not be written")

    def views(self) -> dict[str, View]:
        """What each known server is to show."""
        now = self._now()
        visible = self.visible(now)
        ready = [s for s in visible if s.entry and s.entry.standing(now) == "ready"]
        out = {}
        for socket, seen in self._fleet.snapshots.items():
            here = [s for s in visible if on_server(s, socket, seen)]
            head = ready[0] if ready else None
            out[socket] = View(
                status=status_text(len(ready)),
                depth=len(visible),
                ready=len(ready),
                elsewhere="" if head is None or head in here else _elsewhere(head, self._fleet),
                ring=tuple(_stop(s, now) for s in here),
            )
        return out


def _stop(session: Session, now: int) -> Stop:
    assert session.entry is not None
    assert session.pane is not None
    return Stop(
        pane_id=session.pane.pane_id,
        state=session.verdict.reason or "stopped",
        since_ms=session.entry.since,
        landing=clean(session.verdict.text, 300),
        ready=session.entry.standing(now) == "ready",
    )


def _elsewhere(head: Session, fleet: Fleet) -> str:
    """Where the head is when a client of this server cannot be moved to it."""
    name = clean(head.title or head.cwd or head.session_id, 60)
    if head.pane is None:
        return f"{name}: {head.attach}" if head.attach else f"{name} (no pane)"
    target = fleet.target(head.pane)
    return f"{name} on tmux server {head.pane.socket}{f' at {target}' if target else ''}"
