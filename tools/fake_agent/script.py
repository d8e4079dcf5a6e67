"""The two small languages: steps that play the person, and markers that play the model.

Steps stand one a line, or with `;` between them; markers stand in a prompt's text, `[[bash: ls]]`.
Both only name what is to happen, nothing of them is ever run as a command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Every step: its word, what its argument is, what it does and when it is done.
STEPS: dict[str, tuple[str, str]] = {
    "prompt": ("TEXT", "submit a prompt; done when the turn rests (idle, or a dialog is open)"),
    "submit": ("TEXT", "submit a prompt; done once it is submitted and the agent is busy"),
    "stop": ("[MESSAGE]", "end the turn with that message (from idle: a turn that says it)"),
    "permission": ("[COMMAND]", "ask for permission to run a command"),
    "question": ("[TEXT]", "ask the person a question"),
    "plan": ("", "ask for the approval of a plan"),
    "approve": ("[MESSAGE]", "say yes in the dialog; done when the turn rests"),
    "deny": ("[no]", "say no: Esc, with `no` the last option"),
    "interrupt": ("", "Esc while busy"),
    "error": ("[STATUS]", "a turn that ends with that API error (default 529)"),
    "subagent-permission": ("[COMMAND]", "a subagent asks for permission"),
    "background": ("[COMMAND]", "a turn that leaves a shell running in the background"),
    "background-end": ("", "the background shell ends and wakes the agent"),
    "busy": ("[TEXT]", "begin a turn that goes on until a stop, permission or interrupt"),
    "drop": ("EVENT…", "the hooks of these events are not run the next time"),
    "notify": ("[TYPE]", "the reminder notification, now"),
    "key": ("NAME…", "press keys: Enter, Esc, Up, Down, Tab, Left, Right, C-c, C-z or a character"),
    "type": ("TEXT", "type characters, no Enter"),
    "rename": ("TITLE", "give the session a title, as /rename does"),
    "title": ("TITLE", "the generated title of the session, shown as the pane's"),
    "compact": ("", "/compact"),
    "wait": ("SECONDS", "let time pass"),
    "wait-key": ("[SECONDS]", "wait for a key on the terminal, and for its effect (60 s)"),
    "rest": ("[SECONDS]", "wait until the turn rests (60 s)"),
    "clear": ("", "/clear: the session ends and a new one begins in the same process"),
    "end": ("[REASON]", "the session ends and the process exits"),
    "crash": ("", "the process kills itself with SIGKILL: no hook, its files stay"),
    "state": ("", "nothing; the answer tells the state"),
}


class BadStep(ValueError):
    """A step that nobody knows; the text names it."""


@dataclass(frozen=True, slots=True)
class Step:
    word: str
    argument: str = ""


def parse_steps(text: str) -> list[Step]:
    """The steps of a script; `#` begins a comment line. Raises BadStep.

    A `;` between `[[` and `]]` or after a backslash is no separator.
    """
    steps = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        for part in _split(line):
            if part.strip():
                steps.append(parse_step(part))
    return steps


def parse_step(text: str) -> Step:
    """One step, its `;` and all. Raises BadStep."""
    word, _, argument = text.strip().partition(" ")
    if word not in STEPS:
        raise BadStep(f"no step is named {word!r}; there are: {', '.join(STEPS)}")
    argument = argument.strip()
    if not argument and STEPS[word][0] and not STEPS[word][0].startswith("["):
        raise BadStep(f"the step {word!r} needs {STEPS[word][0]}")
    return Step(word, argument)


def _split(line: str) -> list[str]:
    parts, start, depth, at = [""], 0, 0, 0
    while at < len(line):
        pair = line[at : at + 2]
        if pair == "\\;":
            parts[-1] += line[start:at] + ";"
            at += 2
            start = at
            continue
        if pair in ("[[", "]]"):
            depth = max(0, depth + (1 if pair == "[[" else -1))
            at += 2
            continue
        if line[at] == ";" and not depth:
            parts[-1] += line[start:at]
            parts.append("")
            start = at + 1
        at += 1
    parts[-1] += line[start:]
    return parts


@dataclass(frozen=True, slots=True)
class Action:
    """One thing the model does.

    `kind`: `say` (argument: the text), `stream` and `hang` (seconds), `error` (status), `tools`
    (commands to run one after the other, after asking where `asks`), `background` (a command),
    `delegate` and `delegate-background` (commands, one subagent each), `ask`, `plan`, `form` (an
    MCP server's question), `flagged` (refused without asking), `unchecked` (asks, but no
    PermissionRequest says so), `nested` (the prompt of a headless run), `hold` (until a step).
    """

    kind: str
    arguments: tuple[str, ...] = ()
    asks: bool = True

    @property
    def argument(self) -> str:
        return self.arguments[0] if self.arguments else ""


_MARKER = re.compile(r"\[\[\s*(?P<name>[a-z0-9-]+)\s*(?::(?P<argument>.*?))?\]\]", re.DOTALL)
_HARMLESS = re.compile(r"(?:ls|echo|cat|pwd|sleep|true|date)\b[^;&|<>$`()]*\Z")
_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?)")
GREETING = "Hello. This is a plain answer from the fake model."


def turn_plan(prompt: str) -> list[Action]:
    """What the model does with a prompt: its markers in order, else one plain answer."""
    plan: list[Action] = []
    for found in _MARKER.finditer(prompt):
        plan.extend(_actions(found["name"], (found["argument"] or "").strip()))
    return plan or [Action("say", (GREETING,))]


def _actions(name: str, argument: str) -> list[Action]:
    """What one marker means; nothing for a name that nobody knows."""
    commands = tuple(part.strip() for part in argument.split("||") if part.strip())
    match name:
        case "text":
            return [Action("say", (GREETING,))]
        case "say":
            return [Action("say", (argument,))]
        case "question":
            return [Action("say", ("There are two ways: fast or safe. Which do you want?",))]
        case "slow":
            return [Action("stream", (argument or "30",))]
        case "hang":
            return [Action("hang", (argument or "30",))]
        case "bash" | "two":
            return [Action("tools", commands or ("touch made",))]
        case "touch":
            return [Action("tools", (f"touch {argument}",))]
        case "steps":
            return [Action("tools", (command,)) for command in commands]
        case "run":
            return [Action("tools", commands or ("touch made",), asks=False)]
        case "bg" | "bgrun":
            return [Action("background", (argument or "sleep 600",), asks=name == "bg")]
        case "agent" | "agents" | "bgagent":
            kind = "delegate-background" if name != "agent" else "delegate"
            return [Action(kind, commands or ("touch made-by-agent",))]
        case "error":
            return [Action("error", (argument or "500",))]
        case "bash-error":
            echo = Action("tools", ("echo before the error",))
            return [echo, Action("error", (argument or "500",))]
        case "ask" | "plan" | "form" | "hold" | "nested":
            return [Action(name, (argument,) if argument else ())]
        case "flagged" | "unchecked":
            return [Action(name, commands or ("rm -rf elsewhere",))]
    return []


def harmless(command: str) -> bool:
    """Whether the CLI runs this command without asking (seen with sleep, ls and echo)."""
    return bool(_HARMLESS.match(command.strip()))


def seconds_of(command: str) -> float:
    """How long a command pretends to run: its sleeps, added."""
    return sum(float(seconds) for seconds in _SLEEP.findall(command))


def fails(command: str) -> bool:
    """Whether a command pretends to fail: it names something nonexistent, or ends in `false`."""
    return "/nonexistent" in command or command.rstrip().endswith(("false", "exit 1"))


#: The words of each API error: StopFailure's `error`, and the text of its message.
ERRORS: dict[int, tuple[str, str]] = {
    400: ("unknown", "API Error: 400 fake: the request is invalid"),
    401: ("authentication_failed", "Invalid API key · Fix external API key"),
    403: ("authentication_failed", "Please run /login · API Error: 403 fake: not allowed"),
    404: ("model_not_found", "There's an issue with the selected model (fake). Run /model."),
    413: ("invalid_request", "Request too large (max 32MB). Double press esc to go back."),
    429: (
        "rate_limit",
        "API Error: Request rejected (429) · fake: this would exceed your rate limit",
    ),
    500: ("server_error", "API Error: 500 fake: internal server error."),
    529: ("server_error", "API Error: 529 fake: overloaded."),
}
