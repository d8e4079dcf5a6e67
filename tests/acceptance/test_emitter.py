"""The emitter from outside: real shells, a real worker, a real PULL socket; what arrives."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness.emitter import (
    EMIT,
    SESSION,
    SHELLS,
    Collector,
    emit,
    entries,
    payload,
    permission,
    start_worker,
    workers,
)
from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from trailboss.emit import journal, marks


@pytest.mark.parametrize("shell", SHELLS)
def test_an_event_arrives_with_its_session_and_place(
    sandbox: Sandbox, collector: Collector, shell: list[str]
) -> None:
    pane = {"TMUX": "/tmp/tmux-1000/default,4711,0", "TMUX_PANE": "%17"}
    for body, event in ((payload(), "Stop"), (permission(), "PermissionRequest")):
        before = time.time_ns() // 1_000_000
        emit(sandbox, "--event", event, body=body, shell=shell, env=pane)
        got = collector.wait_for(len(collector.events) + 1)[-1]
        assert got["session_id"] == SESSION
        assert got["cwd"] == "/home/dev/project"
        assert got["pane_id"] == "%17"
        assert (got["tmux_socket"], got["tmux_pid"]) == ("/tmp/tmux-1000/default", 4711)
        assert before - 20 <= got["timestamp"] <= time.time_ns() // 1_000_000
        assert got["journal"] in {entry.name for entry in entries(sandbox)}


def test_the_pane_is_that_of_a_real_tmux(
    sandbox: Sandbox, collector: Collector, tmux: TmuxServer
) -> None:
    body = sandbox.root / "payload.json"
    body.write_bytes(payload())
    tmux.new_session("other", "sleep 300")
    pane = tmux.new_session("work", f"{EMIT} --event Stop <{body}; sleep 300")
    event = collector.wait_for(1)[0]
    assert event["pane_id"] == pane
    assert event["tmux_socket"] == str(tmux.socket)
    assert event["tmux_pid"] == tmux.pid
    ancestors = journal.read(entries(sandbox)[0]).ancestors
    assert ancestors[-1].pid == tmux.pid
    assert all(ancestor.start for ancestor in ancestors)


def test_control_without_the_captured_environment_the_pane_is_lost(
    sandbox: Sandbox, collector: Collector, no_python: str
) -> None:
    """The same entry but for the front's variables: the worker cannot know the pane."""
    pane: dict[str, str | None] = {"TMUX": "/tmp/tmux-1000/default,4711,0", "TMUX_PANE": "%17"}
    emit(sandbox, "--event", "Stop", body=payload(), env=pane, script=no_python)
    entry = entries(sandbox)[0]
    fields = entry.env_file.read_bytes().split(b"\0")
    assert b"%17" in fields
    for field in (b"%17", b"/tmp/tmux-1000/default,4711,0"):
        fields[fields.index(field)] = b""
    entry.env_file.write_bytes(b"\0".join(fields))
    start_worker(sandbox)
    event = collector.wait_for(1)[0]
    assert event["session_id"] == SESSION
    assert "pane_id" not in event
    assert "tmux_socket" not in event


def test_the_journal_holds_the_wanted_environment_and_no_secret(
    sandbox: Sandbox, no_python: str
) -> None:
    wanted = {
        name: f"value of {name}\nwith 'quotes' and é" for name in journal.VARIABLES if "_" in name
    }
    wanted |= {"TRAILBOSS_STATE_DIR": str(sandbox.state), "CLAUDE_CODE_SESSION_ID": SESSION}
    secret: dict[str, str | None] = {
        "CLAUDE_CODE_MESSAGING_TOKEN": "s3cret-1",
        "ANTHROPIC_API_KEY": "s3cret-2",
        "TRAILBOSS_FUTURE": "s3cret-3",
    }
    emit(
        sandbox,
        "--harness=claude",
        body=payload(),
        env={**secret, **wanted},
        script=no_python,
    )
    (entry,) = entries(sandbox)
    read = journal.read(entry)
    assert {name: read.env[name] for name in wanted} == wanted
    assert b"s3cret" not in entry.env_file.read_bytes()
    modes = {file.stat().st_mode & 0o777 for file in (sandbox.state / "journal").iterdir()}
    assert modes == {0o600}
    assert sandbox.state.stat().st_mode & 0o777 == 0o700


def test_order_is_by_the_start(sandbox: Sandbox, collector: Collector, no_python: str) -> None:
    for number in range(30):
        body = payload(last_assistant_message=f"m{number}")
        emit(sandbox, "--event", "Stop", body=body, script=no_python)
    start_worker(sandbox)
    messages = [event["message"] for event in collector.wait_for(30)]
    assert messages == [f"m{number}" for number in range(30)]
    times = [event["timestamp"] for event in collector.events]
    assert times == sorted(times)


def test_two_hundred_and_two_hundred(sandbox: Sandbox, collector: Collector) -> None:
    """Case B48: one after another, then twenty at a time."""
    for number in range(200):
        emit(sandbox, "--event", "Stop", body=payload(session=f"one-{number}"))
    with ThreadPoolExecutor(20) as pool:
        calls = [
            pool.submit(emit, sandbox, "--event", "Stop", body=payload(session=f"par-{number}"))
            for number in range(200)
        ]
        for call in calls:
            call.result()
    events = collector.wait_for(400)
    assert {event["session_id"] for event in events} == {
        f"{kind}-{number}" for kind in ("one", "par") for number in range(200)
    }
    assert len(entries(sandbox)) == 400


def test_a_burst_with_no_worker_starts_one(sandbox: Sandbox, collector: Collector) -> None:
    with ThreadPoolExecutor(20) as pool:
        list(
            pool.map(
                lambda n: emit(sandbox, "--event", "Stop", body=payload(session=f"s{n}")), range(40)
            )
        )
    collector.wait_for(40)
    assert len(workers(sandbox)) == 1


EVERY_CALL = ["PostToolUse", "PostToolUseFailure", "PostToolBatch", "PermissionDenied"]


@pytest.mark.parametrize("event", EVERY_CALL)
def test_a_session_without_a_mark_journals_no_tool_call(
    sandbox: Sandbox, no_python: str, event: str
) -> None:
    emit(sandbox, "--event", event, body=payload(event), script=no_python)
    emit(sandbox, "--event", event, payload(event).decode(), script=no_python)
    assert entries(sandbox) == []
    marks.put(sandbox.state, SESSION + "0")
    emit(sandbox, "--event", event, body=payload(event), script=no_python)
    assert entries(sandbox) == []
    marks.put(sandbox.state, SESSION)
    emit(sandbox, "--event", event, body=payload(event), script=no_python)
    assert len(entries(sandbox)) == 1


@pytest.mark.parametrize("session", [None, "", "../x", "a*", "a b", "x" * 200])
def test_an_unknown_session_is_journalled(
    sandbox: Sandbox, no_python: str, session: str | None
) -> None:
    env = {"CLAUDE_CODE_SESSION_ID": session}
    for event in ("PostToolUse", "PermissionRequest"):
        emit(sandbox, "--event", event, body=payload(event), env=env, script=no_python)
    assert len(entries(sandbox)) == 2
    assert list((sandbox.state / "marks").iterdir()) == []


@pytest.mark.parametrize("event", ["PermissionRequest", "Elicitation", "Notification"])
def test_each_request_makes_its_own_mark(sandbox: Sandbox, no_python: str, event: str) -> None:
    for _ in range(2):
        emit(sandbox, "--event", event, body=payload(event), script=no_python)
    assert marks.of_session(sandbox.state, SESSION) == {e.name for e in entries(sandbox)}
    emit(sandbox, "--event", "PostToolUse", body=payload("PostToolUse"), script=no_python)
    assert len(entries(sandbox)) == 3


def test_other_harnesses_inside_an_agent_make_no_marks(sandbox: Sandbox, no_python: str) -> None:
    emit(sandbox, "--harness", "codex", "--event", "PostToolUse", body=b"{}", script=no_python)
    emit(sandbox, "--harness", "codex", "--event", "Notification", body=b"{}", script=no_python)
    assert len(entries(sandbox)) == 2
    assert marks.of_session(sandbox.state, SESSION) == set()


def test_auto_allowed_calls_lose_no_answer(sandbox: Sandbox, collector: Collector) -> None:
    """Case B04: a request and its answer within milliseconds."""
    for number in range(10):
        tool: dict[str, object] = {"tool_name": "Bash", "tool_input": {"command": f"c{number}"}}
        for event in ("PermissionRequest", "PostToolUse"):
            emit(sandbox, "--event", event, body=payload(event, **tool))

    def told() -> list[str]:
        return [event["type"] for event in collector.poll() if "journal" in event]

    until(lambda: len(told()) == 20, what="each hook's last event comes")
    assert sorted(told()) == ["stuck"] * 10 + ["unstuck"] * 10
