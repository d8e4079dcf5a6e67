"""Section M: the harness's own status files, real processes and a real broker."""

from __future__ import annotations

import os
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness.broker import BrokerProcess
from tests.harness.sandbox import Sandbox
from tests.harness.wait import until
from tests.harness.world import EMIT, World
from tools.fake_agent.control import Control, command_line
from trailboss.broker import processes


def status(pid: int, session: str, **more: Any) -> bytes:
    """A status file of the newest version."""
    now = time.time_ns() // 1_000_000
    found = processes.look(pid)
    return orjson.dumps(
        {
            "pid": pid,
            "sessionId": session,
            "cwd": "/home/dev/demo/app",
            "startedAt": now - 60_000,
            "procStart": str(found.start) if found else "1",
            "version": "2.1.332",
            "kind": "interactive",
            "entrypoint": "cli",
            "status": "waiting",
            "waitingFor": "permission prompt",
            "updatedAt": now,
            "statusUpdatedAt": now,
            **more,
        }
    )


def sleeper(sandbox: Sandbox) -> int:
    return sandbox.spawn("sleep", "3600").pid


def dead_pid(sandbox: Sandbox) -> int:
    process = sandbox.spawn("true")
    process.wait(30)
    assert processes.look(process.pid) is None
    return process.pid


def sessions(broker: BrokerProcess) -> list[str]:
    return sorted(s["session_id"] for s in broker.call("session.list")["sessions"])


def problems(broker: BrokerProcess) -> list[str]:
    words = ("WARN", "ERROR", "Traceback")
    return [line for line in broker.log.splitlines() if any(word in line for word in words)]


def test_b113_left_over_and_foreign_files(broker: BrokerProcess) -> None:
    sandbox = broker.sandbox
    folder = sandbox.home / ".claude" / "sessions"
    folder.mkdir(parents=True)
    live, other = sleeper(sandbox), sleeper(sandbox)
    half = sleeper(sandbox)
    whole = status(half, "half")
    (folder / f"{dead_pid(sandbox)}.json").write_bytes(status(1, "dead", procStart="7"))
    dead = dead_pid(sandbox)
    (folder / f"{dead}.json").write_bytes(status(dead, "dead"))
    (folder / f"{other}.json").write_bytes(status(other, "reused", procStart="7"))
    for pid in (live, other, dead):
        old = orjson.dumps({"session_id": f"old-{pid}", "cwd": "/home/dev", "pid": pid})
        (folder / f"pid-{pid}.json").write_bytes(old)
    (folder / "424242.json").write_bytes(b"")
    (folder / f"{half}.json").write_bytes(whole[: len(whole) // 2])
    (folder / "NOTES.md").write_text("# Notes\n")
    (folder / "77.json").mkdir()
    (folder / f"{live}.json").write_bytes(status(live, "live"))
    broker.wait_queue("live")
    for _ in range(3):
        broker.call("reconcile.run")
    assert sessions(broker) == ["live"]
    (folder / f"{half}.json").write_bytes(whole)
    broker.wait_queue("half", "live")
    for _ in range(3):
        broker.call("reconcile.run")
    assert sessions(broker) == ["half", "live"]
    said = problems(broker)
    assert len(said) == len({line.split(" ", 2)[-1] for line in said})


def test_b113_an_unknown_word_a_key_and_a_pipe(broker: BrokerProcess) -> None:
    """Secrets lie beside the files, and a pipe of such a name would block whoever opened it."""
    sandbox = broker.sandbox
    folder = sandbox.home / ".claude" / "sessions"
    folder.mkdir(parents=True)
    live = sleeper(sandbox)
    key = folder / f"{live}.{'a' * 64}.key"
    key.write_text("secret")
    os.mkfifo(folder / "55.json")
    strange = status(live, "live", status="levitating", waitingFor=None, extra={"deep": [1]})
    (folder / f"{live}.json").write_bytes(strange)
    for _ in range(3):
        broker.call("reconcile.run")
    assert broker.queue() == []
    (folder / f"{live}.json").write_bytes(status(live, "live"))
    broker.wait_queue("live")
    assert not problems(broker)


@pytest.mark.parametrize("variant", ["no hooks at all", "a hook has told"])
def test_b114_a_question_while_the_status_says_busy(broker: BrokerProcess, variant: str) -> None:
    sandbox = broker.sandbox
    home = sandbox.home / ".claude"
    (home / "sessions").mkdir(parents=True)
    folder = home / "projects" / "-home-dev-demo-app"
    folder.mkdir(parents=True)
    live = sleeper(sandbox)
    transcript = folder / "s1.jsonl"
    asked = {"questions": [{"question": "Which database?", "options": [{"label": "One"}]}]}
    block = {"type": "tool_use", "id": "toolu_Q", "name": "AskUserQuestion", "input": asked}
    write(transcript, "user", "choose one", -40)
    write(transcript, "assistant", [block], -30)
    now = time.time_ns() // 1_000_000
    busy = {"status": "busy", "waitingFor": None, "statusUpdatedAt": now - 40_000}
    (home / "sessions" / f"{live}.json").write_bytes(status(live, "s1", **busy))
    if variant == "a hook has told":
        detail = {"tool_name": "AskUserQuestion", "tool_input": asked}
        broker.event(
            "stuck", "s1", reason="permission", message="Which database? (One)",
            detail=detail, timestamp=now - 30_000, transcript_path=str(transcript),
        )  # fmt: skip
    (item,) = broker.wait_queue("s1")
    assert item["reason"] == "permission"
    assert "Which database?" in item["message"]
    for _ in range(3):
        broker.call("reconcile.run")
    assert broker.queue() == ["s1"]
    write(transcript, "user", [{"type": "tool_result", "tool_use_id": "toolu_Q"}], 0)
    if variant == "a hook has told":
        write(transcript, "user", "go on", 0.001)
    broker.wait_queue()


def write(path: Path, kind: str, content: Any, ago_s: float) -> None:
    """Append a line to a transcript, with the time so many seconds from now."""
    moment = time.time() + ago_s
    line = {
        "type": kind,
        "sessionId": path.stem,
        "timestamp": datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds"),
        "message": {"role": kind, "content": content},
    }
    with open(path, "ab") as file:
        file.write(orjson.dumps(line) + b"\n")


def test_b118_no_status_files_at_all(world: World) -> None:
    agent = world.agent("one", registry=False)
    home = world.sandbox.home / ".claude"
    agent.do("prompt hello")
    (item,) = world.broker.wait_queue(agent.session_id)
    assert item["pane_id"] == world.panes["one"]
    agent.do("permission rm -rf build")
    until(lambda: [i["reason"] for i in world.broker.items()] == ["permission"], what="it asks")
    agent.do("deny")
    until(lambda: [i["reason"] for i in world.broker.items()] == ["stopped"], what="it is told no")
    agent.do("busy on it")
    world.broker.wait_queue()
    assert not (home / "sessions").exists()


def test_b118_a_launcher_between_pane_and_agent(world: World) -> None:
    """The pane's process is a shell, its child a launcher, and that one's child the agent."""
    control = world.sandbox.root / "one.ctl"
    words = command_line(control=control, emit=EMIT, hooks=False, transcript=False)
    launcher, wrapper = world.sandbox.root / "launch", world.sandbox.root / "wrap"
    launcher.write_text(f"#!/bin/sh\n{shlex.join(words)}\necho over\n")
    wrapper.write_text(f"#!/bin/sh\nsh {launcher}\nexec cat\n")
    pane = world.tmux.new_session("one", "sh", str(wrapper))
    agent = Control(control)
    world.agents.append(agent)
    agent.do("permission rm -rf build")
    (item,) = world.broker.wait_queue(agent.session_id)
    top = processes.ancestors(agent.pid)
    shell = int(world.tmux.show("#{pane_pid}", pane))
    assert top.index(shell) == 2
    assert item["source"] == "registry"
    until(lambda: world.broker.items()[0]["pane_id"] == pane, what="its pane is found")
    until(lambda: world.broker.items()[0]["target"] == "one:0.0", what="its place has a name")
