"""Where hooks and files are silent, the screen tells."""

from __future__ import annotations

import pytest

from tests.harness.wait import until
from tests.harness.world import World


@pytest.mark.parametrize("version", ["2.1.197", "2.1.332"])
def test_an_approval_is_seen_while_the_tool_runs_on(world: World, version: str) -> None:
    """No status file, and no hook until the tool ends (captures fact 4)."""
    agent = world.agent("one", registry=False, version=version)
    agent.do("permission touch x && sleep 120")
    world.broker.wait_queue(agent.session_id)
    session = agent.session_id

    def shown() -> bool:
        evidence = world.broker.call("session.explain", session_id=session)["evidence"]
        return any(c["source"] == "screen" and c["says"] == "stuck" for c in evidence)

    until(shown, what="the dialog was seen")
    world.tmux.tmux("send-keys", "-t", world.panes["one"], "Enter")
    world.broker.wait_queue()


@pytest.mark.parametrize("version", ["2.1.197", "2.1.332"])
def test_saying_no_is_seen(world: World, version: str) -> None:
    agent = world.agent("one", registry=False, transcript=False, version=version)
    agent.do("permission touch x")
    world.broker.wait_queue(agent.session_id)
    until(
        lambda: any(
            c["source"] == "screen"
            for c in world.broker.call("session.explain", session_id=agent.session_id)["evidence"]
        )
    )
    world.tmux.tmux("send-keys", "-t", world.panes["one"], "Escape")
    until(lambda: [i["reason"] for i in world.broker.items()] == ["stopped"])


def test_an_agent_of_which_nothing_was_heard_sits_at_a_dialog(world: World) -> None:
    """Neither hooks, status file nor transcript: the process and its screen."""
    agent = world.agent("one", hooks=False, registry=False, transcript=False)
    agent.do("permission touch made-by-a-stranger")
    (item,) = until(lambda: world.broker.items())
    assert item["reason"] == "permission"
    assert "made-by-a-stranger" in item["message"]
    assert item["pane_id"] == world.panes["one"]
    assert item["source"] == "screen"
    agent.do("approve")
    until(lambda: all(i["reason"] != "permission" for i in world.broker.items()))
    agent.end()
    world.broker.wait_queue()
