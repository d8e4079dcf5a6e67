"""The queue against a model of the contract's rules, by a stateful Hypothesis test.

A world of sessions produces events; the machine delivers them in any order within what the
journal allows (a session's events may come late, twice or not at all) and compares the board with
a model that knows the rules and nothing of the implementation.
"""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from trailboss.core.board import Board
from trailboss.core.queue import Rules
from trailboss.events import Event

SESSIONS = ["s1", "s2", "s3"]
REQUESTS = ["A", "B"]


class QueueMachine(RuleBasedStateMachine):
    """Events are made in order of time; delivery is what varies."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = 1000
        self.ids = itertools.count()
        self.board = Board(Rules(skip_cooldown=100, background_grace=0))
        self.seen: set[str] = set()
        self.delivered: list[Event] = []
        self.pending: dict[str, list[Event]] = {s: [] for s in SESSIONS}
        # The model: open requests and the turn of each session.
        self.open: dict[str, set[str]] = {s: set() for s in SESSIONS}
        self.stopped: dict[str, bool] = dict.fromkeys(SESSIONS, False)
        self.since: dict[str, int] = {}

    def make(self, session: str, kind: str, **fields: Any) -> Event:
        self.clock += 10
        if kind == "stuck":
            fields = {"message": f"m{self.clock}", **fields}
        return Event.from_dict(
            {
                "v": 1, "id": f"e{next(self.ids)}", "type": kind, "harness": "claude",
                "session_id": session, "timestamp": self.clock, **fields,
            }
        )  # fmt: skip

    def deliver(self, event: Event) -> None:
        """As the intake does: an id counts once."""
        self.delivered.append(event)
        if event.id in self.seen:
            return
        self.seen.add(event.id)
        self.board.apply(event, self.clock)
        self.model(event)

    def model(self, event: Event) -> None:
        session = event.session_id
        was = bool(self.open[session]) or self.stopped[session]
        if event.type == "stuck":
            if event.reason == "stopped":
                self.stopped[session] = True
                self.open[session].clear()
            else:
                self.open[session].add(event.request or "")
            if not was:
                self.since[session] = event.timestamp
        elif event.type == "unstuck" and event.request is not None:
            answered = event.request in self.open[session]
            self.open[session].discard(event.request)
            if answered and (self.open[session] or self.stopped[session]):
                # What goes on waiting is another wait: it is compared by membership alone.
                self.since.pop(session, None)
        elif event.type in ("unstuck", "ended"):
            self.open[session].clear()
            self.stopped[session] = False
        if not (self.open[session] or self.stopped[session]):
            self.since.pop(session, None)

    # --- what happens -------------------------------------------------------------

    @rule(session=st.sampled_from(SESSIONS), request=st.sampled_from(REQUESTS))
    def asks(self, session: str, request: str) -> None:
        self.deliver(self.make(session, "stuck", reason="permission", request=request))

    @rule(session=st.sampled_from(SESSIONS))
    def stops(self, session: str) -> None:
        self.deliver(self.make(session, "stuck", reason="stopped"))

    @rule(session=st.sampled_from(SESSIONS), request=st.sampled_from([*REQUESTS, None]))
    def goes_on(self, session: str, request: str | None) -> None:
        more = {"request": request} if request else {}
        self.deliver(self.make(session, "unstuck", **more))

    @rule(session=st.sampled_from(SESSIONS), kind=st.sampled_from(["ended", "registered"]))
    def lives(self, session: str, kind: str) -> None:
        self.deliver(self.make(session, kind))

    @rule(data=st.data())
    def comes_again(self, data: st.DataObject) -> None:
        """The worker pushed it and the broker reads it from the journal too."""
        if self.delivered:
            self.deliver(data.draw(st.sampled_from(self.delivered)))

    @rule(session=st.sampled_from(SESSIONS))
    def an_old_turn_comes_late(self, session: str) -> None:
        """A slow hook reports what is long over: older than what the session shows."""
        last = self.board.sessions.get(session)
        if last is None or last.last_event_at <= 10:
            return
        late = Event.from_dict(
            {
                "v": 1, "id": f"e{next(self.ids)}", "type": "stuck", "harness": "claude",
                "session_id": session, "timestamp": 5, "reason": "stopped", "message": "late",
            }
        )  # fmt: skip
        shown = {s.session_id: s.verdict.text for s in self.board.queue(self.clock)}
        turn = last.evidence.turn
        if turn is None and last.evidence.gone is None:
            return  # nothing newer was heard of its turn: then it is news
        self.board.apply(late, self.clock)
        assert shown == {s.session_id: s.verdict.text for s in self.board.queue(self.clock)}

    @rule(session=st.sampled_from([*SESSIONS, None]))
    def skips(self, session: str | None) -> None:
        queued = {s.session_id for s in self.board.queue(self.clock)}
        if session is not None and session not in queued:
            return
        head = self.board.head(self.clock)
        skipped = self.board.skip(session, self.clock)
        if session is None:
            assert (skipped and skipped.session_id) == (head and head.session_id)
        if skipped is not None:
            now_head = self.board.head(self.clock)
            assert now_head is None or now_head.session_id != skipped.session_id

    @rule(ms=st.integers(1, 300))
    def time_passes(self, ms: int) -> None:
        self.clock += ms

    @rule()
    def the_broker_restarts(self) -> None:
        from trailboss.broker import records

        board = Board(self.board.rules)
        for session in self.board.sessions.values():
            board.put(records.load(records.dump(session)))
        self.board = board

    # --- what must hold -------------------------------------------------------------

    @invariant()
    def who_is_in(self) -> None:
        wanted = {s for s in SESSIONS if self.open[s] or self.stopped[s]}
        assert {s.session_id for s in self.board.queue(self.clock)} == wanted

    @invariant()
    def since_is_the_wait(self) -> None:
        for session in self.board.queue(self.clock):
            wanted = self.since.get(session.session_id)
            assert session.entry is not None
            if wanted is not None:
                assert session.entry.since == wanted

    @invariant()
    def ready_is_in_order_and_first(self) -> None:
        queue = self.board.queue(self.clock)
        standings = [s.entry.standing(self.clock) for s in queue if s.entry]
        ranks = [("ready", "cooling", "snoozed").index(x) for x in standings]
        assert ranks == sorted(ranks)
        places = [
            s.entry.place for s in queue if s.entry and s.entry.standing(self.clock) == "ready"
        ]
        assert places == sorted(places)

    @invariant()
    def permission_is_shown_while_one_is_open(self) -> None:
        for session in self.board.queue(self.clock):
            wanted = "permission" if self.open[session.session_id] else "stopped"
            assert session.verdict.reason == wanted


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
