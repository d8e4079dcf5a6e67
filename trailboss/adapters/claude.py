"""Claude Code: what each of its hooks means.

Facts and their numbers are those of the captures of versions 2.1.197 and 2.1.332. Hooks are the
fastest witness and an incomplete one: saying no, Esc and saying yes fire none (facts 3 and 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from trailboss.adapters.base import Ancestor, Payload
from trailboss.adapters.claude_tools import ELICITATION, describe, request_key
from trailboss.events import MAX_MESSAGE, Event, clean_text, clip_detail, clip_utf8

#: The events whose hooks are installed: each is known to 2.1.197, since a newer version answers a
#: name that it does not know with a warning screen before it starts.
HOOK_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PermissionRequest",
    "PermissionDenied",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Elicitation",
    "ElicitationResult",
    "Notification",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "SessionEnd",
)

#: Notifications that say, seconds late, that a person is needed. They are a way in where no
#: PermissionRequest fires (2.1.332, change 2), else a repeat.
_ASKING = frozenset(
    {
        "permission_prompt",
        "agent_needs_input",
        "elicitation_dialog",
        "elicitation_url_dialog",
        "worker_permission_prompt",
    }
)
#: What its processes are called.
PROCESS_NAMES = ("claude", "claude.exe")


class Claude:
    """The adapter."""

    name = "claude"

    def events(self, payload: Payload) -> list[Event]:
        """The events of one hook call; see `adapters.base.Adapter`."""
        if not _is_a_session(payload):
            return []
        name = payload.data.get("hook_event_name") or payload.event
        meaning = _MEANINGS.get(name) if isinstance(name, str) else None
        if meaning is None:
            return []
        call = _Call(payload, str(name))
        return [call.event(n, **fields) for n, fields in enumerate(meaning(call))]


CLAUDE = Claude()


def _is_a_session(payload: Payload) -> bool:
    """Whether a person can be asked for in it.

    Headless runs (`claude -p`, the SDK) ask nobody and share the pane of whatever started them
    (fact 18); a missing terminal tells nothing, since no hook has one (fact 9).
    """
    entry = payload.env.get("CLAUDE_CODE_ENTRYPOINT", "")
    return not entry.startswith("sdk-")


class _Call:
    """One hook call with its common fields worked out once."""

    def __init__(self, payload: Payload, name: str) -> None:
        self.payload = payload
        self.name = name
        self.data = payload.data
        self.agent_id = _string(payload.data.get("agent_id"))
        self.tool_name = _string(payload.data.get("tool_name")) or ""
        self.tool_input = payload.data.get("tool_input")

    @property
    def request(self) -> str:
        return request_key(self.agent_id, self.tool_name, self.tool_input)

    def event(self, number: int, **fields: Any) -> Event:
        """The event with what every event of this call has."""
        payload, env = self.payload, self.payload.env
        detail: dict[str, Any] = {"home": config_home(env), **fields.pop("detail", {})}
        if self.agent_id is not None:
            detail["agent_id"] = self.agent_id
        socket, server_pid, pane_id = _pane(env)
        job = env.get("CLAUDE_JOB_DIR")
        if job:
            # A background session: whatever pane the environment leaks is not its own
            # (2.1.332, change 6).
            socket = server_pid = pane_id = None
            detail["attach"] = f"claude attach {PurePath(job).name}"
        process = _process(payload)
        if process is not None:
            detail["pid_start"] = process.start
            above = [a.pid for a in payload.ancestors]
            place = above.index(process.pid) if process.pid in above else len(above)
            detail["ancestors"] = above[place + 1 :]
        message = fields.pop("message", None)
        truncated = False
        if message is not None:
            message, truncated = clip_utf8(clean_text(message), MAX_MESSAGE)
        detail, cut = clip_detail({k: v for k, v in detail.items() if v is not None})
        session_id = _string(self.data.get("session_id")) or env.get("CLAUDE_CODE_SESSION_ID")
        return Event(
            id=payload.name if number == 0 else f"{payload.name}.{number}",
            harness=payload.harness,
            session_id=session_id or "",
            timestamp=payload.timestamp,
            cause=self.name,
            pane_id=pane_id,
            tmux_socket=socket,
            tmux_pid=server_pid,
            cwd=_string(self.data.get("cwd")),
            transcript_path=_string(self.data.get("transcript_path")),
            pid=process.pid if process else None,
            message=message,
            detail=detail,
            truncated=truncated or cut,
            **fields,
        )


_Meaning = Callable[[_Call], list[dict[str, Any]]]


def _stop(call: _Call) -> list[dict[str, Any]]:
    if call.agent_id is not None:  # a subagent's end, under the parent's id (case B19)
        return _agent_over(call)
    detail = {
        key: call.data[key]
        for key in ("background_tasks", "session_crons", "stop_hook_active")
        if call.data.get(key)
    }
    return [
        {
            "type": "stuck",
            "reason": "stopped",
            "message": _string(call.data.get("last_assistant_message")) or "",
            "detail": {**detail, "turn": _string(call.data.get("prompt_id"))},
        }
    ]


def _stop_failure(call: _Call) -> list[dict[str, Any]]:
    if call.agent_id is not None:  # a helper's failure, while the turn may go on (case B13)
        return []
    error = _string(call.data.get("error")) or "unknown"
    message = _string(call.data.get("last_assistant_message")) or f"API error: {error}"
    detail = {
        "error": error,
        "error_details": call.data.get("error_details"),
        "turn": _string(call.data.get("prompt_id")),
    }
    return [{"type": "stuck", "reason": "stopped", "message": message, "detail": detail}]


def _permission_request(call: _Call) -> list[dict[str, Any]]:
    detail = {"tool_name": call.tool_name, "tool_input": call.tool_input}
    return [
        {
            "type": "stuck",
            "reason": "permission",
            "request": call.request,
            "message": describe(call.tool_name, call.tool_input),
            "detail": detail,
        }
    ]


def _elicitation(call: _Call) -> list[dict[str, Any]]:
    given = {
        "message": _string(call.data.get("message")) or "",
        "server": call.data.get("mcp_server_name"),
        "requested_schema": call.data.get("requested_schema"),
    }
    return [
        {
            "type": "stuck",
            "reason": "permission",
            "request": _elicitation_key(call),
            "message": describe(ELICITATION, given),
            "detail": {"tool_name": ELICITATION, "tool_input": given},
        }
    ]


def _elicitation_key(call: _Call) -> str:
    return request_key(call.agent_id, ELICITATION, call.data.get("mcp_server_name"))


def _elicitation_result(call: _Call) -> list[dict[str, Any]]:
    return [{"type": "unstuck", "request": _elicitation_key(call)}]


def _tool_over(call: _Call) -> list[dict[str, Any]]:
    """A tool has ended or was refused: its own request is settled, and the turn goes on."""
    settled: dict[str, Any] = {"type": "unstuck", "request": call.request}
    if call.agent_id is not None:
        return [settled]
    return [settled, {"type": "unstuck", "detail": {"scope": "turn"}}]


def _batch_over(call: _Call) -> list[dict[str, Any]]:
    """All tools of one message are done: that thread has nothing open (fact 3, 04b, 10b)."""
    if call.agent_id is not None:
        return _agent_over(call)
    return [{"type": "unstuck", "detail": {"scope": "tools"}}]


def _agent_over(call: _Call) -> list[dict[str, Any]]:
    return [{"type": "unstuck"}] if call.agent_id is not None else []


def _subagent_stop(call: _Call) -> list[dict[str, Any]]:
    return _agent_over(call) if call.data.get("agent_type") else []  # /compact has none (11b)


def _pre_tool(call: _Call) -> list[dict[str, Any]]:
    if call.agent_id is not None:
        return []
    return [{"type": "unstuck", "detail": {"scope": "turn"}}]


def _prompt(call: _Call) -> list[dict[str, Any]]:
    """A person (or a task's notice) spoke to the main thread; a subagent's dialog stays open."""
    if call.agent_id is not None:
        return []
    title = _string(call.data.get("session_title"))
    return [{"type": "unstuck", "detail": {"scope": "main", "session_title": title}}]


def _start(call: _Call) -> list[dict[str, Any]]:
    if call.agent_id is not None or (call.data.get("agent_type") and _in_background(call)):
        return []  # a warm spare that nobody has asked for (51b)
    detail = {
        "source": _string(call.data.get("source")),
        "session_title": _string(call.data.get("session_title")),
    }
    return [{"type": "registered", "detail": detail}]


def _in_background(call: _Call) -> bool:
    return "CLAUDE_JOB_DIR" in call.payload.env


def _end(call: _Call) -> list[dict[str, Any]]:
    return [{"type": "ended"}]


def _notification(call: _Call) -> list[dict[str, Any]]:
    kind = _string(call.data.get("notification_type"))
    text = _string(call.data.get("message")) or ""
    if kind in _ASKING:
        reason = "permission"
    elif kind == "idle_prompt":
        reason = "stopped"
    else:
        return []
    detail = {"reminder": True, "notification_type": kind}
    return [{"type": "stuck", "reason": reason, "message": text, "detail": detail}]


_MEANINGS: dict[str, _Meaning] = {
    "Stop": _stop,
    "StopFailure": _stop_failure,
    "PermissionRequest": _permission_request,
    "Elicitation": _elicitation,
    "ElicitationResult": _elicitation_result,
    "PostToolUse": _tool_over,
    "PostToolUseFailure": _tool_over,
    "PermissionDenied": _tool_over,
    "PostToolBatch": _batch_over,
    "SubagentStop": _subagent_stop,
    "PreToolUse": _pre_tool,
    "UserPromptSubmit": _prompt,
    "SessionStart": _start,
    "SessionEnd": _end,
    "Notification": _notification,
}


def config_home(env: Mapping[str, str]) -> str | None:
    """The config dir of that session, where its status files and transcripts lie."""
    if named := env.get("CLAUDE_CONFIG_DIR"):
        return named
    home = env.get("HOME")
    return f"{home}/.claude" if home else None


def _pane(env: Mapping[str, str]) -> tuple[str | None, int | None, str | None]:
    """(socket, server pid, pane id). TMUX_PANE without TMUX is a left-over (case B26)."""
    tmux, pane = env.get("TMUX", ""), env.get("TMUX_PANE")
    socket, _, rest = tmux.rpartition(",")
    socket, _, pid = socket.rpartition(",")
    if not pane or not socket or not pid.isdigit() or not rest:
        return None, None, None
    return socket, int(pid), pane


def _process(payload: Payload) -> Ancestor | None:
    """The harness's own process: the one it names (CLAUDE_PID), else the nearest of its name."""
    named = payload.env.get("CLAUDE_PID", "")
    if named.isdigit():
        pid = int(named)
        return next((a for a in payload.ancestors if a.pid == pid), Ancestor(pid, 0, "claude"))
    return next((a for a in payload.ancestors if a.comm in PROCESS_NAMES), None)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
