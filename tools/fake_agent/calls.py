"""Tool calls: what the model asks for, and what it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tools.fake_agent.agent import Prompt
from tools.fake_agent.lines import new_id
from tools.fake_agent.script import fails, seconds_of

NO_OUTPUT = "(Bash completed with no output)"


class Refused(Exception):
    """The person said no without a reason: the turn is over, no hook says so."""


@dataclass(slots=True)
class Call:
    """One tool call, and what it gives back."""

    name: str
    input: dict[str, Any]
    id: str
    response: Any = None
    text: str = NO_OUTPUT
    seconds: float = 0.0
    error: str | None = None


def bash(command: str, **more: Any) -> Call:
    description = f"Run {command}"[:46]
    call = Call("Bash", {"command": command, "description": description, **more}, new_id("toolu"))
    call.seconds = seconds_of(command)
    if fails(command):
        call.error = "Exit code 2\nls: cannot access '/nonexistent-dir': No such file or directory"
    call.response = {
        "stdout": "",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": True,
    }
    return call


def batch(calls: list[Call]) -> list[dict[str, Any]]:
    """PostToolBatch's `tool_calls`."""
    return [
        {
            "tool_name": call.name,
            "tool_input": call.input,
            "tool_use_id": call.id,
            "tool_response": call.text,
        }
        for call in calls
    ]


def notification(task: str, tool_id: str, summary: str, result: str | None = None) -> Prompt:
    """The prompt by which the CLI itself tells the agent that a task of its own has ended."""
    lines = [
        "<task-notification>",
        f"<task-id>{task}</task-id>",
        f"<tool-use-id>{tool_id}</tool-use-id>",
        "<status>completed</status>",
        f"<summary>{summary}</summary>",
        *([f"<result>{result}</result>"] if result else []),
        "</task-notification>",
    ]
    return Prompt("\n".join(lines), origin="task-notification")
