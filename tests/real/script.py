"""What the fake model says: a marker in the prompt picks a script, its turns played in order.

    [[say: WORDS]]          answer WORDS
    [[slow: SECONDS]]       stream an answer for that long
    [[hang: SECONDS]]       say nothing for that long, then answer
    [[error: STATUS]]       refuse each try with that HTTP status
    [[bash: COMMAND]]       run COMMAND, then answer
    [[busy: COMMAND]]       run COMMAND, then think for two minutes
    [[bg: COMMAND]]         run COMMAND in the background, then answer
    [[two: A || B]]         run both, asked for in one message
    [[steps: A || B || …]]  run A, then B, …, then answer
    [[flagged: COMMAND]]    a command that auto mode's check refuses
    [[unchecked: COMMAND]]  a command that auto mode's check says nothing about
    [[ask]]                 ask the user to choose a colour
    [[plan]]                write the plan file and ask for approval (in plan mode)
    [[agent: COMMAND]]      have a subagent run COMMAND
    [[agents: A || B]]      two subagents at once
    [[tool: NAME JSON]]     call any tool

A prompt without a marker gets one plain sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

PLAIN = "A plain answer."
DONE = "All done."
PLAN = "# Plan\n\n1. Make a button.\n2. Paint it green.\n"

_MARKER = re.compile(r"\[\[([a-z]+)(?::\s*(.*?))?\s*\]\](?!\])", re.S)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.S)
#: Plan mode tells the model, somewhere in the request, which file its plan belongs into.
_PLAN_FILE = re.compile(r"/[^\s\"'\\`]+/plans/[\w.-]+\.md")
#: The line that an interrupt leaves in the conversation looks like a user's, and is none.
_INTERRUPTED = "[Request interrupted by user"


@dataclass(frozen=True)
class Say:
    """Text, its words spread over `seconds`."""

    words: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Call:
    """A tool call. `verdict` is the answer of auto mode's check, None for no answer."""

    tool: str
    input: dict[str, Any] = field(default_factory=dict)
    verdict: str | None = "not_flagged"


@dataclass(frozen=True)
class Silence:
    seconds: float


@dataclass(frozen=True)
class Refuse:
    status: int


Act = Say | Call | Silence | Refuse
Turn = Sequence[Act]


def _bash(command: str, verdict: str | None = "not_flagged", **more: Any) -> Call:
    described = {"command": command, "description": f"Run {command[:40]}"}
    return Call("Bash", {**described, **more}, verdict)


def _helper(command: str) -> Call:
    return Call(
        "Agent",
        {
            "description": f"Run {command[:30]}",
            "subagent_type": "general-purpose",
            "prompt": f"Your task: [[bash: {command}]]",
        },
    )


def _parts(argument: str) -> list[str]:
    return [part.strip() for part in argument.split("||")]


def _slow(argument: str) -> list[Turn]:
    seconds = float(argument)
    lines = [f"This is line {n} of a long answer." for n in range(max(2, int(seconds)))]
    return [[Say("\n\n".join(lines), seconds)]]


def _ask(_: str) -> list[Turn]:
    options = [{"label": name, "description": f"Paint it {name}"} for name in ("Red", "Green")]
    question = {"question": "Which colour should the button have?", "header": "Colour"}
    asked = Call(
        "AskUserQuestion", {"questions": [{**question, "options": options, "multiSelect": False}]}
    )
    return [[Say("I need a decision."), asked], [Say(DONE)]]


def _plan(_: str) -> list[Turn]:
    write = Call("Write", {"file_path": "", "content": PLAN})
    return [[write], [Say("Here is my plan."), Call("ExitPlanMode", {"plan": PLAN})], [Say(DONE)]]


def _tool(argument: str) -> list[Turn]:
    name, _, value = argument.partition(" ")
    return [[Call(name, json.loads(value or "{}"))], [Say(DONE)]]


_SCRIPTS: dict[str, Callable[[str], list[Turn]]] = {
    "say": lambda words: [[Say(words)]],
    "slow": _slow,
    "hang": lambda seconds: [[Silence(float(seconds)), Say(DONE)]],
    "error": lambda status: [[Refuse(int(status))]],
    "bash": lambda command: [[Say("I will run a command."), _bash(command)], [Say(DONE)]],
    "busy": lambda command: [[_bash(command)], [Silence(120), Say(DONE)]],
    "bg": lambda command: [[_bash(command, run_in_background=True)], [Say("It is running.")]],
    "two": lambda commands: [[_bash(command) for command in _parts(commands)], [Say(DONE)]],
    "steps": lambda commands: [*([_bash(command)] for command in _parts(commands)), [Say(DONE)]],
    "flagged": lambda command: [[_bash(command, "flagged")], [Say(DONE)]],
    "unchecked": lambda command: [[_bash(command, None)], [Say(DONE)]],
    "ask": _ask,
    "plan": _plan,
    "agent": lambda command: [[Say("A helper does it."), _helper(command)], [Say(DONE)]],
    "agents": lambda commands: [[_helper(command) for command in _parts(commands)], [Say(DONE)]],
    "tool": _tool,
}


@dataclass(frozen=True)
class Cue:
    """Where in which script a request stands, and the turn to play."""

    marker: str
    step: int
    turn: Turn


def cue(request: dict[str, Any]) -> Cue:
    """The turn that answers a Messages API request.

    Told from the request alone (the last prompt, and how often the model has spoken since), so
    that a retry gets the same answer and sessions side by side do not meet.
    """
    if not request.get("tools"):
        return Cue("side", 0, [Say(_side_errand(request))])
    marker, argument, step = "", "", 0
    for message in request.get("messages", []):
        if message.get("role") == "assistant":
            step += 1
        elif message.get("role") == "user":
            for prompt in _prompts(message):
                found = _MARKER.findall(prompt)
                marker, argument = found[-1] if found else ("", "")
                step = 0
    turns = _turns(marker, argument.strip())
    turn = turns[step] if step < len(turns) else [Say(DONE)]
    return Cue(marker, step, [_with_plan_file(act, request) for act in turn])


def _turns(marker: str, argument: str) -> list[Turn]:
    if not marker:
        return [[Say(PLAIN)]]
    # A misspelt marker must fail its test, not pass for small talk.
    return _SCRIPTS[marker](argument) if marker in _SCRIPTS else [[Refuse(400)]]


def _side_errand(request: dict[str, Any]) -> str:
    """Requests without tools are the CLI's own: titles and the like, some as JSON."""
    title = "A fake title"
    wanted = request.get("output_config") or request.get("output_format")
    return json.dumps({"title": title}) if "json_schema" in json.dumps(wanted) else title


def _prompts(message: dict[str, Any]) -> Iterator[str]:
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for block in blocks:
        if block.get("type") == "text":
            words = _REMINDER.sub("", block.get("text", "")).strip()
            if words and not words.startswith(_INTERRUPTED):
                yield words


def _with_plan_file(act: Act, request: dict[str, Any]) -> Act:
    if not isinstance(act, Call) or act.input.get("file_path") != "":
        return act
    named = _PLAN_FILE.findall(json.dumps([request.get("system"), request.get("messages")]))
    return Call(act.tool, {**act.input, "file_path": named[-1] if named else "/nowhere/plan.md"})
