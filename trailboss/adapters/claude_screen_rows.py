"""The rows of a captured terminal screen, and what single rows of Claude Code's screen are.

Everything here works on one row or on its neighbours: rules, frames, key hints, numbered options,
the remains of a shell. What they mean together is `claude_screen`'s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

#: More rows than any terminal shows; a longer row is no part of a dialog.
MAX_ROWS = 500
MAX_ROW = 2000

RuleKind = Literal["solid", "dashed", "panel", "top", "bottom"]

_DEAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\ufeff]")
_FRAMED = re.compile(r"^( {0,3})[│┃](.*)[│┃]$")
_SOLID = frozenset("─━═")
_DASHED = frozenset("╌┄┈╍")
_PANEL = frozenset("▔▁")
_TITLED = re.compile(r"^[─━═]{2,} \S.* [─━═]+$")

#: `❯ 1. Yes`; 2.1.197 sets no blank after the number when the label wraps, and an arrow in place
#: of the cursor where the list scrolls.
OPTION = re.compile(r"^\s{0,8}([❯›▸>↑↓]\s{0,3})?(\d{1,2})\.(?:\s|(?=[A-Z\[]))\s*(.*)$")
#: The cursor of a list. In the first column only with a number: there it is the prompt.
CURSOR = re.compile(r"^(?:\s{0,8}[❯›▸>]\s{1,3}\d{1,2}\.|\s{1,8}❯\s+\S)")
#: What a person typed, in the conversation or in the input box.
PROMPT = re.compile(r"^\s{0,3}[❯>!#&](?:\s|$)")
BULLET = re.compile(r"^[●⏺](?:\s|$)")
MORE = re.compile(r"^\s*[↑↓] \d+ more\b")

_KEY = (
    r"(?:(?:shift|ctrl|alt|cmd)\s?\+\s?)?"
    r"(?:esc|enter|return|tab|space|backspace|arrow|type|[a-z]|[↑↓←→])(?: keys?)?"
)
_HINT = re.compile(
    rf"(?:^|·)\s*(?:Press )?(?:shift\+)?{_KEY}(?:/{_KEY})*(?: twice)? (?:to|for) ?\S*",
    re.IGNORECASE,
)
_NAMED_KEY = re.compile(r"\b(?:esc|enter|tab|ctrl|space|backspace)\b|[↑↓←→]", re.IGNORECASE)
_SHELL = re.compile(
    r"^\s?(?:Killed|Terminated|Hangup|Segmentation fault)"
    r"|^\[\d+\]\s*[+-]?\s*\w+"
    r"|^\s*Claude Code (?:has been|is) suspended|^Resume this session with:|^claude --resume"
    r"|^\S{0,80}[$#%](?:\s|$)|^➜\s"
)


def rows(lines: Sequence[str]) -> list[str]:
    """The screen's rows without frames, trailing blanks and control characters; wrapped and
    repeated rules are one."""
    out: list[str] = []
    for line in lines[-MAX_ROWS:]:
        row = _DEAD.sub("", line[:MAX_ROW].expandtabs(4)).rstrip()
        kind = rule(row)
        if out and kind in ("solid", "dashed", "panel") and rule(out[-1]) == kind:
            continue
        if out and row and set(row) <= _SOLID and rule(out[-1]) == "solid":
            continue
        framed = _FRAMED.match(row) if kind is None else None
        out.append(f"{framed[1]}{framed[2].rstrip()}" if framed else row)
    while out and not out[-1]:
        out.pop()
    return out


def rule(row: str) -> RuleKind | None:
    """The kind of line that a row draws from edge to edge; None for text."""
    body = row.strip()
    if len(body) < 8:
        return None
    shape = set(body)
    if shape <= _SOLID or (_TITLED.match(body) and body.count("─") >= 4):
        return "solid"
    if shape <= _DASHED:
        return "dashed"
    if shape <= _PANEL:
        return "panel"
    if body[0] in "╭┌┏" and body[-1] in "╮┐┓" and "─" in body:
        return "top"
    if body[0] in "╰└┗" and body[-1] in "╯┘┛" and "─" in body:
        return "bottom"
    return None


def is_hint(row: str) -> bool:
    """Whether the row tells which keys do what: `Esc to cancel · Tab to amend`."""
    return _HINT.search(row) is not None and _NAMED_KEY.search(row) is not None


def is_shell(row: str) -> bool:
    """Whether the row is a shell's: a prompt, or what it says of a process that ended."""
    return _SHELL.match(row) is not None


def compact(text: str) -> str:
    """The text without white space and case, so that a phrase is found however it is wrapped."""
    return "".join(text.split()).casefold().replace("’", "'")


def indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def paragraph(screen: Sequence[str], start: int) -> list[str]:
    """The rows from `start` to the next blank row or rule."""
    end = start
    while end < len(screen) and screen[end].strip() and rule(screen[end]) is None:
        end += 1
    return list(screen[start:end])
