"""AS-1 to AS-7: the whole loop, with a private tmux server, a real broker, real hooks and a
person's client on a pty."""

from __future__ import annotations

import shutil

from tests.harness.wait import holds, until
from tests.harness.world import World
from trailboss import paths

NEXT = "\x02\t"


def test_as1_permission_block_next_approve(world: World) -> None:
    agent = world.agent("one")
    client = world.client()
    agent.do("permission touch made-1")
    (item,) = world.broker.wait_queue(agent.session_id)
    assert item["reason"] == "permission"
    assert "touch made-1" in item["message"]
    assert item["pane_id"] == world.panes["one"]
    world.shown("@trailboss_head", world.panes["one"])
    assert world.tmux.option("@trailboss_status") == "⚠ 1 stuck"
    client.type(NEXT)
    until(lambda: client.pane() == world.panes["one"], what="Next lands on the pane")
    agent.do("approve")
    # Its turn ends at once: that is a stop, and answered too.
    agent.do("busy on it")
    world.broker.wait_queue()
    world.shown("@trailboss_status", "")
    world.shown("@trailboss_head", "")


def test_as2_fifo(world: World) -> None:
    first, second = world.agent("a"), world.agent("b")
    client = world.client()
    first.do("stop First.")
    world.broker.wait_queue(first.session_id)
    second.do("permission touch made-2")
    world.broker.wait_queue(first.session_id, second.session_id)
    world.shown("@trailboss_depth", "2")
    client.type(NEXT)
    until(lambda: client.pane() == world.panes["a"], what="the oldest first")
    client.type(NEXT)
    until(lambda: client.pane() == world.panes["b"], what="then the one after it")
    client.type(NEXT)
    until(lambda: client.pane() == world.panes["a"], what="and round again")


def test_as3_answered_in_the_pane(world: World) -> None:
    """A person types into the pane; nobody touches Trail Boss."""
    agent = world.agent("one")
    agent.do("permission touch made-3")
    world.broker.wait_queue(agent.session_id)
    world.tmux.tmux("send-keys", "-t", world.panes["one"], "Escape")
    (item,) = until(
        lambda: [i for i in world.broker.items() if i["reason"] == "stopped"],
        what="saying no is silent, and seen all the same",
    )
    assert item["session_id"] == agent.session_id
    agent.do("busy on it")
    world.broker.wait_queue()


def test_as3_approved_while_the_tool_runs_on(world: World) -> None:
    """No hook until the tool ends (captures fact 4): the status file tells."""
    agent = world.agent("one")
    agent.do("permission touch made-3b && sleep 60")
    world.broker.wait_queue(agent.session_id)
    world.tmux.tmux("send-keys", "-t", world.panes["one"], "Enter")
    world.broker.wait_queue()


def test_as4_broker_down_during_the_stop_by_journal(world: World) -> None:
    agent = world.agent("one")
    agent.do("prompt hello", "stop First.")
    world.broker.wait_queue(agent.session_id)
    world.broker.kill()
    agent.do("prompt again", "stop Told to nobody.")
    world.broker.start()
    (item,) = world.broker.wait_queue(agent.session_id)
    assert item["message"] == "Told to nobody."
    until(lambda: not list(paths.journal_dir(world.sandbox.state).iterdir()), what="journal empty")


def test_as4_broker_down_during_the_stop_by_transcript(world: World) -> None:
    agent = world.agent("one", registry=False)
    agent.do("busy on it")
    until(lambda: world.broker.call("session.list")["sessions"], what="the session is known")
    world.broker.kill()
    agent.do("stop By the transcript alone.")
    shutil.rmtree(paths.journal_dir(world.sandbox.state))
    world.broker.start()
    (item,) = world.broker.wait_queue(agent.session_id)
    assert item["message"] == "By the transcript alone."
    assert item["source"] == "transcript"
    assert item["pane_id"] == world.panes["one"]


def test_as4_a_session_that_nobody_ever_told_of(world: World) -> None:
    """Neither hooks nor status file: process and transcript."""
    agent = world.agent("one", hooks=False, registry=False)
    agent.do("prompt hello", "stop Nobody told.")
    (item,) = world.broker.wait_queue(agent.session_id)
    assert item["pane_id"] == world.panes["one"]
    assert item["message"] == "Nobody told."


def test_as5_skip_and_cooldown(world: World) -> None:
    world.broker.stop()
    world.broker.env["TRAILBOSS_QUEUE_SKIP_COOLDOWN_S"] = "3"
    world.broker.start()
    agent = world.agent("one")
    client = world.client()
    agent.do("stop Done.")
    world.broker.wait_queue(agent.session_id)
    world.shown("@trailboss_head", world.panes["one"])
    client.type("\x02S")
    until(lambda: not world.broker.items()[0]["ready"], what="skipped by its key")
    world.shown("@trailboss_status", "")
    world.shown("@trailboss_head", "")
    assert world.broker.call("queue.next")["item"] is None
    assert world.broker.items()[0]["skips"] == 1
    world.shown("@trailboss_status", "⚠ 1 stuck")
    assert world.broker.call("queue.next")["item"]["session_id"] == agent.session_id


def test_as6_no_focus_is_stolen(world: World) -> None:
    client = world.client()
    here = client.pane()
    agents = [world.agent(name) for name in ("a", "b", "c")]
    for n, agent in enumerate(agents):
        client.type(f"typing {n} ")
        agent.do("permission touch x")
        assert client.pane() == here
    world.shown("@trailboss_depth", "3")
    agents[0].do("approve")
    agents[1].do("end")
    holds(lambda: client.pane() == here, 1.5, "the client stays where it is")
    until(lambda: "typing 0 typing 1 typing 2" in client.text(), what="every key reached its pane")


def test_as7_a_reused_pane_is_the_new_sessions(world: World) -> None:
    old = world.agent("one")
    client = world.client()
    old.do("stop Old.")
    world.broker.wait_queue(old.session_id)
    pane = world.panes["one"]
    retired = old.session_id
    new = world.again("two", pane)
    new.do("permission touch made-7")
    (item,) = world.broker.wait_queue(new.session_id)
    assert item["pane_id"] == pane
    assert retired not in world.broker.queue()
    world.shown("@trailboss_head", pane)
    client.type(NEXT)
    until(lambda: client.pane() == pane)
