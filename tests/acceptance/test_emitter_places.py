"""The emitter in places of every kind: no disk, no /proc, no directory, other people's modules."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness.emitter import (
    EMIT,
    HANGS,
    SESSION,
    SHELLS,
    Collector,
    emit,
    entries,
    payload,
    wait_for_worker,
)
from tests.harness.sandbox import Sandbox
from tests.harness.wait import until
from trailboss.emit import journal, marks


def test_a_place_that_cannot_be_made(sandbox: Sandbox) -> None:
    (sandbox.root / "file").write_text("")
    for state in (sandbox.root / "file", sandbox.root / "file" / "state", Path("/proc/trailboss")):
        env: dict[str, str | None] = {"TRAILBOSS_STATE_DIR": str(state)}
        for event in ("Stop", "PostToolUse", "PermissionRequest"):
            emit(sandbox, "--event", event, body=payload(event), env=env)
            emit(sandbox, "--event", event, payload(event).decode(), env=env)
    assert (sandbox.root / "file").read_text() == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_no_byte_can_be_written(sandbox: Sandbox, no_python: str, shell: list[str]) -> None:
    """Every write fails, as on a full disk."""

    def no_bytes() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    for event in ("Stop", "PostToolUse", "PermissionRequest"):
        body = payload(event, filler="x" * 200_000)
        emit(sandbox, "--event", event, body=body, shell=shell, script=no_python, preexec=no_bytes)
    assert entries(sandbox) == []
    assert marks.of_session(sandbox.state, SESSION) == set()


def in_namespace(sandbox: Sandbox, commands: str) -> subprocess.CompletedProcess[bytes]:
    """Run shell commands in a mount namespace of their own, where this may be done at all."""
    sandbox.env["PATH"] = f"{sandbox.env['PATH']}:/usr/bin:/bin"
    for flags in (["-m"], ["-Urm"]):
        if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode == 0:
            return sandbox.run("unshare", *flags, "sh", "-ec", commands, input=payload())
    pytest.skip("no mount namespace may be made here")


def test_a_read_only_state_dir(sandbox: Sandbox) -> None:
    for name in ("journal", "marks"):
        (sandbox.state / name).mkdir(parents=True)
    state = sandbox.state
    done = in_namespace(
        sandbox,
        f"mount --bind {state} {state}; mount -o remount,ro,bind {state}\n"
        f"! touch {state}/x 2>/dev/null || exit 9\n"
        f"{EMIT} --event Stop; {EMIT} --event PermissionRequest '{{}}'",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert entries(sandbox) == []


def test_a_full_disk(sandbox: Sandbox, no_python: str) -> None:
    state = sandbox.state
    state.mkdir()
    done = in_namespace(
        sandbox,
        f"mount -t tmpfs -o size=64k tmpfs {state}; mkdir {state}/journal {state}/marks\n"
        f"cat /dev/zero >{state}/filler 2>/dev/null || :\n"
        f"{no_python} --event Stop; ls {state}/journal",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_without_proc_the_event_arrives_all_the_same(
    sandbox: Sandbox, collector: Collector
) -> None:
    """As on macOS: the parent's pid alone, and the clock from `date`."""
    empty = sandbox.root / "empty"
    empty.mkdir()
    done = in_namespace(sandbox, f"mount --bind {empty} /proc\n{EMIT} --event Stop\nsleep 0.1")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    event = collector.wait_for(1)[0]
    assert event["session_id"] == SESSION
    (entry,) = entries(sandbox)
    assert entry.name.startswith(str(int(time.time()))[:6])
    assert [ancestor.comm for ancestor in journal.read(entry).ancestors] == [""]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_working_directory_that_is_gone(
    sandbox: Sandbox, collector: Collector, shell: list[str]
) -> None:
    """Case B108. The shell itself complains before it reads a line of ours; we add nothing."""
    gone = sandbox.root / "gone"
    gone.mkdir()

    def enter() -> None:
        os.chdir(gone)
        os.rmdir(gone)

    done = subprocess.run(
        [*shell, EMIT, "--event", "Stop"],
        input=payload(),
        env=sandbox.env,
        capture_output=True,
        timeout=HANGS,
        preexec_fn=enter,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert len(done.stderr.splitlines()) <= 1
    assert b"getcwd" in done.stderr or not done.stderr
    assert collector.wait_for(1)[0]["cwd"] == "/home/dev/project"


def test_a_bare_environment(sandbox: Sandbox, collector: Collector) -> None:
    """No HOME, no PATH, no locale, no tmux."""
    env: dict[str, str | None] = dict.fromkeys(sandbox.env)
    for kept in ("TRAILBOSS_STATE_DIR", "TRAILBOSS_RUNTIME_DIR"):
        env[kept] = sandbox.env[kept]
    env["CLAUDE_CODE_SESSION_ID"] = None
    emit(sandbox, "--event", "Stop", body=payload(), env=env)
    assert "pane_id" not in collector.wait_for(1)[0]


@pytest.mark.parametrize(
    ("env", "place"),
    [
        ({"XDG_STATE_HOME": "{root}/xdg"}, "xdg/trailboss"),
        ({}, "home/.local/state/trailboss"),
        ({"TRAILBOSS_STATE_DIR": "", "XDG_STATE_HOME": ""}, "home/.local/state/trailboss"),
    ],
)
def test_the_state_dir_is_that_of_the_contract(
    sandbox: Sandbox, no_python: str, env: dict[str, str], place: str
) -> None:
    given = {key: value.format(root=sandbox.root) for key, value in env.items()}
    merged: dict[str, str | None] = {"TRAILBOSS_STATE_DIR": None, **given}
    emit(sandbox, "--event", "Stop", body=payload(), env=merged, script=no_python)
    assert len(journal.entries(sandbox.root / place / "journal")) == 1


def test_modules_of_the_project_do_no_harm(sandbox: Sandbox, collector: Collector) -> None:
    project = sandbox.root / "project"
    (project / "trailboss").mkdir(parents=True)
    for name in ("signal", "json", "zmq", "select", "trailboss/__init__"):
        (project / f"{name}.py").write_text("raise SystemExit('not this one')\n")
    env: dict[str, str | None] = {
        "PYTHONPATH": str(project),
        "PYTHONHOME": str(project),
        "PYTHONWARNINGS": "always",
        "PYTHONDEVMODE": "1",
        "PYTHONSTARTUP": str(project / "signal.py"),
    }
    emit(sandbox, "--event", "Stop", body=payload(), env=env, preexec=lambda: os.chdir(project))
    collector.wait_for(1)


def test_it_works_through_links(sandbox: Sandbox, collector: Collector) -> None:
    """As pipx makes them: a link to the script, here by way of a relative one."""
    bin_dir = sandbox.root / "bin"
    bin_dir.mkdir()
    (bin_dir / "one").symlink_to(EMIT)
    (bin_dir / "trailboss-emit").symlink_to("one")
    emit(
        sandbox,
        "--event",
        "Stop",
        body=payload(),
        script="trailboss-emit",
        env={"PATH": f"{bin_dir}:/usr/bin:/bin"},
    )
    collector.wait_for(1)


def test_beside_an_interpreter_it_uses_that_one(sandbox: Sandbox, collector: Collector) -> None:
    """As a wheel installs it: the script in an environment's bin/."""
    bin_dir = sandbox.root / "venv" / "bin"
    bin_dir.mkdir(parents=True)
    shutil.copy(EMIT, bin_dir)
    (bin_dir / "python").write_text(
        f'#!/bin/sh\n[ "$1" = -EP ] || exit 1\nshift\nexec {sys.executable} "$@"\n'
    )
    (bin_dir / "python").chmod(0o755)
    emit(
        sandbox,
        "--event",
        "Stop",
        body=payload(),
        script=str(bin_dir / "trailboss-emit"),
        env={"PATH": "/nowhere"},
    )
    collector.wait_for(1)


def test_nothing_of_the_hook_is_kept_open(sandbox: Sandbox) -> None:
    """Whoever waits for the end of the hook's pipes need not wait for worker or sleeper."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    for event in ("Stop", "PostToolUse"):
        emit(sandbox, "--event", event, body=payload(event), pass_fds=[writer])
    wait_for_worker(sandbox)
    os.close(writer)
    os.set_blocking(reader, False)

    def ended() -> bool:
        try:
            return os.read(reader, 1) == b""
        except BlockingIOError:
            return False

    until(ended, what="all ends of an inherited pipe are closed")
    os.close(reader)
