"""The picker with the true broker and the installed key: from an event to the agent's pane."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator

import orjson
import pytest
import zmq

from tests.harness.broker import BrokerProcess
from tests.harness.desk import PREFIX, closed, rows, sees
from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import PtyClient, TmuxServer
from tests.harness.wait import until
from trailboss import config, paths
from trailboss.tmux.bindings import bindings


class World:
    """A broker, a desk with the real key bindings, and a way to get sessions stuck."""

    def __init__(self, sandbox: Sandbox, tmux: TmuxServer) -> None:
        self.sandbox, self.tmux = sandbox, tmux
        self.home = tmux.new_session("desk", "cat")
        tmux.tmux("set-option", "-s", "escape-time", "0")
        keys = sandbox.root / "keys.conf"
        keys.write_text(bindings(f"{sys.executable} -m trailboss", config.load(sandbox.env)))
        tmux.tmux("source-file", str(keys))
        self.broker = BrokerProcess(sandbox).start()
        self._context = zmq.Context()
        self._push = self._context.socket(zmq.PUSH)
        self._push.setsockopt(zmq.LINGER, 0)
        self._push.connect(paths.endpoint(paths.events_socket(sandbox.runtime)))
        self._ids = itertools.count()

    def close(self) -> None:
        self._push.close()
        self._context.term()

    def event(self, kind: str, session: str, pane: str, **fields: object) -> None:
        event = {
            "v": 1,
            "id": f"event-{next(self._ids)}",
            "type": kind,
            "harness": "claude",
            "session_id": f"session-{session}",
            "timestamp": time.time_ns() // 1_000_000,
            "pane_id": pane,
            "tmux_socket": str(self.tmux.socket),
            "tmux_pid": self.tmux.pid,
            "cwd": f"/home/dev/{session}",
            **fields,
        }
        self._push.send(orjson.dumps(event))

    def stuck(self, session: str, pane: str = "", reason: str = "stopped") -> str:
        """A session that is stuck in a pane (a new one if none is named); the pane."""
        pane = pane or self.tmux.new_session(session, "cat")
        self.event("stuck", session, pane, reason=reason, message=f"question of {session}")
        return pane

    def open(self) -> PtyClient:
        client = self.tmux.attach("desk")
        client.type(PREFIX + b"g")
        until(lambda: "broker: ok" in client.text(), what=client.text())
        return client


@pytest.fixture
def world(sandbox: Sandbox, tmux: TmuxServer) -> Iterator[World]:
    made = World(sandbox, tmux)
    yield made
    made.close()


def test_from_a_permission_to_its_pane_and_out_of_the_queue(world: World) -> None:
    client = world.open()
    assert "nothing stuck" in client.text()
    pane = world.stuck("aaaa", reason="permission")
    sees(client, "▶dev/aaaa")
    assert "◆ permission" in client.text()
    assert "question of aaaa" in client.text()
    client.type("\r")
    until(lambda: client.pane() == pane)
    closed(client)
    client.type(PREFIX + b"g")
    sees(client, "▶dev/aaaa")
    world.event("unstuck", "aaaa", pane)
    until(lambda: "nothing stuck" in client.text())


def test_oldest_first_and_a_skip_cools(world: World) -> None:
    first, second = world.stuck("aaaa"), world.stuck("bbbb")
    client = world.open()
    sees(client, "▶dev/aaaa", "dev/bbbb")
    client.type("s")
    sees(client, "▶dev/bbbb", "dev/aaaa")
    until(lambda: "cooling" in client.text() and "1 stuck · 1 later" in client.text())
    client.type("\r")
    until(lambda: client.pane() == second)
    assert first != second


def test_a_pane_that_another_session_took_over_is_the_new_ones(world: World) -> None:
    pane = world.stuck("aaaa")
    client = world.open()
    sees(client, "▶dev/aaaa")
    world.stuck("bbbb", pane)
    sees(client, "▶dev/bbbb")
    until(lambda: rows(client) == ["▶dev/bbbb"])


def test_it_lives_through_a_killed_broker(world: World) -> None:
    world.stuck("aaaa")
    client = world.open()
    sees(client, "▶dev/aaaa")
    world.broker.kill()
    until(lambda: "broker: unreachable" in client.text())
    assert rows(client) == ["▶dev/aaaa"]
    world.broker.start()
    until(lambda: "broker: ok" in client.text())
    pane = world.stuck("bbbb")
    sees(client, "▶dev/aaaa", "dev/bbbb")
    client.type("j\r")
    until(lambda: client.pane() == pane)


def test_a_refresh_asks_the_true_broker(world: World) -> None:
    world.stuck("aaaa")
    client = world.open()
    client.type("r")
    until(lambda: "checked, " in client.text(), what=client.text())
