"""The operations of the API: op → handler over the board (contract, section 4)."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from trailboss import __version__, wire
from trailboss.broker import present
from trailboss.broker.why import why
from trailboss.core.board import Session
from trailboss.events import clean_text, pane_id_or_none
from trailboss.wire import ApiError

if TYPE_CHECKING:
    from trailboss.broker.server import Broker

log = logging.getLogger(__name__)

Result = dict[str, Any]
Handler = Callable[["Api", dict[str, Any]], Awaitable[Result]]

#: A snooze beyond this many ms from now is somebody's mistake.
MAX_SNOOZE = 400 * 24 * 3600 * 1000
MAX_NOTE = 4096


class Api:
    """Answers requests. It reads and changes the board; the broker saves and announces."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.board = broker.board

    async def answer(self, frame: bytes) -> bytes:
        """The reply to one frame. Never raises: every request gets one."""
        try:
            op, args = wire.read_request(frame)
            handler = OPS.get(op)
            if handler is None:
                raise ApiError(wire.UNKNOWN_OP, f"no operation {op[:64]!r}")
            return wire.ok(await handler(self, args))
        except ApiError as error:
            return wire.error(error.code, error.message)
        except Exception as error:
            log.exception("request failed")
            return wire.error(wire.INTERNAL, f"{type(error).__name__} in the broker, see its log")

    # --- helpers ------------------------------------------------------------------

    def _find(self, args: dict[str, Any]) -> Session:
        """The session an argument names: an id, a unique prefix of at least 4, or a pane."""
        wanted = _text(args, "session_id")
        sessions = self.board.sessions
        if wanted in sessions:
            return sessions[wanted]
        if wanted.startswith("%"):
            found = [s for s in sessions.values() if s.pane and s.pane.pane_id == wanted]
            found = [s for s in found if s.verdict.state != "ended"] or found
        elif len(wanted) >= 4:
            found = [s for s in sessions.values() if s.session_id.startswith(wanted)]
        else:
            found = []
        if len(found) > 1:
            raise ApiError(wire.CONFLICT, f"{wanted!r} names {len(found)} sessions")
        if not found:
            raise ApiError(wire.NOT_FOUND, f"no session {wanted[:80]!r}")
        return found[0]

    def _queued(self, args: dict[str, Any]) -> Session:
        session = self._find(args)
        if session.entry is None:
            raise ApiError(wire.NOT_FOUND, f"session {session.session_id!r} is not in the queue")
        return session

    def items(self, now: int) -> list[Result]:
        """The whole queue as items, in order."""
        out = []
        position = 0
        for session in self.board.queue(now):
            assert session.entry is not None
            ready = session.entry.standing(now) == "ready"
            position += ready
            out.append(
                present.item(session, now, position if ready else None, self.broker.target_of)
            )
        return out

    def _item(self, session_id: str, now: int) -> Result | None:
        return next((i for i in self.items(now) if i["session_id"] == session_id), None)

    def _head(self, now: int) -> Result | None:
        return next((i for i in self.items(now) if i["ready"]), None)

    # --- operations -----------------------------------------------------------------

    async def ping(self, args: dict[str, Any]) -> Result:
        return {"pid": os.getpid(), "version": __version__}

    async def status(self, args: dict[str, Any]) -> Result:
        return self.broker.status()

    async def queue_list(self, args: dict[str, Any]) -> Result:
        now = self.broker.now()
        query = _optional_text(args, "query")
        limit, offset = _count(args, "limit"), _count(args, "offset") or 0
        items = self.items(now)
        depth, ready = len(items), sum(i["ready"] for i in items)
        if query:
            items = [i for i in items if present.matches(i, query)]
        items = items[offset:] if limit is None else items[offset : offset + limit]
        return {"items": items, "depth": depth, "ready": ready, "rev": self.broker.rev}

    async def queue_next(self, args: dict[str, Any]) -> Result:
        return {"item": self._head(self.broker.now())}

    async def queue_skip(self, args: dict[str, Any]) -> Result:
        now = self.broker.now()
        wanted = self._queued(args).session_id if args.get("session_id") is not None else None
        skipped = self.board.skip(wanted, now)
        await self.broker.changed()
        return {"skipped": skipped.session_id if skipped else None, "item": self._head(now)}

    async def queue_snooze(self, args: dict[str, Any]) -> Result:
        now = self.broker.now()
        session = self._queued(args)
        until, for_s = args.get("until"), args.get("for_s")
        if (until is None) == (for_s is None):
            raise ApiError(wire.BAD_REQUEST, "give either until (ms) or for_s (seconds)")
        given = until if until is not None else for_s
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise ApiError(wire.BAD_REQUEST, "until and for_s are numbers")
        if given < 0 or not given < 1e15:
            raise ApiError(wire.BAD_REQUEST, "until and for_s are 0 or more, and finite")
        moment = int(given) if until is not None or not given else now + int(given * 1000)
        if moment > now + MAX_SNOOZE:
            raise ApiError(wire.BAD_REQUEST, "that is more than a year from now")
        self.board.snooze(session.session_id, moment)
        await self.broker.changed()
        return {"item": self._item(session.session_id, now)}

    async def queue_note(self, args: dict[str, Any]) -> Result:
        session = self._queued(args)
        text = args.get("text")
        if not isinstance(text, str):
            raise ApiError(wire.BAD_REQUEST, "text is not a string")
        self.board.update(session.session_id, note=clean_text(text)[:MAX_NOTE] or None)
        await self.broker.changed()
        return {"item": self._item(session.session_id, self.broker.now())}

    async def session_list(self, args: dict[str, Any]) -> Result:
        now = self.broker.now()
        places = {i["session_id"]: i["position"] for i in self.items(now)}
        sessions = sorted(self.board.sessions.values(), key=lambda s: (s.first_seen, s.session_id))
        shown = [
            present.session_item(s, now, places.get(s.session_id), self.broker.target_of)
            for s in sessions
        ]
        return {"sessions": shown}

    async def session_get(self, args: dict[str, Any]) -> Result:
        now = self.broker.now()
        session = self._find(args)
        queued = self._item(session.session_id, now)
        place = queued["position"] if queued else None
        return present.session_item(session, now, place, self.broker.target_of)

    async def session_explain(self, args: dict[str, Any]) -> Result:
        return present.explanation(self._find(args))

    async def pane_why(self, args: dict[str, Any]) -> Result:
        """Beside the contract: why a pane is not in the queue, for `trailboss why`."""
        pane = pane_id_or_none(_text(args, "pane_id"))
        if pane is None:
            raise ApiError(wire.BAD_REQUEST, "pane_id is not a pane's id (%17)")
        socket = _optional_text(args, "tmux_socket")
        await self.broker.fleet.refresh()
        fleet, now = self.broker.fleet, self.broker.now()
        return await fleet.run(lambda: why(self.board, fleet, pane, socket, now))

    async def reconcile_run(self, args: dict[str, Any]) -> Result:
        return await self.broker.reconcile()


OPS: dict[str, Handler] = {
    "ping": Api.ping,
    "status": Api.status,
    "queue.list": Api.queue_list,
    "queue.next": Api.queue_next,
    "queue.skip": Api.queue_skip,
    "queue.snooze": Api.queue_snooze,
    "queue.note": Api.queue_note,
    "session.list": Api.session_list,
    "session.get": Api.session_get,
    "session.explain": Api.session_explain,
    "pane.why": Api.pane_why,
    "reconcile.run": Api.reconcile_run,
}


def _text(args: dict[str, Any], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str) or not value:
        raise ApiError(wire.BAD_REQUEST, f"{name} is missing or not a string")
    return value


def _optional_text(args: dict[str, Any], name: str) -> str | None:
    return None if args.get(name) is None else _text(args, name) if args[name] != "" else None


def _count(args: dict[str, Any], name: str) -> int | None:
    value = args.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ApiError(wire.BAD_REQUEST, f"{name} is not a whole number, 0 or more")
    return value
