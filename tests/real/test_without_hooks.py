"""The real CLI without any hook of ours: its status file and its transcript are all there is."""

from __future__ import annotations

import pytest

from tests.harness.sandbox import Sandbox
from tests.real.cli import PERMISSION, Claude
from tests.real.conftest import Queue

pytestmark = pytest.mark.real


def test_a_permission_comes_and_goes(claude: Claude, unhooked: Queue) -> None:
    pane = claude.start("work")
    pane.type("[[busy: touch made]]")
    item = unhooked.wait_for(pane, "permission")
    assert item["session_id"] == pane.session_id()
    pane.approve()
    unhooked.wait_out(pane)
    unhooked.stays_out(pane)


def test_esc_makes_it_a_stop_and_a_prompt_ends_that(claude: Claude, unhooked: Queue) -> None:
    pane = claude.start("work")
    pane.type("[[bash: touch made]]")
    unhooked.wait_for(pane, "permission")
    pane.answer("Escape", PERMISSION)
    unhooked.wait_for(pane, "stopped")
    pane.type("[[hang: 120]]")
    unhooked.wait_out(pane)


def test_a_fresh_prompt_is_not_stuck_and_a_finished_turn_is(
    claude: Claude, unhooked: Queue
) -> None:
    pane = claude.start("work")
    unhooked.stays_out(pane, 3)
    pane.type("[[say: What next?]]")
    unhooked.wait_for(pane, "stopped", "What next?")


def test_sessions_that_waited_before_the_broker_came(claude: Claude, sandbox: Sandbox) -> None:
    asking = claude.start("asking")
    asking.type("[[bash: touch made]]")
    asking.wait(PERMISSION)
    done = claude.start("done")
    done.type("[[say: What next?]]")
    done.wait("● What next")
    queue = Queue(sandbox)
    queue.start()
    queue.wait_for(asking, "permission")
    queue.wait_for(done, "stopped", "What next?")
