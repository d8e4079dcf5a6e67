"""The emitter from outside: what its tests share."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zmq

from tests.harness.sandbox import REPO, Sandbox
from tests.harness.wait import until
from trailboss.emit import journal

EMIT = str(REPO / "bin" / "trailboss-emit")
SESSION = "00000001-aaaa-4bbb-8ccc-000000000001"
#: A hook that hangs hangs for ever: seconds after which it surely does, on a busy machine too.
HANGS = 15.0
SHELLS = [
    pytest.param([shutil.which(argv[0]), *argv[1:]], id=argv[0])
    for argv in (["sh"], ["dash"], ["bash", "--posix"], ["busybox", "ash"])
    if shutil.which(argv[0])
]


def payload(event: str = "Stop", session: str = SESSION, **more: object) -> bytes:
    """A hook's standard input, in the shape that the captures show."""
    return json.dumps(
        {
            "session_id": session,
            "transcript_path": f"/home/dev/.claude/projects/-home-dev-project/{session}.jsonl",
            "cwd": "/home/dev/project",
            "permission_mode": "default",
            "hook_event_name": event,
            **({"last_assistant_message": "done"} if event == "Stop" else {}),
            **more,
        }
    ).encode()


def permission(command: str = "make deploy") -> bytes:
    return payload("PermissionRequest", tool_name="Bash", tool_input={"command": command})


class Collector:
    """A PULL socket where the broker's would be; it commits nothing and removes nothing."""

    def __init__(self, sandbox: Sandbox) -> None:
        sandbox.runtime.mkdir(mode=0o700, exist_ok=True)
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.PULL)
        self._socket.setsockopt(zmq.RCVHWM, 0)
        self._socket.bind(f"ipc://{sandbox.runtime / 'events.sock'}")
        self.events: list[dict[str, Any]] = []

    def poll(self) -> list[dict[str, Any]]:
        while self._socket.poll(0):
            self.events.append(json.loads(self._socket.recv()))
        return self.events

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """The events, once so many different ones have come."""
        until(lambda: len(self.ids()) >= count, seconds=60, what=f"{count} events come")
        return self.events

    def ids(self) -> set[str]:
        return {event["id"] for event in self.poll()}

    def close(self) -> None:
        self._socket.close(linger=0)
        self._context.term()


def emit(
    sandbox: Sandbox,
    *args: str,
    body: bytes | None = None,
    shell: list[str] | None = None,
    env: dict[str, str | None] | None = None,
    script: str = EMIT,
    preexec: Callable[[], None] | None = None,
    **stdin: Any,
) -> None:
    """One call of the hook, which exits 0 and prints nothing whatever comes."""
    merged = {
        key: value
        for key, value in {
            **sandbox.env,
            "CLAUDE_CODE_SESSION_ID": SESSION,
            **(env or {}),
        }.items()
        if value is not None
    }
    if body is None and not stdin:
        stdin = {"stdin": subprocess.DEVNULL}
    done = subprocess.run(
        [*(shell or []), script, *args],
        input=body,
        env=merged,
        capture_output=True,
        timeout=HANGS,
        preexec_fn=preexec,
        **stdin,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def entries(sandbox: Sandbox) -> list[journal.Entry]:
    return journal.entries(sandbox.state / "journal")


def worker_pid(sandbox: Sandbox) -> int:
    return int((sandbox.state / "emit.pid").read_text().split()[0])


def wait_for_worker(sandbox: Sandbox) -> int:
    """The pid of the resident worker, once there is one."""
    until((sandbox.state / "emit.pid").exists, what="a worker is resident")
    return worker_pid(sandbox)


def end_worker(sandbox: Sandbox) -> None:
    """Kill the worker outright, and see it gone."""
    pid = wait_for_worker(sandbox)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not lives(pid), what="the worker is gone")


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def start_worker(sandbox: Sandbox, **env: str) -> subprocess.Popen[bytes]:
    return sandbox.spawn(
        sys.executable, "-m", "trailboss.emit.worker", str(sandbox.state), env=dict(env)
    )


def workers(sandbox: Sandbox) -> list[int]:
    needle = str(sandbox.state).encode()
    found = []
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = cmdline.read_bytes().split(b"\0")
        except OSError:
            continue
        if needle in words and any(b"emit" in word for word in words):
            found.append(int(cmdline.parent.name))
    return found
