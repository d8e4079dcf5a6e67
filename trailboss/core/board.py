"""All sessions: which event belongs to which, who holds which pane, and the queue they form.

Pure as the rest of the core: it holds objects in memory and takes `now`; the broker saves what
`take_changed` names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from trailboss.core import queue
from trailboss.core.claims import Claim, from_event
from trailboss.core.evidence import Evidence, add
from trailboss.core.queue import Entry, Rules
from trailboss.core.verdict import Verdict, decide
from trailboss.events import Event

#: The harness name of the detector's sessions: panes without any known harness.
DETECTOR = "tmux"


class PaneRef(NamedTuple):
    """A pane is known by its server too: ids repeat across servers and after a restart.

    An empty socket or a server pid of 0 mean that nobody has said.
    """

    socket: str
    server_pid: int
    pane_id: str


@dataclass(frozen=True, slots=True)
class Session:
    """One session of one harness, with its evidence, its verdict and its place in the queue."""

    session_id: str
    harness: str
    pane: PaneRef | None = None
    cwd: str | None = None
    transcript_path: str | None = None
    pid: int | None = None
    pid_start: int | None = None
    title: str | None = None
    note: str | None = None
    home: str | None = None
    first_seen: int = 0
    last_event_at: int = 0
    placed_at: int = 0
    left_pane: bool = False
    attach: str | None = None
    suspended: bool = False
    evidence: Evidence = field(default_factory=Evidence)
    verdict: Verdict = field(default_factory=lambda: Verdict("unknown", "nothing was heard yet"))
    entry: Entry | None = None


class Board:
    """The sessions by id."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.sessions: dict[str, Session] = {}
        self._changed: set[str] = set()

    def put(self, session: Session) -> None:
        """Take a session as it is (from the store)."""
        self.sessions[session.session_id] = session

    def take_changed(self) -> set[str]:
        """The ids changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    # --- what comes in --------------------------------------------------------

    def apply(self, event: Event, now: int) -> Session | None:
        """Take an event; the session it changed, or None when it is none of ours.

        A time in the future counts as now.
        """
        if event.timestamp > now:
            event = event.at(now)
        if self._nested(event):
            return None
        known = self.sessions.get(event.session_id)
        if known is None and event.type == "unstuck" and event.agent_id is not None:
            return None  # a subagent that brings its own id is no session by itself (case B19)
        session = known or Session(
            session_id=event.session_id, harness=event.harness, first_seen=now
        )
        session = _latest_stored(session, now, event.timestamp)
        session = self._facts(session, event)
        if not self._pane_is_free_for(session):
            return None
        session = self._judge(session, from_event(event), now)
        self._store(session)
        if session.pane is not None and event.pane_id is not None and event.type != "ended":
            self._vacate(session, event.timestamp, now)
        return session

    def claim(self, session_id: str, claim: Claim, now: int) -> Session | None:
        """Take a claim of another source about a known session."""
        session = self.sessions.get(session_id)
        if session is None:
            return None
        if claim.at > now:
            claim = replace(claim, at=now)
        session = _latest_stored(session, now, claim.at - 1)
        updated = self._judge(session, claim, now)
        if updated.verdict != session.verdict or updated.entry != session.entry:
            self._store(updated)
        else:
            # A mere look at a state that has not changed is not worth a write to the disk.
            self.sessions[session_id] = updated
        return updated

    def update(self, session_id: str, **changes: Any) -> Session:
        """Change plain fields (pane, title, pid, note, …) of a known session."""
        session = replace(self.sessions[session_id], **changes)
        if session != self.sessions[session_id]:
            self._store(session)
        return session

    def forget(self, session_id: str) -> None:
        self.sessions.pop(session_id, None)
        self._changed.add(session_id)

    def _store(self, session: Session) -> None:
        self.sessions[session.session_id] = session
        self._changed.add(session.session_id)

    def _judge(self, session: Session, claim: Claim, now: int) -> Session:
        step = add(session.evidence, claim)
        verdict = decide(step.evidence)
        entry = queue.follow(
            session.entry, verdict, now, self.rules, answered=step.answered, fresh=step.fresh
        )
        if session.left_pane and session.pane is None:
            if claim.says == "stuck" and claim.at > session.placed_at:
                session = replace(session, left_pane=False)
            else:
                entry = None
        return replace(session, evidence=step.evidence, verdict=verdict, entry=entry)

    # --- identity ---------------------------------------------------------------

    def _facts(self, session: Session, event: Event) -> Session:
        """The session with what the event names; an older event does not move it back."""
        newer = event.timestamp >= session.last_event_at
        changes: dict[str, Any] = {"last_event_at": max(session.last_event_at, event.timestamp)}
        for name in ("cwd", "transcript_path"):
            value = getattr(event, name)
            if value is not None and (newer or getattr(session, name) is None):
                changes[name] = value
        if event.pid is not None and event.pid != session.pid and (newer or session.pid is None):
            changes["pid"], changes["pid_start"] = event.pid, _int(event.detail.get("pid_start"))
        title = event.detail.get("session_title")
        if isinstance(title, str) and title:
            changes["title"] = title
        attach = event.detail.get("attach")
        if isinstance(attach, str):
            changes["attach"] = attach
        home = event.detail.get("home")
        if isinstance(home, str):
            changes["home"] = home
        ends = event.type == "ended"  # whoever has come after it lives in that pane (case B16)
        if event.pane_id is not None and event.timestamp >= session.placed_at and not ends:
            pane = PaneRef(event.tmux_socket or "", event.tmux_pid or 0, event.pane_id)
            changes.update(pane=pane, placed_at=event.timestamp, left_pane=False)
        return replace(session, **changes)

    def at_pane(self, pane: PaneRef) -> list[Session]:
        """The sessions that live in that pane."""
        return [s for s in self.sessions.values() if s.pane is not None and same_pane(s.pane, pane)]

    def _pane_is_free_for(self, session: Session) -> bool:
        """A detector's session never takes or shares a harness's pane."""
        if session.harness != DETECTOR or session.pane is None:
            return True
        return not any(
            s.harness != DETECTOR and s.verdict.state != "ended" for s in self.at_pane(session.pane)
        )

    def _nested(self, event: Event) -> bool:
        """Whether the event is of a run started by the session that lives in the same pane."""
        ancestors = event.detail.get("ancestors")
        if not isinstance(ancestors, list) or event.session_id in self.sessions:
            return False
        return any(
            s.pid is not None
            and s.pid in ancestors
            and s.pid != event.pid
            and s.verdict.state != "ended"
            for s in self.sessions.values()
        )

    def _vacate(self, session: Session, at: int, now: int) -> None:
        """Older sessions that were in this pane have left it and, having no other, the queue."""
        assert session.pane is not None
        for other in self.at_pane(session.pane):
            if other.session_id == session.session_id:
                continue
            if other.last_event_at > at:
                continue
            if other.harness != DETECTOR and session.harness == DETECTOR:
                continue
            self._store(replace(other, pane=None, left_pane=True, placed_at=at, entry=None))

    # --- the queue --------------------------------------------------------------

    def queue(self, now: int) -> list[Session]:
        """All items: ready in order, cooling, snoozed."""
        items = [(s.session_id, s.entry) for s in self.sessions.values() if s.entry is not None]
        return [self.sessions[key] for key, _ in queue.ordered(items, now)]

    def ready(self, now: int) -> list[Session]:
        return [s for s in self.queue(now) if s.entry and s.entry.standing(now) == "ready"]

    def head(self, now: int) -> Session | None:
        ready = self.ready(now)
        return ready[0] if ready else None

    def skip(self, session_id: str | None, now: int) -> Session | None:
        """Skip that item, or the head; None when nothing is ready to skip.

        Raises KeyError for a session that is not in the queue.
        """
        session = self.head(now) if session_id is None else self.sessions[session_id]
        if session is None:
            return None
        if session.entry is None:
            raise KeyError(session_id)
        self._store(replace(session, entry=queue.skip(session.entry, now, self.rules)))
        return self.sessions[session.session_id]

    def snooze(self, session_id: str, until: int) -> Session:
        """Hide that item until then (0 wakes it). Raises KeyError when it is not in the queue."""
        session = self.sessions[session_id]
        if session.entry is None:
            raise KeyError(session_id)
        self._store(replace(session, entry=queue.snooze(session.entry, until)))
        return self.sessions[session_id]


def same_pane(one: PaneRef, other: PaneRef) -> bool:
    """The same pane, where what nobody has said (socket, server pid) does not tell them apart."""
    return (
        one.pane_id == other.pane_id
        and (one.socket == other.socket or not one.socket or not other.socket)
        and (one.server_pid == other.server_pid or not one.server_pid or not other.server_pid)
    )


def _latest_stored(session: Session, now: int, at: int) -> Session:
    """Stored times later than now hold nothing off, since the clock was set back: they count as
    the time of the event that has just come."""
    stored = session.last_event_at, session.placed_at, session.evidence.life_at
    if max(stored) <= now:
        return session

    def sane(time: int) -> int:
        return at if time > now else time

    return replace(
        session,
        last_event_at=sane(session.last_event_at),
        placed_at=sane(session.placed_at),
        evidence=_sane(session.evidence, sane),
    )


def _sane(evidence: Evidence, sane: Callable[[int], int]) -> Evidence:
    def claim(c: Claim | None) -> Claim | None:
        return replace(c, at=sane(c.at), checked_at=sane(c.checked_at)) if c else None

    def times(values: Mapping[str, int]) -> dict[str, int]:
        return {k: sane(v) for k, v in values.items()}

    return replace(
        evidence,
        requests={k: replace(r, opened_at=sane(r.opened_at)) for k, r in evidence.requests.items()},
        settled=times(evidence.settled),
        cleared_agents=times(evidence.cleared_agents),
        turn=claim(evidence.turn),
        registry=claim(evidence.registry),
        transcript=claim(evidence.transcript),
        screen=claim(evidence.screen),
        reminder=claim(evidence.reminder),
        gone=claim(evidence.gone),
        cleared_at=sane(evidence.cleared_at),
        cleared_main_at=sane(evidence.cleared_main_at),
        life_at=sane(evidence.life_at),
        started_at=sane(evidence.started_at),
        prompted_at=sane(evidence.prompted_at),
        settled_at=sane(evidence.settled_at),
        ran_at=sane(evidence.ran_at),
    )


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
