"""The slower stream: each event as a hook payload through the real trailboss-emit."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from tools.fake_agent.load import Unsendable
from tools.fake_agent.load_plan import Plan, Waiting, truth_of
from tools.fake_agent.session import compact, now_ms

#: The stream is cut when it takes this many times as long as planned, and a while.
PATIENCE, GRACE_S = 4.0, 20.0
#: What tells a hook which terminal or agent it runs in: a stray one would name a real pane.
_STRAY = ("TMUX", "TMUX_PANE", "CLAUDE_PID", "CLAUDE_JOB_DIR", "CLAUDE_PROJECT_DIR")


def find_emit(named: str | None) -> str:
    """The emitter to run: the named one, that of this checkout, or the first in PATH."""
    if named:
        return named
    beside = Path(__file__).resolve().parents[2] / "bin" / "trailboss-emit"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("trailboss-emit")
    if found is None:
        raise Unsendable("trailboss-emit is neither in this checkout nor in PATH")
    return found


def send_through_front(
    plan: Plan, emit: str | None = None, runtime: Path | None = None
) -> tuple[list[Waiting], int]:
    """Run the emitter once per frame, one after the other, at the plan's times at most.

    The truth of what was sent, with `since` the moment each emitter was started (it stamps its own
    a few ms later), and the number of frames. Raises Unsendable.
    """
    command = find_emit(emit)
    environment = {name: value for name, value in os.environ.items() if name not in _STRAY}
    if runtime is not None:
        environment["TRAILBOSS_RUNTIME_DIR"] = str(runtime)
    limit = time.monotonic() + PATIENCE * (plan.frames[-1].at_ms / 1000) + GRACE_S
    start = time.monotonic()
    commands: dict[str, str] = {}
    sent: list[dict[str, Any]] = []
    for frame in plan.frames:
        ahead = frame.at_ms / 1000 - (time.monotonic() - start)
        if ahead > 0:
            time.sleep(ahead)
        if time.monotonic() > limit:
            break
        payload = as_payload(frame.event, commands)
        name = payload["hook_event_name"]
        session = {
            "CLAUDE_CODE_SESSION_ID": payload["session_id"],
            "CLAUDE_CODE_ENTRYPOINT": "cli",
        }
        sent.append({**frame.event, "timestamp": now_ms()})
        try:
            subprocess.run(
                [command, "--harness", "claude", "--event", name],
                input=compact(payload).encode(),
                env={**environment, **session},
                timeout=30,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unsendable(f"{command}: {error}") from None
    return truth_of(sent), len(sent)


def as_payload(event: dict[str, Any], commands: dict[str, str]) -> dict[str, Any]:
    """The hook payload that means this event.

    `commands` remembers each session's open permission, so that its end is the PostToolUse of the
    same call.
    """
    session = event["session_id"]
    out: dict[str, Any] = {
        "session_id": session,
        "transcript_path": f"{event['cwd']}/.claude/projects/load/{session}.jsonl",
        "cwd": event["cwd"],
        "prompt_id": f"{event['id']}-prompt",
    }
    acting = {"permission_mode": "default", "effort": {"level": "medium"}}
    match event["type"], event.get("reason"):
        case "stuck", "permission":
            command = commands[session] = event["detail"]["tool_input"]["command"]
            out |= acting | _tool("PermissionRequest", command) | {"permission_suggestions": []}
        case "stuck", _:
            out |= acting | {
                "hook_event_name": "Stop",
                "stop_hook_active": False,
                "last_assistant_message": event["message"],
                "background_tasks": [],
                "session_crons": [],
            }
        case "unstuck", _ if session in commands:
            command = commands.pop(session)
            out |= acting | _tool("PostToolUse", command)
            out |= {"tool_response": {"stdout": ""}, "tool_use_id": event["id"], "duration_ms": 5}
        case "unstuck", _:
            out |= {"hook_event_name": "UserPromptSubmit", "prompt": "go on"}
        case "ended", _:
            commands.pop(session, None)
            out |= {"hook_event_name": "SessionEnd", "reason": "other"}
        case _:
            source = "compact" if session in commands else "startup"
            out |= {"hook_event_name": "SessionStart", "source": source}
    return out


def _tool(event: str, command: str) -> dict[str, Any]:
    tool_input = {"command": command, "description": f"Run {command}"}
    return {"hook_event_name": event, "tool_name": "Bash", "tool_input": tool_input}
