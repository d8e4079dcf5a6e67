"""Starts and drives agents from a test: steps in, their end and the agent's state out.

    command = command_line(control=path, steps="permission touch made", emit="bin/trailboss-emit")
    pane = tmux.new_session("one", *command)
    with Control(path) as agent:
        state = agent.do("approve", "permission make test")
        assert state["status"] == "waiting"

Each step is done when the turn rests and the hooks it caused have returned, so nothing sleeps.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: Seconds for an agent to be up, and for one call of `do`: more than a step may take to rest.
TIMEOUT_S = 90.0


class AgentError(Exception):
    """The agent could not do a step, is not there, or has gone; the text says which."""


def command_line(
    *,
    control: str | os.PathLike[str] | None = None,
    version: str | None = None,
    session_id: str | None = None,
    steps: str | None = None,
    script: str | os.PathLike[str] | None = None,
    emit: str | os.PathLike[str] | None = None,
    hooks: bool = True,
    registry: bool = True,
    transcript: bool = True,
    more: Sequence[str] = (),
) -> list[str]:
    """The words that play an agent, as a pane's command; the pane's directory is its cwd.

    The pane's environment must let `tools.fake_agent` be imported and holds CLAUDE_CONFIG_DIR or
    HOME. `more` are further options of `play`.
    """
    words = [sys.executable, "-m", "tools.fake_agent", "play"]
    for name, value in (
        ("--control", control),
        ("--version", version),
        ("--session-id", session_id),
        ("--steps", steps),
        ("--script", script),
        ("--emit", emit),
    ):
        if value is not None:
            words += [name, os.fspath(value)]
    words += ["--no-hooks"] * (not hooks) + ["--no-registry"] * (not registry)
    return [*words, *["--no-transcript"] * (not transcript), *more]


class Control:
    """Drives one agent through the socket that it was started with.

    Construction waits until the agent has started (its SessionStart hooks have returned). Raises
    AgentError when it does not within `timeout` seconds.
    """

    def __init__(self, path: str | os.PathLike[str], timeout: float = TIMEOUT_S) -> None:
        self.path = Path(path)
        self.timeout = timeout
        self._socket = self._connect()
        self._lines = self._socket.makefile("rb")
        #: The agent's state after the newest step, see `Director.state`.
        self.state: dict[str, Any] = {}
        self.do("state")

    def __enter__(self) -> Control:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the agent, which lives on."""
        self._lines.close()
        self._socket.close()

    def do(self, *steps: str) -> dict[str, Any]:
        """Perform steps (a word and its argument each); the state after the last.

        Raises AgentError naming the step that failed, or when the agent is gone.
        """
        data = self._ask(steps)
        if data is None:
            raise AgentError(f"the agent went away during {steps!r}")
        self.state = data["state"]
        if not data["ok"]:
            raise AgentError(f"{data['error']} (steps {steps!r}, state {self.state})")
        return self.state

    def end(self, reason: str = "prompt_input_exit") -> None:
        """End the session in order; returns when the process has closed its socket."""
        self._gone(f"end {reason}")

    def crash(self) -> None:
        """Let the process kill itself with SIGKILL; returns when it is gone."""
        self._gone("crash")

    @property
    def session_id(self) -> str:
        return str(self.state["session_id"])

    @property
    def pid(self) -> int:
        return int(self.state["pid"])

    def _gone(self, step: str) -> None:
        try:
            while self._ask((step,)) is not None:
                pass
        except OSError:
            pass
        self.close()

    def _ask(self, steps: Sequence[str]) -> dict[str, Any] | None:
        try:
            self._socket.sendall((json.dumps({"do": list(steps)}) + "\n").encode())
            line = self._lines.readline()
        except TimeoutError:
            raise AgentError(f"no answer within {self.timeout} s to {steps!r}") from None
        except (BrokenPipeError, ConnectionResetError):
            return None
        answer: dict[str, Any] | None = json.loads(line) if line else None
        return answer

    def _connect(self) -> socket.socket:
        deadline = time.monotonic() + self.timeout
        while True:
            link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            link.settimeout(self.timeout)
            try:
                link.connect(os.fspath(self.path))
                return link
            except (FileNotFoundError, ConnectionRefusedError) as error:
                link.close()
                if time.monotonic() > deadline:
                    raise AgentError(f"no agent at {self.path}: {error}") from None
            except OSError as error:
                link.close()
                raise AgentError(f"{self.path} cannot be an agent's socket: {error}") from None
            time.sleep(0.01)
