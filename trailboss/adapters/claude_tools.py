"""Claude Code's tools: what a request is keyed by, and what it asks in words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

#: The pretended tool of an MCP server's form.
ELICITATION = "elicitation"


def request_key(agent_id: str | None, tool_name: str, tool_input: Any) -> str:
    """The key of one open request.

    PermissionRequest has no tool use id (captures fact 2), so it is agent, tool and input. The
    input of a question comes back with its answers and a plan may be edited, and of each a
    thread has one open at most: those are keyed by the tool alone.
    """
    if tool_name in ("AskUserQuestion", "ExitPlanMode"):
        tool_input = None
    body = orjson.dumps(
        [agent_id or "", tool_name, tool_input], option=orjson.OPT_SORT_KEYS, default=str
    )
    return hashlib.blake2b(body, digest_size=12).hexdigest()


def describe(tool_name: str, tool_input: Any) -> str:
    """What the tool asks, for a person: the command, the file, the question with its options."""
    given: Mapping[str, Any] = tool_input if isinstance(tool_input, Mapping) else {}
    if tool_name == "AskUserQuestion":
        return _questions(given) or "A question"
    if tool_name == "ExitPlanMode":
        plan = given.get("plan")
        return f"Plan: {plan}" if isinstance(plan, str) else "A plan to approve"
    if tool_name == ELICITATION:
        return str(given.get("message") or "A form to fill in")
    for name in ("command", "file_path", "notebook_path", "url", "path", "pattern", "query"):
        value = given.get(name)
        if isinstance(value, str) and value:
            return f"{tool_name}: {value}"
    if not given:
        return tool_name
    return f"{tool_name}: {orjson.dumps(dict(given), default=str).decode()}"


def _questions(given: Mapping[str, Any]) -> str:
    lines = []
    questions = given.get("questions")
    for question in questions if isinstance(questions, list) else ():
        if not isinstance(question, Mapping):
            continue
        options = question.get("options")
        labels = [
            str(o.get("label"))
            for o in (options if isinstance(options, list) else ())
            if isinstance(o, Mapping)
        ]
        asked = str(question.get("question") or question.get("header") or "")
        lines.append(f"{asked} ({' / '.join(labels)})" if labels else asked)
    return "\n".join(lines)
