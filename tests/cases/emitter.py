"""The real emitter, fed as an agent feeds its hooks."""

from __future__ import annotations

import shlex
import subprocess
from typing import Any

import orjson

from tests.harness.sandbox import REPO, Sandbox
from tests.harness.tmux_server import TmuxServer

EMIT = str(REPO / "bin" / "trailboss-emit")


class Emitter:
    """Runs `trailboss-emit` in a sandbox. `hook` waits for its end, which is silent and 0.

    Each session has a process of its own that lives in no pane, so that it makes no difference
    who runs the tests.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def process(self, session: str) -> subprocess.Popen[bytes]:
        """The process that the hooks of that session name as theirs."""
        if session not in self.processes:
            self.processes[session] = self.sandbox.spawn("sleep", "3600")
        return self.processes[session]

    def hook(
        self,
        name: str,
        session: str,
        tmux: TmuxServer | None = None,
        pane: str | None = None,
        *,
        env: dict[str, str] | None = None,
        raw: bytes | None = None,
        **data: Any,
    ) -> None:
        """One hook call from that pane; `raw` in place of the payload that `data` makes."""
        place = self.place(tmux, pane) | (env or {})
        body = self.body(name, session, **data) if raw is None else raw
        front = self.start(name, session, place)
        told, _ = front.communicate(body, timeout=30)
        assert (front.returncode, told) == (0, b"")

    def start(
        self, name: str, session: str, env: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """The front in a process group of its own, its standard input still open."""
        return self.sandbox.spawn(
            EMIT,
            "--event",
            name,
            env={
                "CLAUDE_CODE_SESSION_ID": session,
                "CLAUDE_PID": str(self.process(session).pid),
                **(env or {}),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def place(self, tmux: TmuxServer | None, pane: str | None) -> dict[str, str]:
        """What tmux puts into the environment of that pane."""
        if tmux is None or pane is None:
            return {}
        return {"TMUX": f"{tmux.socket},{tmux.pid},0", "TMUX_PANE": pane}

    def line(
        self, name: str, session: str, *env: str, raw: bytes | None = None, **data: Any
    ) -> str:
        """The same call as a shell's command line, for a pane's own shell to run."""
        file = self.sandbox.root / f"{session}-{name}-{len(list(self.sandbox.root.iterdir()))}.json"
        file.write_bytes(self.body(name, session, **data) if raw is None else raw)
        words = ["env", *env, f"CLAUDE_CODE_SESSION_ID={session}", EMIT, "--event", name]
        return f"{shlex.join(words)} <{shlex.quote(str(file))}"

    def body(self, name: str, session: str, **data: Any) -> bytes:
        """The hook's standard input."""
        given = {
            "session_id": session,
            "transcript_path": str(self.sandbox.home / f"{session}.jsonl"),
            "cwd": str(self.sandbox.home),
            "hook_event_name": name,
            **data,
        }
        return orjson.dumps({k: v for k, v in given.items() if v is not None})
