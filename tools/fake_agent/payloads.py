"""What a hook reads on its standard input: the keys of each event, in the captured order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.fake_agent.session import Session

#: Events whose payload says the permission mode, and those that say the effort.
WITH_MODE = frozenset(
    {
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PermissionDenied",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "Stop",
        "SubagentStop",
    }
)
WITH_EFFORT = WITH_MODE - {"UserPromptSubmit"} | {"StopFailure"}

#: The event names that 2.1.197 knows and that an adapter may want; a newer version answers an
#: unknown name with a warning screen, so nothing else is ever configured here.
EVENTS = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PermissionDenied",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Elicitation",
    "ElicitationResult",
)


@dataclass(frozen=True, slots=True)
class Subagent:
    """A helper of the main agent; its tool events carry `agent_id` and `agent_type`."""

    id: str
    type: str = "general-purpose"


def payload(
    session: Session, event: str, agent: Subagent | None = None, **fields: Any
) -> dict[str, Any]:
    """The JSON object that the hooks of `event` read.

    `prompt_id` is there from the first prompt on, but not in SessionStart of 2.1.332.
    """
    out: dict[str, Any] = {
        "session_id": session.id,
        "transcript_path": str(session.transcript),
        "cwd": session.cwd,
    }
    if session.prompt_id and not (event == "SessionStart" and session.version.modern):
        out["prompt_id"] = session.prompt_id
    if event in WITH_MODE:
        out["permission_mode"] = session.permission_mode
    if agent is not None:
        out["agent_id"], out["agent_type"] = agent.id, agent.type
    if event in WITH_EFFORT:
        out["effort"] = {"level": session.version.effort}
    out["hook_event_name"] = event
    out.update(fields)
    if session.named and event in ("UserPromptSubmit", "SessionStart"):
        out["session_title"] = session.title
    return out


def suggestions(cwd: str) -> list[dict[str, Any]]:
    """What the permission dialog would offer besides a plain yes."""
    return [
        {"type": "addDirectories", "directories": [cwd], "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    ]


def hook_environment(
    session: Session, event: str, outer: Mapping[str, str], agent_notes: str = "/tmp"
) -> dict[str, str]:
    """The variables of a hook: those of the agent, and the ones the CLI adds.

    A background session's hooks know no pane. The messaging token is a secret in the real CLI;
    here it is a word that a test can look for in what it must not be in.
    """
    version = session.version
    env = dict(outer)
    env.update(
        AI_AGENT=version.ai_agent,
        CLAUDECODE="1",
        CLAUDE_CODE_CHILD_SESSION="1",
        CLAUDE_CODE_ENTRYPOINT=session.entrypoint,
        CLAUDE_CODE_SESSION_ID=session.id,
        CLAUDE_PROJECT_DIR=session.cwd,
        PWD=session.cwd,
    )
    if event in WITH_EFFORT:
        env["CLAUDE_EFFORT"] = version.effort
    if event == "SessionStart":
        script = session.config / "session-env" / session.id / "sessionstart-hook-0.sh"
        env["CLAUDE_ENV_FILE"] = str(script)
    if version.modern:
        env["CLAUDE_PID"] = str(session.pid)
        env["CLAUDE_CODE_SESSION_ATTENDED"] = "1" if session.attended else "0"
        env["CLAUDE_CODE_CHILD_NOTES_DIR"] = f"{agent_notes}/claude-notes/{session.id}/started"
        if event != "SessionEnd":
            env["CLAUDE_CODE_MESSAGING_SOCKET"] = messaging_socket(session.pid)
            env["CLAUDE_CODE_MESSAGING_TOKEN"] = MESSAGING_TOKEN
    if session.job is not None:
        env["CLAUDE_JOB_DIR"] = str(session.config / "jobs" / session.job)
        env.pop("TMUX", None)
        env.pop("TMUX_PANE", None)
    return env


MESSAGING_TOKEN = "fake-secret-messaging-token"


def messaging_socket(pid: int) -> str:
    return f"/tmp/cc-socks/{pid}.sock"
