"""Section B with real tmux servers, processes and hooks: whose pane it is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cases.emitter import EMIT, Emitter
from tests.harness.broker import BrokerProcess
from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until


@pytest.fixture
def emitter(sandbox: Sandbox) -> Emitter:
    return Emitter(sandbox)


@pytest.fixture
def inner(sandbox: Sandbox) -> Iterator[TmuxServer]:
    """Another tmux server of the same user, begun by whoever needs it."""
    server = TmuxServer(sandbox, "inner")
    yield server
    server.close()


def known(broker: BrokerProcess) -> dict[str, dict[str, Any]]:
    return {s["session_id"]: s for s in broker.call("session.list")["sessions"]}


def now_iso() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# B18: a transcript that is not there


def test_b18_a_transcript_that_comes_later(broker: BrokerProcess, emitter: Emitter) -> None:
    path = broker.sandbox.root / "none" / "s1.jsonl"
    emitter.hook("SessionStart", "s1", transcript_path=str(path), source="startup")
    emitter.hook("Stop", "s1", transcript_path=str(path), last_assistant_message="Done.")
    (item,) = broker.wait_queue("s1")
    for _ in range(5):
        broker.call("reconcile.run")
    (again,) = broker.items()
    assert (again["since"], again["message"]) == (item["since"], "Done.")
    assert sum(str(path) in line for line in broker.log.splitlines()) <= 1
    path.parent.mkdir()
    lines = [
        {"type": "custom-title", "customTitle": "A title", "sessionId": "s1"},
        {
            "type": "user",
            "sessionId": "s1",
            "timestamp": now_iso(),
            "message": {"role": "user", "content": "go on"},
        },
    ]
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    broker.wait_queue()
    assert known(broker)["s1"]["title"] == "A title"


# B23: headless runs in a session's pane

AGENT = """#!/bin/sh
# An agent of the name that the harness has: claude ID [-p] STEP…, each step a hook or a command.
id=$1; shift
case $1 in -*) shift ;; esac
for step; do
    case $step in
        /*) eval "$step" ;;
        *) printf '{{"session_id":"%s","cwd":"/","hook_event_name":"%s"}}' "$id" "$step" |
            env CLAUDE_CODE_SESSION_ID="$id" {emit} --event "$step" ;;
    esac
done
"""


def agent_program(sandbox: Sandbox) -> Path:
    path = sandbox.root / "claude"
    path.write_text(AGENT.format(emit=EMIT))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("option", ["-p", ""], ids=["print", "child-alone"])
def test_b23_a_headless_run_without_a_mark(
    tmux: TmuxServer, broker: BrokerProcess, option: str
) -> None:
    """Nothing in its environment tells it: its command line does, or being the session's child."""
    claude, over = agent_program(broker.sandbox), broker.sandbox.root / "over"
    inner = [
        f"{claude} inner-{n} {option} SessionStart UserPromptSubmit Stop SessionEnd"
        for n in range(4)
    ]
    pane = tmux.new_session(
        "one", str(claude), "s1", "UserPromptSubmit", *inner, f"/bin/touch {over}", "/bin/cat"
    )
    until(lambda: known(broker).get("s1", {}).get("state") == "going", what="the outer one works")
    journal = broker.sandbox.state / "journal"
    until(over.exists, what="all inner runs are over")
    until(lambda: not list(journal.glob("*")), what="all hooks are heard")
    assert broker.queue() == []
    outer = known(broker)["s1"]
    assert (outer["state"], outer["pane_id"]) == ("going", pane)
    assert [s for s in known(broker) if s.startswith("inner")] == []


def test_b23_a_headless_run_by_itself(tmux: TmuxServer, broker: BrokerProcess) -> None:
    """Nobody's child, and no mark in its environment: its command line is all there is."""
    claude, over = agent_program(broker.sandbox), broker.sandbox.root / "over"
    for option in ("-p", "--print"):
        steps = ["SessionStart", "UserPromptSubmit", "Stop", f"/bin/touch {over}", "/bin/cat"]
        tmux.new_session(f"one{option}", str(claude), f"inner{option}", option, *steps)
        until(over.exists, what="it has told")
        over.unlink()
    tmux.new_session("two", str(claude), "person", "Stop", "/bin/cat")
    broker.wait_queue("person")
    until(lambda: not list((broker.sandbox.state / "journal").glob("*")), what="all is heard")
    assert list(known(broker)) == ["person"]


# B24: sessions in the background


def test_b24_no_pane_is_guessed_from_a_directory(
    tmux: TmuxServer, broker: BrokerProcess, emitter: Emitter
) -> None:
    tmux.new_session("desk", "cat")
    shell, editor = tmux.new_session("five", "sh"), tmux.new_session("six", "sleep", "600")
    assert {tmux.show("#{pane_current_path}", p) for p in (shell, editor)} == {
        str(broker.sandbox.home)
    }
    emitter.hook("Stop", "session-7", last_assistant_message="bg done")
    job = {"CLAUDE_JOB_DIR": "/tmp/cc-daemon-1000/jobs/j1", **emitter.place(tmux, shell)}
    emitter.hook("Stop", "session-8", env=job, last_assistant_message="bg2 done")
    broker.wait_queue("session-7", "session-8")
    broker.call("reconcile.run")
    items = {item["session_id"]: item for item in broker.items()}
    assert {name: item["pane_id"] for name, item in items.items()} == {
        "session-7": None,
        "session-8": None,
    }
    assert items["session-8"]["detail"]["attach"] == "claude attach j1"
    client = tmux.attach("desk")
    here = client.pane()
    for name in items:
        done = broker.sandbox.trailboss("jump", name, "--client", client.name, env=inside(tmux))
        assert done.returncode == 1
        assert b"pane" in done.stderr
    assert client.pane() == here
    listed = broker.sandbox.trailboss("queue").stdout.decode()
    assert listed.count("bg done") == listed.count("bg2 done") == 1


def inside(tmux: TmuxServer, pane: str = "") -> dict[str, str]:
    return {"TMUX": f"{tmux.socket},{tmux.pid},0", "TMUX_PANE": pane}


# B26: a tmux server inside a pane of another


def test_b26_the_same_pane_id_on_two_real_servers(
    tmux: TmuxServer, inner: TmuxServer, broker_of_both: BrokerProcess, emitter: Emitter
) -> None:
    broker = broker_of_both
    second = emitter.line("Stop", "session-2", last_assistant_message="inner")
    third = emitter.line("Stop", "session-3", "-u", "TMUX", last_assistant_message="left over")
    script = broker.sandbox.root / "inner.sh"
    script.write_text(f"{second}\nexec cat\n")
    outer = [
        emitter.line("Stop", "session-1", last_assistant_message="outer"),
        f"tmux -S {inner.socket} -f /dev/null new-session -d -s inner sh {script}",
        f"while [ ! -e {broker.sandbox.root}/go ]; do sleep 0.1; done",
        third,
        "exec cat",
    ]
    pane = tmux.new_session("outer", "sh", "-c", "\n".join(outer))
    broker.wait_queue("session-1", "session-2")
    (broker.sandbox.root / "go").touch()
    items = broker.wait_queue("session-1", "session-2", "session-3")
    assert pane == "%0"
    assert [(i["tmux_socket"], i["pane_id"]) for i in items] == [
        (str(tmux.socket), "%0"),
        (str(inner.socket), "%0"),
        (None, None),
    ]
    client = tmux.attach("outer")
    elsewhere = tmux.new_session("elsewhere", "cat")
    tmux.tmux("switch-client", "-c", client.name, "-t", "=elsewhere:")
    until(lambda: client.pane() == elsewhere, what="the client is elsewhere")
    done = broker.sandbox.trailboss(
        "jump", "session-2", "--client", client.name, env=inside(tmux, elsewhere)
    )
    assert done.returncode == 1
    assert str(inner.socket).encode() in done.stderr
    assert client.pane() == elsewhere


@pytest.fixture
def broker_of_both(
    sandbox: Sandbox, tmux: TmuxServer, inner: TmuxServer
) -> Iterator[BrokerProcess]:
    sandbox.env["TRAILBOSS_TMUX_SOCKETS"] += f":{inner.socket}"
    process = BrokerProcess(sandbox)
    process.start()
    yield process
    process.close()


# B28: a pane that outlives its agent


def test_b28_a_dead_pane_waits_for_nobody(
    tmux: TmuxServer, broker: BrokerProcess, emitter: Emitter
) -> None:
    desk = tmux.new_session("desk", "cat")
    tmux.tmux("set-option", "-g", "remain-on-exit", "on")
    stop = emitter.line("Stop", "session-1", last_assistant_message="Done.")
    pane = tmux.new_session("three", "sh", "-c", f"{stop}\nread line\nexit 1")
    (item,) = broker.wait_queue("session-1")
    assert item["pane_id"] == pane
    tmux.tmux("send-keys", "-t", pane, "Enter")
    # Not its exit status: tmux 3.3a forgets that now and then.
    until(lambda: tmux.show("#{pane_dead}", pane) == "1", what="it is dead")
    broker.wait_queue()
    assert broker.call("status")["depth"] == 0
    assert known(broker)["session-1"]["state"] == "ended"
    client = tmux.attach("desk")
    done = broker.sandbox.trailboss(
        "jump", "session-1", "--client", client.name, env=inside(tmux, desk)
    )
    assert client.pane() == desk or "dead" in (done.stdout + done.stderr).decode()
    assert Path(tmux.socket).exists()
