"""How sessions of the real CLI change their name and end."""

from __future__ import annotations

import pytest

from tests.harness.wait import until
from tests.real.cli import Claude
from tests.real.conftest import Queue

pytestmark = pytest.mark.real


def test_clear_takes_it_out_and_the_new_session_has_the_pane(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work")
    pane.type("[[say: The first answer.]]")
    before = queue.wait_for(pane, "stopped", "The first answer.")["session_id"]
    pane.type("/clear")
    queue.wait_out(pane)
    until(lambda: pane.session_id() not in ("", before), what="a new session id")
    pane.type("[[say: The second answer.]]")
    item = queue.wait_for(pane, "stopped", "The second answer.")
    assert item["session_id"] == pane.session_id() != before
    assert [item["session_id"] for item in queue.items()] == [pane.session_id()]


def test_exit_takes_it_out_and_resuming_brings_it_back(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work")
    pane.type("[[say: See you.]]")
    session = queue.wait_for(pane, "stopped", "See you.")["session_id"]
    pane.type("/exit")
    queue.wait_out(pane)
    until(lambda: pane.pid() is None, what="the CLI ended")
    again = claude.start("again", "--resume", session)
    again.type("[[say: Back again.]]")
    assert queue.wait_for(again, "stopped", "Back again.")["session_id"] == session


def test_another_session_opened_in_the_same_process(claude: Claude, queue: Queue) -> None:
    """/resume ends the one and starts the other within milliseconds, both under one pid."""
    earlier = claude.start("earlier")
    earlier.type("[[say: The earlier one.]]")
    old = queue.wait_for(earlier, "stopped", "The earlier one.")["session_id"]
    earlier.type("/exit")
    queue.wait_out(earlier)
    pane = claude.start("work")
    pane.type("[[say: The later one.]]")
    left = queue.wait_for(pane, "stopped", "The later one.")["session_id"]
    pane.type("/resume")
    pane.answer("Enter", "Resume session")
    until(lambda: pane.session_id() == old, what="the earlier session is open")
    until(lambda: left not in [item["session_id"] for item in queue.items()], 30, "it is left")
    pane.type("[[say: Both together.]]")
    assert queue.wait_for(pane, "stopped", "Both together.")["session_id"] == old


def test_a_killed_process_takes_it_out(claude: Claude, queue: Queue) -> None:
    """Nothing tells: no hook, and the status file still says that it waits."""
    pane = claude.start("work")
    pane.type("[[bash: touch made]]")
    queue.wait_for(pane, "permission", "touch made")
    pane.kill()
    queue.wait_out(pane)


def test_a_killed_pane_takes_it_out(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work")
    claude.shell("keeps-the-server")
    pane.type("[[bash: touch made]]")
    queue.wait_for(pane, "permission", "touch made")
    claude.server.tmux("kill-pane", "-t", pane.id)
    until(lambda: not queue.items(), 30, "the queue is empty")


def test_a_headless_run_inside_changes_nothing(claude: Claude, queue: Queue) -> None:
    """`claude -p` from an agent's tool has the same pane, and stops before its parent does."""
    pane = claude.start("work")
    pane.type("[[busy: claude -p 'a side errand' > said]]")
    item = queue.wait_for(pane, "permission", "claude -p")
    pane.approve()
    said = claude.project / "said"
    until(lambda: said.exists() and said.read_text().strip(), 60, "the inner run ended")
    queue.wait_out(pane)
    queue.stays_out(pane)
    sessions = queue.call("session.list")["sessions"]
    assert [session["session_id"] for session in sessions] == [item["session_id"]]
