"""The emitter's standard input and arguments, of every kind."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess

import pytest

from tests.harness.emitter import EMIT, HANGS, SESSION, SHELLS, Collector, emit, entries, payload
from tests.harness.sandbox import Sandbox
from trailboss.emit import marks


def test_an_argument_is_the_payload_and_stdin_is_not_read(
    sandbox: Sandbox, collector: Collector
) -> None:
    reader, writer = os.pipe()
    try:
        emit(sandbox, "--event", "Stop", payload().decode(), stdin=reader)
        assert collector.wait_for(1)[0]["message"] == "done"
        emit(sandbox, payload(session="two").decode(), stdin=reader)
        assert collector.wait_for(2)[1]["session_id"] == "two"
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("args", [["--event"], ["--harness"], ["--nonsense", "--event=Stop"], [""]])
def test_odd_arguments(sandbox: Sandbox, no_python: str, args: list[str]) -> None:
    emit(sandbox, *args, body=payload(), script=no_python)
    assert len(entries(sandbox)) == (0 if args == [""] else 1)


@pytest.mark.parametrize("event", ["Stop", "PostToolUse", "PermissionRequest"])
@pytest.mark.parametrize("body", [b"", payload()], ids=["empty", "data"])
@pytest.mark.parametrize("worker", ["none", "resident", "impossible"])
def test_a_stdin_that_is_never_closed(
    sandbox: Sandbox, collector: Collector, event: str, body: bytes, worker: str
) -> None:
    """Case B57, a and b: the front ends by itself, and what it was given arrives."""
    script = EMIT
    if worker == "resident":
        emit(sandbox, "--event", "SessionEnd", body=payload("SessionEnd"))
        collector.wait_for(1)
    elif worker == "impossible":
        sandbox.env["PATH"] = "/nowhere"
        script = str(sandbox.root / "trailboss-emit")
        shutil.copy(EMIT, script)
    before = len(collector.events)
    reader, writer = os.pipe()
    try:
        os.write(writer, body)
        emit(sandbox, "--event", event, stdin=reader, script=script)
    finally:
        os.close(reader)
        os.close(writer)
    if event == "Stop" and body:
        assert [json.loads(e.body_file.read_bytes()) for e in entries(sandbox)][-1]
        if worker != "impossible":
            collector.wait_for(before + 1)
    elif not body and worker == "impossible":
        assert entries(sandbox) == []
        assert marks.of_session(sandbox.state, SESSION) == set()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("event", ["Stop", "PostToolUse", "PermissionRequest"])
def test_stdin_closed_empty_binary_or_a_terminal(
    sandbox: Sandbox, no_python: str, shell: list[str], event: str
) -> None:
    args = ["--event", event]
    emit(sandbox, *args, shell=shell, script=no_python, preexec=lambda: os.close(0))
    emit(sandbox, *args, shell=shell, script=no_python)
    emit(sandbox, *args, shell=shell, script=no_python, body=b"")
    master, slave = pty.openpty()
    emit(sandbox, *args, shell=shell, script=no_python, stdin=slave)
    os.close(master)
    os.close(slave)
    with open(os.devnull, "w") as write_only:
        emit(sandbox, *args, shell=shell, script=no_python, stdin=write_only)
    directory = os.open("/", os.O_RDONLY)
    emit(sandbox, *args, shell=shell, script=no_python, stdin=directory)
    os.close(directory)
    assert entries(sandbox) == []
    assert marks.of_session(sandbox.state, SESSION) == set()
    marks.put(sandbox.state, SESSION)
    binary = bytes(range(256)) * 50
    emit(sandbox, *args, shell=shell, script=no_python, body=binary)
    assert [entry.body_file.read_bytes() for entry in entries(sandbox)] == [binary]


@pytest.mark.parametrize("megabytes", [8, 50])
@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("worker", [True, False])
def test_a_large_stdin_is_read_to_its_end(
    sandbox: Sandbox, collector: Collector, megabytes: int, marked: bool, worker: bool
) -> None:
    """Case B57, c: no EPIPE for the writer; what is kept is bounded, and its beginning is used."""
    if marked:
        marks.put(sandbox.state, SESSION)
    if worker:
        emit(sandbox, "--event", "SessionEnd", body=payload("SessionEnd"))
        collector.wait_for(1)
    tool = {"tool_name": "Bash", "tool_input": {"command": "x"}}
    body = payload("PostToolUse", **tool, tool_response="r" * (megabytes << 20))
    process = sandbox.spawn(
        EMIT,
        "--event",
        "PostToolUse",
        env={"CLAUDE_CODE_SESSION_ID": SESSION},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdin is not None
    process.stdin.write(body)
    process.stdin.close()
    assert process.wait(HANGS) == 0
    assert process.stdout is not None
    assert process.stdout.read() == b""
    if marked:
        assert collector.wait_for(2 if worker else 1)[-1]["type"] == "unstuck"
        assert max(entry.body_file.stat().st_size for entry in entries(sandbox)) <= 16 << 20
