"""`explain` and `why`: anybody can ask, and gets the reason in words."""

from __future__ import annotations

from typing import Any

import orjson

from tests.harness.wait import until
from tests.harness.world import World


def why(world: World, pane: str) -> str:
    done = world.sandbox.trailboss("why", pane)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_why(world: World) -> None:
    shell = world.tmux.new_session("plain", "cat")
    assert "no agent is known there; the pane runs" in why(world, shell)
    assert "no tmux server that is looked at has this pane" in why(world, "%999")
    agent = world.agent("one")
    pane = world.panes["one"]
    until(lambda: "fresh prompt" in why(world, pane))
    agent.do("busy on it")
    until(lambda: "it is working" in why(world, pane))
    agent.do("stop Done.")
    world.broker.wait_queue(agent.session_id)
    assert "it is in the queue: its " in why(world, pane)
    world.broker.call("queue.skip")
    assert "cooling for" in why(world, pane)
    world.broker.call("queue.snooze", session_id=agent.session_id, for_s=600)
    assert "snoozed for" in why(world, pane)
    agent.end()
    until(lambda: "its session is over" in why(world, pane))


def test_why_headless(world: World) -> None:
    agent_words = world.sandbox.root / "headless.ctl"
    from tests.harness.world import EMIT
    from tools.fake_agent.control import command_line

    words = command_line(
        control=agent_words, emit=EMIT, more=["--print", "go [[hold]]"], registry=False
    )
    pane = world.tmux.new_session("headless", *words)
    until(lambda: "asks nobody" in why(world, pane), what="a headless run is told")
    assert world.broker.queue() == []


def test_explain(world: World) -> None:
    agent = world.agent("one")
    agent.do("permission touch x")
    world.broker.wait_queue(agent.session_id)
    done = world.sandbox.trailboss("explain", agent.session_id[:8])
    text = done.stdout.decode()
    assert "in the queue, because it has asked and nobody has answered" in text
    assert "PermissionRequest" in text

    def explained() -> dict[str, Any]:
        done = world.sandbox.trailboss("explain", world.panes["one"], "--json")
        found: dict[str, Any] = orjson.loads(done.stdout)
        return found

    until(lambda: {c["source"] for c in explained()["evidence"]} >= {"hook", "registry"})
    found = explained()
    assert found["stuck"] is True
    times = [c["at"] for c in found["evidence"]]
    assert times == sorted(times)
    assert all(set(c) == {"source", "at", "says", "text"} for c in found["evidence"])


def test_without_hooks_the_status_file_is_watched(world: World) -> None:
    """No sweep comes to help: its file is noticed as it appears, and its pane is found."""
    world.broker.stop()
    (world.sandbox.home / ".claude").mkdir(exist_ok=True)
    world.broker.env["TRAILBOSS_RECONCILE_SWEEP_S"] = "3600"
    world.broker.start()
    until(lambda: world.broker.call("status")["last_reconcile"])
    agent = world.agent("one", hooks=False)
    agent.do("permission touch x")
    (item,) = world.broker.wait_queue(agent.session_id)
    assert item["source"] == "registry"
    until(lambda: world.broker.items()[0]["pane_id"] == world.panes["one"], what="its pane")
