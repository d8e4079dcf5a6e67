"""Claude Code's screen, as `tmux capture-pane -p` prints it, and what it says of the session.

Read from the live bottom alone: the input box with its footer, or the dialog in its place. Told by
structure, not by the words of one version, since glyphs and verbs change with each (case B82).
Checked against every screen of the captures of 2.1.197 and 2.1.332 and their kin in narrow panes.
What is not known for certain is `unknown`, and `unknown` proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trailboss.adapters.claude_screen_dialog import dialog
from trailboss.adapters.claude_screen_prompt import at_prompt, input_box
from trailboss.adapters.claude_screen_rows import rows, rule
from trailboss.core.claims import Claim
from trailboss.events import clean_text

Kind = Literal[
    "permission",
    "question",
    "plan",
    "trust",
    "login",
    "first_run",
    "elicitation",
    "menu",
    "busy",
    "idle",
    "error",
    "shell",
    "unknown",
]

#: The kinds that wait for a person's answer.
ASKING = frozenset({"permission", "question", "plan", "trust", "login", "first_run", "elicitation"})

#: Choices that Claude Code adds to each question of the model's.
_OWN_CHOICES = frozenset({"Type something", "Type something.", "Chat about this"})
#: The names that the hook gives the same errors (captures fact 14), by what the screen says.
_ERROR_NAMES = (
    (re.compile(r"429|rate limit|usage limit|your .*limit", re.IGNORECASE), "rate_limit"),
    (re.compile(r"login|401|403|API key|OAuth|logged in", re.IGNORECASE), "authentication_failed"),
    (re.compile(r"selected model"), "model_not_found"),
    (re.compile(r"too large|too long"), "invalid_request"),
    (re.compile(r"\b5\d\d\b|verloaded"), "server_error"),
)


@dataclass(frozen=True, slots=True)
class Screen:
    """`text` is what a dialog asks, or an error's words, at most 2,000 characters; `options` the
    choices' labels without their numbers; `lines` the screen's rows without frames and trailing
    blanks."""

    kind: Kind
    text: str = ""
    options: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def read(lines: Sequence[str], width: int = 0, height: int = 0, alternate: bool = False) -> Screen:
    """What the rows of the visible screen show (with or without `capture-pane -J`).

    `width` and `height` are the pane's in cells, 0 where unknown; `alternate` is tmux's
    `#{alternate_on}`. Never raises.
    """
    screen = rows(lines[-height:] if height > 0 else lines)
    seen = tuple(screen)
    box = input_box(screen, width)
    if box is not None:
        kind, text = at_prompt(screen, box)
        return Screen(kind, clean_text(text), (), seen)
    asked = dialog(screen)
    if asked is not None:
        options = tuple(clean_text(label) for label in asked.options)
        return Screen(asked.kind, clean_text(asked.text), options, seen)
    return Screen("shell" if not alternate and _is_shell(screen) else "unknown", "", (), seen)


def claim(screen: Screen, at: int) -> Claim | None:
    """The screen's claim, seen at `at` (Unix ms); None for what proves nothing."""
    if screen.kind in ASKING:
        text = screen.text
        choices = [label for label in screen.options if label not in _OWN_CHOICES]
        if choices and screen.kind != "elicitation":
            text = f"{text} ({' / '.join(choices)})".strip()
        return Claim(
            source="screen",
            at=at,
            says="stuck",
            scope="main",
            reason="permission",
            text=text,
            cause=screen.kind,
            detail={"options": list(screen.options)} if screen.options else {},
            checked_at=at,
        )
    if screen.kind == "busy":
        return Claim(source="screen", at=at, says="going", cause="busy", checked_at=at)
    if screen.kind in ("idle", "error"):
        return Claim(
            source="screen",
            at=at,
            says="idle",
            reason="stopped",
            text=screen.text,
            cause=screen.kind,
            detail={"error": _error_name(screen.text)} if screen.kind == "error" else {},
            checked_at=at,
        )
    return None


def _error_name(words: str) -> str:
    return next((name for known, name in _ERROR_NAMES if known.search(words)), "unknown")


def _is_shell(screen: Sequence[str]) -> bool:
    """Whether a shell's prompt is the last thing on a screen on which no agent draws any more."""
    if not screen or not re.match(r"^\S{0,80}[$#%]$", screen[-1]):
        return False
    farewell = any(row.startswith("Resume this session with:") for row in screen[-8:])
    return farewell or not any(rule(row) for row in screen)
