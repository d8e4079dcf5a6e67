"""The whole loop on the real CLI: stuck, found, visited, answered, gone."""

from __future__ import annotations

import pytest

from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from tests.real.cli import PERMISSION, Claude
from tests.real.conftest import Queue
from trailboss import paths

pytestmark = pytest.mark.real


def test_a_permission_is_queued_and_approving_takes_it_out(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work")
    pane.type("[[busy: touch made]]")
    item = queue.wait_for(pane, "permission", "touch made")
    assert item["session_id"] == pane.session_id()
    assert item["harness"] == "claude"
    assert item["cwd"] == str(claude.project)
    assert item["position"] == 1
    assert item["detail"]["tool_name"] == "Bash"
    assert item["detail"]["tool_input"]["command"] == "touch made"
    pane.approve()
    queue.wait_out(pane)
    until(lambda: (claude.project / "made").exists(), what="the approved command ran")
    # The turn goes on: nothing to see here.
    queue.stays_out(pane)


def test_a_stop_is_queued_and_answering_takes_it_out(claude: Claude, queue: Queue) -> None:
    pane = claude.start("work")
    queue.stays_out(pane, 1)  # a fresh prompt waits for nobody
    pane.type("[[say: Fast or safe, which one do you want?]]")
    item = queue.wait_for(pane, "stopped", "Fast or safe, which one do you want?")
    assert item["session_id"] == pane.session_id()
    pane.type("safe, please [[hang: 120]]")
    queue.wait_out(pane)
    queue.stays_out(pane)


def test_next_lands_a_client_on_the_pane(
    claude: Claude, queue: Queue, tmux: TmuxServer, sandbox: Sandbox
) -> None:
    elsewhere = tmux.new_session("elsewhere", "sh")
    pane = claude.start("work")
    client = tmux.attach("elsewhere", size=(120, 40))
    pane.type("[[bash: touch made]]")
    queue.wait_for(pane, "permission", "touch made")
    pane.wait(PERMISSION)
    assert client.pane() == elsewhere, "nobody pressed a key yet"
    done = sandbox.trailboss("next", "--client", client.name)
    assert done.returncode == 0, done.stderr.decode()
    until(lambda: client.pane() == pane.id, what="the client is on the pane")
    until(lambda: "Do you want to proceed?" in client.text(), what="the dialog is in sight")
    client.type("\r")
    until(lambda: (claude.project / "made").exists(), what="approved from the client's keyboard")


def test_first_in_first_out_over_two_sessions(claude: Claude, queue: Queue) -> None:
    first = claude.start("first")
    second = claude.start("second")
    second.type("[[say: I was first.]]")
    queue.wait_for(second, "stopped", "I was first.")
    first.type("[[bash: touch made]]")
    queue.wait_for(first, "permission")
    assert [item["pane_id"] for item in queue.items()] == [second.id, first.id]
    head = queue.call("queue.next")["item"]
    assert head["pane_id"] == second.id


def test_what_happens_while_the_broker_is_down_is_there_after(
    claude: Claude, hooked: None, sandbox: Sandbox
) -> None:
    pane = claude.start("work")
    pane.type("[[say: Nobody listens.]]")
    pane.wait("● Nobody listens")
    journal = paths.journal_dir(sandbox.state)
    until(lambda: list(journal.glob("*")), what="the hooks wrote into the journal")
    queue = Queue(sandbox)
    queue.start()
    item = queue.wait_for(pane, "stopped", "Nobody listens.")
    assert item["session_id"] == pane.session_id()
