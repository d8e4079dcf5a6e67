"""Looking at panes: for sessions that may sit at a dialog, and where nothing else tells.

A screen is asked only where it can say something new: a request is open and no status file is
there to tell of its answer; a status file says `dialog open`, which a menu and a notice share, or
waits for something that nobody has put in words; or there is no status file at all. Agents of
which nothing was heard (the trust dialog, the first-run questions, an older version) are looked at
as well: such a dialog is a wait, under a name made of the process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from trailboss.adapters import claude_screen
from trailboss.broker.fleet import Fleet
from trailboss.core.board import Board, PaneRef, Session
from trailboss.core.claims import Claim
from trailboss.tmux.screens import Shot, capture
from trailboss.tmux.server import TmuxError

log = logging.getLogger(__name__)

#: Kinds of dialog at which an agent may sit before anything else tells of it.
BEFORE_ALL = frozenset({"trust", "login", "first_run", "permission", "question", "plan"})
#: ms after which a status file that was not read again is no live witness.
STALE = 30_000

_STRANGER = "claude-pid-"


@dataclass(frozen=True, slots=True)
class Stranger:
    """A harness process in a pane, of which no hook, status file or transcript has told."""

    pid: int
    start: int
    cwd: str | None
    home: str
    pane: PaneRef

    @property
    def session_id(self) -> str:
        return f"{_STRANGER}{self.pid}-{self.start}"


def is_stranger(session_id: str) -> bool:
    """Whether the id is one of those made here, for want of the session's own."""
    return session_id.startswith(_STRANGER)


class Screens:
    """Captures what is wanted and turns it into claims."""

    def __init__(self, board: Board, fleet: Fleet, now: Callable[[], int]) -> None:
        self._board = board
        self._fleet = fleet
        self._now = now
        self.strangers: dict[str, Stranger] = {}

    def meet(self, strangers: Iterable[Stranger]) -> None:
        """The strangers that the last sweep found; the ones before it are forgotten."""
        self.strangers = {s.session_id: s for s in strangers}

    def wanted(self, whole: bool) -> dict[str, PaneRef]:
        """Which sessions' panes to look at: those that may change at any moment, and with
        `whole` all those of which no status file tells."""
        now = self._now()
        out = {
            s.session_id: s.pane
            for s in self._board.sessions.values()
            if s.pane is not None and s.harness == "claude" and _worth(s, now, whole)
        }
        out.update({s.session_id: s.pane for s in self.strangers.values()})
        return out

    async def look(self, whole: bool) -> bool:
        """Capture and judge; whether anything was looked at."""
        wanted = self.wanted(whole)
        if not wanted:
            return False
        by_socket: dict[str, list[str]] = {}
        for pane in wanted.values():
            seen = self._fleet.of(pane)
            if seen is not None and pane.pane_id in seen.panes:
                by_socket.setdefault(seen.socket, []).append(pane.pane_id)
        shots = await self._fleet.run(lambda: self._capture(by_socket))
        now = self._now()
        for session_id, pane in wanted.items():
            seen = self._fleet.of(pane)
            shot = shots.get((seen.socket, pane.pane_id)) if seen is not None else None
            if shot is not None:
                self._judge(session_id, shot, now)
        return True

    def _capture(self, by_socket: dict[str, list[str]]) -> dict[tuple[str, str], Shot]:
        out: dict[tuple[str, str], Shot] = {}
        for socket, panes in by_socket.items():
            try:
                found = capture(self._fleet.server(socket), panes)
            except TmuxError as error:
                log.debug("screens of %s: %s", socket, error)
                continue
            out.update({(socket, pane): shot for pane, shot in found.items()})
        return out

    def _judge(self, session_id: str, shot: Shot, now: int) -> None:
        screen = claude_screen.read(shot.lines, shot.width, shot.height, shot.alternate)
        claim = claude_screen.claim(screen, now)
        stranger = self.strangers.get(session_id)
        session = self._board.sessions.get(session_id)
        if session is None:
            if stranger is None or claim is None or screen.kind not in BEFORE_ALL:
                return
            self._adopt(stranger, now)
        elif claim is not None and claim.says == "stuck" and _is_menu(session, screen.kind):
            claim = None
        if claim is not None:
            self._board.claim(session_id, claim, now)

    def _adopt(self, stranger: Stranger, now: int) -> None:
        """An agent that sits at a dialog before its session has begun."""
        taken = self._board.at_pane(stranger.pane)
        if any(s.verdict.state != "ended" for s in taken):
            return
        self._board.put(
            Session(
                session_id=stranger.session_id, harness="claude", pane=stranger.pane,
                cwd=stranger.cwd, pid=stranger.pid, pid_start=stranger.start, home=stranger.home,
                first_seen=now, placed_at=now,
            )
        )  # fmt: skip
        log.info("an agent of which nothing was heard sits at a dialog: %s", stranger.session_id)


def _worth(session: Session, now: int, whole: bool) -> bool:
    """Whether its screen can say something that nothing else says."""
    if session.verdict.state == "ended" or session.suspended:
        return False
    evidence = session.evidence
    status: Claim | None = evidence.registry
    if status is not None and now - status.checked_at > STALE:
        status = None
    if status is None:
        return whole or bool(evidence.requests) or session.verdict.source == "screen"
    if status.says == "stuck":
        return status.cause == "dialog open" or not session.verdict.detail.get("tool_name")
    # A form or a question leaves some versions busy, so its end has to be seen.
    return bool(evidence.requests) or session.verdict.source == "screen"


def _is_menu(session: Session, kind: str) -> bool:
    """Whether what looks like a dialog is a menu that a person has opened: the status file knows
    no other difference than that nothing was asked."""
    status = session.evidence.registry
    return status is not None and status.cause == "dialog open" and kind == "question"
