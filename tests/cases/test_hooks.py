"""Section A with the real emitter and a real broker: concurrency, delay, silence."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import zmq

from tests.cases.emitter import Emitter
from tests.harness.broker import BrokerProcess
from tests.harness.sandbox import Sandbox
from tests.harness.wait import until
from tests.harness.world import World
from trailboss import paths


@pytest.fixture
def emitter(sandbox: Sandbox) -> Emitter:
    return Emitter(sandbox)


class Listener:
    """What the broker announces."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.SUB)
        self._socket.subscribe(b"queue")
        self._socket.connect(paths.endpoint(paths.pub_socket(broker.sandbox.runtime)))
        self.heard: list[dict[str, Any]] = []
        # A subscription takes a moment: whatever is announced until the first is heard is ours.
        until(lambda: self._ring(broker), what="the announcements are heard")
        broker.event("ended", "listener")
        until(lambda: self.poll() and self.heard[-1]["depth"] == 0, what="silence")
        self.heard.clear()

    def _ring(self, broker: BrokerProcess) -> bool:
        broker.event("stuck", "listener", message=str(time.monotonic_ns()))
        return bool(self._socket.poll(200)) and bool(self.poll())

    def poll(self) -> list[dict[str, Any]]:
        while self._socket.poll(0):
            self.heard.append(orjson.loads(self._socket.recv_multipart()[1]))
        return self.heard

    def close(self) -> None:
        self._socket.close(linger=0)
        self._context.term()


@pytest.fixture
def listener(broker: BrokerProcess) -> Iterator[Listener]:
    out = Listener(broker)
    yield out
    out.close()


# B01, B02: silent hooks, seen by the transcript alone


def test_b01_interrupted_seen_by_the_sweep(world: World) -> None:
    agent = world.agent("one", registry=False)
    agent.do("submit tidy the parser [[slow: 60]]")
    until(lambda: world.broker.call("session.list")["sessions"], what="it is known")
    until(lambda: "Counting" in world.tmux.screen(world.panes["one"]), what="it answers")
    assert world.broker.queue() == []
    agent.do("interrupt")
    (item,) = world.broker.wait_queue(agent.session_id)
    assert item["reason"] == "stopped"
    agent.do("busy again")
    world.broker.wait_queue()


@pytest.mark.parametrize("said", ["deny", "deny no"])
def test_b02_denied_seen_by_the_sweep(world: World, said: str) -> None:
    agent = world.agent("one", registry=False)
    agent.do("permission rm -rf build")
    (item,) = world.broker.wait_queue(agent.session_id)
    assert item["reason"] == "permission"
    agent.do(said)
    until(
        lambda: [i["reason"] for i in world.broker.items()] == ["stopped"],
        what="it is asked nothing any more",
    )


# B04: allowed within milliseconds


def test_b04_a_storm_rings_no_bell(broker: BrokerProcess, listener: Listener) -> None:
    depths = set()
    for n in range(30):
        now = time.time_ns() // 1_000_000
        asked = {"request": f"r{n}", "pane_id": "%3"}
        broker.event(
            "stuck", "s1", reason="permission", message=f"Read: f{n}.py", timestamp=now, **asked
        )
        broker.event("unstuck", "s1", timestamp=now + 40, **asked)
        depths.add(len(broker.queue()))
    broker.wait_queue()
    broker.event("stuck", "last")
    until(
        lambda: any(m["head_session"] == "last" for m in listener.poll()), what="a bell for another"
    )
    assert sum(m["head_session"] == "s1" for m in listener.heard) <= 1
    assert broker.queue() == ["last"]


# B07: each hook runs twice at the same moment


def test_b07_two_emitters_at_once(
    broker: BrokerProcess, listener: Listener, emitter: Emitter
) -> None:
    place = {"TMUX": "/tmp/tb-none/default,4101,0", "TMUX_PANE": "%3"}
    for name, data in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "x"}),
        ("Stop", {"last_assistant_message": "Done."}),
    ):
        body = emitter.body(name, "s1", **data)
        fronts = [emitter.start(name, "s1", place) for _ in range(2)]
        for front in fronts:
            assert front.stdin is not None
            front.stdin.write(body)
        for front in fronts:
            assert front.communicate(timeout=30)[0] == b""
    (item,) = broker.wait_queue("s1")
    until(lambda: not list(paths.journal_dir(broker.sandbox.state).iterdir()), what="all is read")
    (again,) = broker.items()
    assert (again["since"], again["skips"]) == (item["since"], 0)
    assert [s["session_id"] for s in broker.call("session.list")["sessions"]][1:] == ["s1"]
    assert sum(m["head_session"] == "s1" for m in listener.poll()) <= 1


# B10: a slow hook is heard after a later one


def test_b10_a_stop_whose_emitter_was_held_up(broker: BrokerProcess, emitter: Emitter) -> None:
    emitter.hook("SessionStart", "s1", source="startup")
    until(lambda: broker.call("session.list")["sessions"], what="the session is known")
    slow = held_up(emitter, "Stop", "s1")
    journal = paths.journal_dir(broker.sandbox.state)
    # The file system's clock has a grain of some ms, and equal times go by arrival.
    later = time.monotonic() + 0.05
    until(lambda: time.monotonic() > later)
    try:
        emitter.hook("UserPromptSubmit", "s1", prompt="next")
        until(lambda: state(broker, "s1") == "going", what="the later hook is heard")
    finally:
        os.killpg(slow.pid, signal.SIGCONT)
    slow.communicate(emitter.body("Stop", "s1", last_assistant_message="Done."), timeout=30)
    until(lambda: not list(journal.iterdir()), what="the journal is read to its end")
    assert told(broker, "s1", "Stop")
    assert (state(broker, "s1"), broker.queue()) == ("going", [])


def test_b10_a_stop_that_is_held_up_is_heard_all_the_same(
    broker: BrokerProcess, emitter: Emitter
) -> None:
    """Two seconds without the processor, its payload waiting in the pipe: nothing is lost."""
    emitter.hook("UserPromptSubmit", "s1", prompt="x")
    until(lambda: state(broker, "s1") == "going", what="a worker is there")
    slow = held_up(emitter, "Stop", "s1")
    assert slow.stdin is not None
    slow.stdin.write(emitter.body("Stop", "s1", last_assistant_message="Done."))
    slow.stdin.close()
    # Longer than the worker's patience with a standard input that is never closed.
    end = time.monotonic() + 2
    until(lambda: time.monotonic() > end, what="two seconds have passed")
    os.killpg(slow.pid, signal.SIGCONT)
    slow.wait(30)
    (item,) = broker.wait_queue("s1")
    assert item["message"] == "Done."


def held_up(emitter: Emitter, name: str, session: str) -> subprocess.Popen[bytes]:
    """A front that was stopped, with its children, right after it has stamped its time."""
    journal = paths.journal_dir(emitter.sandbox.state)
    until(lambda: not list(journal.iterdir()), what="the entries of before are read")
    front = emitter.start(name, session)
    until(lambda: list(journal.glob("*.env")), what="the front has stamped its time")
    os.killpg(front.pid, signal.SIGSTOP)
    return front


def state(broker: BrokerProcess, session: str) -> str | None:
    found = broker.call("session.list")["sessions"]
    return next((s["state"] for s in found if s["session_id"] == session), None)


def told(broker: BrokerProcess, session: str, cause: str) -> bool:
    """Whether a hook of that name was heard of it."""
    evidence = broker.call("session.explain", session_id=session)["evidence"]
    return any(one["text"].startswith(cause) for one in evidence)


# B12, B13: failures


def test_b12_the_installer_registers_the_failure(sandbox: Sandbox) -> None:
    (sandbox.home / ".claude").mkdir()
    done = sandbox.trailboss("install", "claude", "--yes")
    assert done.returncode == 0, done.stderr
    settings = orjson.loads((sandbox.home / ".claude" / "settings.json").read_bytes())
    assert {"Stop", "StopFailure"} <= settings["hooks"].keys()


def test_b12_an_error_is_told_from_a_turns_end(world: World) -> None:
    agent = world.agent("one")
    agent.do("error 429")
    (item,) = world.broker.wait_queue(agent.session_id)
    assert item["reason"] == "stopped"
    assert item["detail"]["error"] == "rate_limit"
    assert item["message"]


# B23: emit starts no agent


def test_b23_emit_starts_no_agent(broker: BrokerProcess, emitter: Emitter) -> None:
    """Programs of the agents' names lie first on the path, and none of them is ever run."""
    bait, trace = broker.sandbox.root / "bait", broker.sandbox.root / "trace"
    bait.mkdir()
    for name in ("claude", "codex", "gemini", "opencode", "node"):
        script = bait / name
        script.write_text(f"#!/bin/sh\necho {name} >>{trace}\n")
        script.chmod(0o755)
    path = f"{bait}:{broker.sandbox.env['PATH']}"
    run = subprocess.run(["claude"], env={"PATH": path}, check=True)
    assert (run.returncode, Path(trace).read_text()) == (0, "claude\n")
    for name in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        emitter.hook(name, "s1", env={"PATH": path})
    until(lambda: state(broker, "s1") == "ended", what="all is heard")
    assert Path(trace).read_text() == "claude\n"
