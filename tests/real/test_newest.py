"""What only the newest version does: auto mode, and sessions that leave their pane."""

from __future__ import annotations

import pytest

from tests.harness.wait import until
from tests.real.cache import VERSIONS
from tests.real.cli import Claude
from tests.real.conftest import Queue

pytestmark = [pytest.mark.real, pytest.mark.parametrize("version", VERSIONS[-1:], indirect=True)]

NOTICE = "Enter to stay in auto mode"


def test_a_refusal_of_auto_mode_is_no_wait(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work", "--permission-mode", "auto")
    pane.type("[[flagged: touch made]]")
    queue.wait_for(pane, "stopped", "All done.")
    assert not (claude.project / "made").exists()


def test_a_dialog_without_a_permission_request(claude: Claude, queue: Queue) -> None:
    """Where auto mode's check does not get through, a notice and a dialog open without a hook."""
    pane = claude.start("work", "--permission-mode", "auto")
    pane.type("[[unchecked: rm -rf ~/elsewhere && touch made]]")
    pane.wait(NOTICE)
    queue.wait_for(pane, "permission")
    pane.answer("Enter", NOTICE)
    pane.settled("❯ No")
    queue.wait_for(pane, "permission")
    pane.answer("Down", "❯ No")
    pane.answer("Enter", "❯ Yes")
    queue.wait_for(pane, "stopped", "All done.")
    assert (claude.project / "made").exists()


def test_a_background_session_says_how_to_reach_it(claude: Claude, queue: Queue) -> None:
    shell = claude.shell("work")
    shell.run("claude", "--bg", "[[bash: touch made]]")
    until(lambda: queue.items(), 40, "the background session in the queue")
    (item,) = queue.items()
    assert item["reason"] == "permission"
    assert "touch made" in item["message"]
    assert item["pane_id"] is None
    assert item["detail"]["attach"].startswith("claude attach ")
