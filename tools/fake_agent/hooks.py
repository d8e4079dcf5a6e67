"""Runs the hook commands of an event as the CLI does: `sh -c`, JSON on standard input."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.fake_agent.payloads import EVENTS, hook_environment
from tools.fake_agent.session import Session, compact, now_ms

#: Seconds after which a hook is ended; a SessionEnd hook has no more than the second.
TIMEOUT_S = 60.0
SESSION_END_S = 1.5
#: What a matcher is held against.
_SUBJECT = ("tool_name", "source", "notification_type", "reason", "trigger", "agent_type")


@dataclass(frozen=True, slots=True)
class Hook:
    """One configured command."""

    command: str
    background: bool = False
    timeout: float = TIMEOUT_S


class Hooks:
    """The hooks of one agent.

    Commands come from `settings.json` in the config dir, read anew at each event as the CLI notices
    changes while it runs; if that configures none at all, from `emit`, the path of trailboss-emit.
    `fired` counts the events that were sent, `dropped` those that were not; `complaints` holds what
    a hook did that a person would see: a failure, output, or running into its time limit.
    """

    def __init__(self, session: Session, emit: str | None = None, enabled: bool = True) -> None:
        self._session = session
        self._emit = emit
        self._enabled = enabled
        self._drops: Counter[str] = Counter()
        self._running: set[asyncio.Task[None]] = set()
        self.fired: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.complaints: list[str] = []
        self.last_ms: int | None = None
        self.last_command = ""

    def drop(self, event: str) -> None:
        """The next event of that name is not sent. Raises ValueError for an unknown name."""
        if event not in EVENTS:
            raise ValueError(f"no hook event is named {event!r}")
        self._drops[event] += 1

    async def fire(self, payload: Mapping[str, Any], wait: bool = True) -> None:
        """Run the hooks of the payload's event; not waiting where the CLI goes on beside them."""
        event = payload["hook_event_name"]
        if self._drops[event]:
            self._drops[event] -= 1
            self.dropped[event] += 1
            return
        self.fired[event] += 1
        self.last_ms = None
        hooks = find(self._settings(), event, payload, self._emit) if self._enabled else []
        if not hooks:
            return
        environment = hook_environment(self._session, event, os.environ)
        frame = compact(payload).encode("utf-8", "replace")
        started = now_ms()
        tasks = [asyncio.create_task(self._run(event, hook, frame, environment)) for hook in hooks]
        self._running.update(tasks)
        for task in tasks:
            task.add_done_callback(self._running.discard)
        waited = [task for task, hook in zip(tasks, hooks, strict=True) if not hook.background]
        if wait and waited:
            await asyncio.wait(waited)
            self.last_ms, self.last_command = now_ms() - started, hooks[0].command

    async def settle(self) -> None:
        """Wait until every hook started so far has returned."""
        while self._running:
            await asyncio.wait(set(self._running))

    def _settings(self) -> Mapping[str, Any]:
        try:
            data = json.loads((self._session.config / "settings.json").read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        hooks = data.get("hooks") if isinstance(data, dict) else None
        return hooks if isinstance(hooks, dict) else {}

    async def _run(self, event: str, hook: Hook, frame: bytes, env: Mapping[str, str]) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                "sh",
                "-c",
                hook.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=dict(env),
                cwd=self._session.cwd,
                start_new_session=True,
            )
        except OSError as error:
            self.complaints.append(f"{event}: {error}")
            return
        limit = SESSION_END_S if event == "SessionEnd" else hook.timeout
        try:
            out, err = await asyncio.wait_for(process.communicate(frame), limit)
        except TimeoutError:
            _kill_group(process.pid)
            self.complaints.append(f"{event}: ended after {limit} s")
            await process.wait()
            return
        if process.returncode or out or err:
            said = (out + err).decode("utf-8", "replace").strip()
            self.complaints.append(f"{event}: exit {process.returncode} {said}".rstrip())


def find(
    settings: Mapping[str, Any], event: str, payload: Mapping[str, Any], emit: str | None = None
) -> list[Hook]:
    """The commands configured for this payload, each once, in the settings' order.

    `settings` is the `hooks` object of settings.json. A matcher is a regular expression over the
    tool's name, or the source, type or reason of the event; empty, `*` or absent means all, as
    does any matcher of an event that has none of these.
    """
    if not settings:
        if emit is None or event not in EVENTS:
            return []
        return [Hook(f"{shlex.quote(emit)} --harness claude --event {event}")]
    subject = next((str(payload[name]) for name in _SUBJECT if name in payload), "")
    hooks: dict[str, Hook] = {}
    for group in settings.get(event) or ():
        matcher = group.get("matcher") or "*"
        if subject and matcher != "*" and not re.fullmatch(matcher, subject):
            continue
        for entry in group.get("hooks") or ():
            command = entry.get("command")
            if entry.get("type", "command") == "command" and isinstance(command, str):
                hook = Hook(command, bool(entry.get("async")), float(entry.get("timeout", 60)))
                hooks.setdefault(command, hook)
    return list(hooks.values())


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
