"""What the real CLI's hooks make of a turn: the events, as a plain collector receives them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import orjson
import pytest
import zmq

from tests.harness.sandbox import Sandbox
from tests.harness.wait import until
from tests.real.cli import PERMISSION, Claude
from trailboss import paths

pytestmark = pytest.mark.real


class Collector:
    """A PULL socket where the broker's would be."""

    def __init__(self, sandbox: Sandbox) -> None:
        runtime = paths.ensure_private(sandbox.runtime)
        self.socket = zmq.Context.instance().socket(zmq.PULL)
        self.socket.bind(paths.endpoint(paths.events_socket(runtime)))
        self._events: dict[str, dict[str, Any]] = {}

    def events(self) -> list[dict[str, Any]]:
        """All that came so far, in the order in which it happened."""
        while self.socket.poll(0):
            event = orjson.loads(self.socket.recv())
            self._events.setdefault(event["id"], event)
        return sorted(self._events.values(), key=lambda event: event["timestamp"])

    def wait_for(self, cause: str, count: int = 1) -> dict[str, Any]:
        """The newest event with that cause, once there are so many."""

        def found() -> list[dict[str, Any]]:
            of_cause = [event for event in self.events() if event["cause"] == cause]
            return of_cause if len(of_cause) >= count else []

        return until(found, 30, f"{count} {cause} (came: {self.events()})")[-1]


@pytest.fixture
def collector(sandbox: Sandbox) -> Iterator[Collector]:
    collector = Collector(sandbox)
    yield collector
    collector.socket.close(linger=0)


def test_the_events_of_an_approved_turn(claude: Claude, hooked: None, collector: Collector) -> None:
    pane = claude.start("work")
    pid, session = pane.pid(), pane.session_id()
    collector.wait_for("SessionStart")
    pane.type("[[bash: touch made]]")
    asked = collector.wait_for("PermissionRequest")
    assert (asked["type"], asked["reason"]) == ("stuck", "permission")
    assert "touch made" in asked["message"]
    pane.approve()
    stopped = collector.wait_for("Stop")
    assert (stopped["type"], stopped["reason"]) == ("stuck", "stopped")
    assert stopped["message"] == "All done."
    pane.type("/exit")
    collector.wait_for("SessionEnd")

    events = collector.events()
    kinds = [kind for kind, _ in groupby(event["type"] for event in events)]
    told = [(event["timestamp"], event["type"], event["cause"]) for event in events]
    assert kinds == ["registered", "unstuck", "stuck", "unstuck", "stuck", "ended"], told
    settled = [event.get("request") for event in events if event["cause"] == "PostToolUse"]
    assert asked["request"] in settled
    for event in events:
        assert event["harness"] == "claude"
        assert event["session_id"] == session
        assert event["pane_id"] == pane.id
        assert event["tmux_socket"] == str(claude.server.socket)
        assert event["tmux_pid"] == claude.server.pid
        assert event["cwd"] == str(claude.project)
        assert event["pid"] == pid


def test_a_no_is_silent(claude: Claude, hooked: None, collector: Collector) -> None:
    """What the other sources are for: were a hook to tell, they could go."""
    pane = claude.start("work")
    pane.type("[[bash: touch made]]")
    collector.wait_for("PermissionRequest")
    pane.answer("Escape", PERMISSION)
    until(lambda: pane.status() == "idle", what="the session is idle again")
    pane.type("[[say: Go on.]]")
    collector.wait_for("Stop")
    causes = [event["cause"] for event in collector.events()]
    assert causes == [
        "SessionStart",
        "UserPromptSubmit",
        "PermissionRequest",
        "UserPromptSubmit",
        "Stop",
    ]
