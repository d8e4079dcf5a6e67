"""Dialogs of the real CLI, answered in ways that hooks tell about or keep silent about."""

from __future__ import annotations

import pytest

from tests.harness.wait import until
from tests.real.asker import QUESTION
from tests.real.cli import CHOICE, PERMISSION, Claude
from tests.real.conftest import Queue

pytestmark = pytest.mark.real


def test_esc_on_a_permission_leaves_a_stopped_session(claude: Claude, queue: Queue) -> None:
    """No hook fires at a no: the status file and the transcript tell."""
    pane = claude.start("work")
    pane.type("[[bash: touch made]]")
    queue.wait_for(pane, "permission", "touch made")
    pane.answer("Escape", PERMISSION)
    queue.wait_for(pane, "stopped")
    pane.type("[[hang: 120]]")
    queue.wait_out(pane)


def test_the_option_no_leaves_a_stopped_session(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work")
    pane.type("[[bash: touch made]]")
    queue.wait_for(pane, "permission", "touch made")
    pane.choose("No", PERMISSION)
    queue.wait_for(pane, "stopped")


def test_approving_a_long_command_takes_it_out_at_once(claude: Claude, queue: Queue) -> None:
    """No hook fires at a yes until the tool ends."""
    pane = claude.start("work")
    pane.type("[[bash: touch made && sleep 120]]")
    queue.wait_for(pane, "permission", "touch made && sleep 120")
    pane.approve()
    queue.wait_out(pane)
    queue.stays_out(pane)


def test_a_question_shows_its_options(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work")
    pane.type("[[ask]]")
    item = queue.wait_for(pane, "permission", "Which colour should the button have?")
    assert "Green" in item["message"]
    pane.choose("Green")
    queue.wait_for(pane, "stopped", "All done.")


def test_a_plan_waits_for_approval(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work", "--permission-mode", "plan")
    pane.type("[[plan]]")
    queue.wait_for(pane, "permission", "Make a button.")
    pane.choose(r"Yes,[^\n]*manually approve", CHOICE)
    queue.wait_for(pane, "stopped", "All done.")


def test_an_interrupted_turn_is_stopped(claude: Claude, queue: Queue) -> None:
    """Esc in mid-answer fires no hook either."""
    pane = claude.start("work")
    pane.type("[[slow: 60]]")
    pane.wait("This is line 1 of")
    queue.stays_out(pane, 1)
    pane.press("Escape")
    queue.wait_for(pane, "stopped")


def test_an_api_error_is_stopped_with_its_name(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work")
    pane.type("[[error: 429]]")
    item = queue.wait_for(pane, "stopped")
    assert item["detail"]["error"] == "rate_limit"


def test_a_subagents_permission_is_queued_until_it_is_answered(
    claude: Claude, queue: Queue
) -> None:
    """The newest version says Stop while the subagent's dialog is open."""
    pane = claude.start("work")
    pane.type("[[agent: touch made]]")
    item = queue.wait_for(pane, "permission", "touch made")
    assert item["detail"]["agent_id"]
    pane.settled(PERMISSION)
    assert [item["reason"] for item in queue.of(pane)] == ["permission"]
    pane.approve()
    queue.wait_for(pane, "stopped", "All done.")
    assert (claude.project / "made").exists()


def test_of_two_subagents_one_answer_leaves_the_other(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work")
    pane.type("[[agents: touch one || touch two]]")
    queue.wait_for(pane, "permission", "touch ")
    made = [claude.project / "one", claude.project / "two"]
    pane.approve()
    until(lambda: any(file.exists() for file in made), what="one command ran")
    pane.settled(PERMISSION)
    queue.wait_for(pane, "permission", "touch ")
    pane.approve()
    queue.wait_for(pane, "stopped", "All done.")
    assert all(file.exists() for file in made)


def test_a_background_command_is_a_stop_that_cools(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work")
    pane.type("[[bg: sleep 120]]")
    # The transcript may tell of the stop before its hook, which alone names the tasks.
    until(
        lambda: (
            not (item := queue.wait_for(pane, "stopped", "It is running."))["ready"]
            and item["cooldown_until"]
        ),
        what="the stop cools while its command runs",
    )


def test_an_elicitation_form_waits_until_it_is_answered(claude: Claude, queue: Queue) -> None:
    """The older version's status file says busy all the while."""
    pane = claude.start("work", "--mcp-config", str(claude.asker()))
    pane.type("[[tool: mcp__asker__ask {}]]")
    queue.wait_for(pane, "permission", QUESTION)
    pane.settled(QUESTION)
    assert [item["reason"] for item in queue.of(pane)] == ["permission"]
    pane.answer("Escape", QUESTION)
    queue.wait_for(pane, "stopped", "All done.")
