"""Claude Code's input box, and whether a turn runs over it.

The box is drawn whether the session works or rests (case B82). That it works is told by a spinner
or by the hint in the footer; that it rests, only by something that would not be there otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trailboss.adapters.claude_screen_rows import (
    BULLET,
    PROMPT,
    compact,
    indent,
    is_shell,
    paragraph,
    rule,
)

#: Rows that an input box may take.
_BOX_ROWS = 60
#: The part of the pane's width that a line over or under it takes at least.
_SPAN = 0.8
#: What stands in the first column of a footer: the completions of 2.1.197.
_COMPLETIONS = "/+*…◇@"
_GLYPH = re.compile(r"^([^\w\s●⏺⎿❯>!#&/\\|│※\"'(\[$%~.,:;-])(?:\s+(\S.*))?$")
_SPINS = re.compile(r"…\s*(?:\(|$)|\besc to interrupt\b|\bRetrying in \d")
_DONE = re.compile(r"^\S+ for \d|^Waiting for \d+ background")
_INTERRUPT = re.compile(r"(?:^|·)\s*esc to ?(?:int\w*|i\w{0,2}…|…)", re.IGNORECASE)
_AT_REST = re.compile(r"(?:^|·)\s*\? for\b")
_MODE = re.compile(r"^\s*(?:⏸|⏵⏵?) [\w -]+? on(?: \(shift\+tab to cycle\))?(.*)$")
_INTERRUPTED = re.compile(r"^\s*⎿\s+Interrupt")
#: What is shown at the right edge over the box; a narrow pane leaves little room before it.
_NOTICE = re.compile(r"^\s{8,}\S|^\s+tmux focus-events|^\s+.* /effort$")
_LOGO = re.compile("▐▛|▝▜|▘▘ ▝▝|▝▝   ▝▝|Welcome back!|Claude Code(?: v|$| ─)")
_SPOKEN = re.compile(r"^\s?(?:[●⏺]|❯\s+\S)")
_OVERLAY = re.compile("\\S.*[╭╰]─{3,}")
_ERROR_TEXT = 2000
_ERROR = re.compile(
    r"^(?:[●⏺]|⎿)\s+(?:Please run /login|API Error|API error|Invalid API key"
    r"|There's an issue with the selected model|Request too large|Prompt is too long"
    r"|Credit balance|You've (?:hit|reached) your|Claude (?:AI )?usage limit|OAuth|Your account"
    r"|Not logged in)"
)

PromptKind = Literal["busy", "idle", "error", "menu", "unknown"]


@dataclass(frozen=True, slots=True)
class Box:
    """The input box: the rows of the lines over and under it, and what stands in it."""

    top: int
    bottom: int
    typed: str


def input_box(screen: Sequence[str], width: int = 0) -> Box | None:
    """The lowest pair of lines with a prompt between them and nothing but a footer below.

    Lines that do not span a pane of `width` cells (0: unknown) are not yet redrawn, or an answer's.
    """
    edge = width * _SPAN
    for bottom in range(len(screen) - 1, 0, -1):
        if rule(screen[bottom]) not in ("solid", "bottom"):
            continue
        top = bottom - 1
        while top >= 0 and bottom - top <= _BOX_ROWS and rule(screen[top]) is None:
            top -= 1
        if top < 0 or rule(screen[top]) not in ("solid", "top") or bottom - top < 2:
            continue
        if not PROMPT.match(screen[top + 1]):
            continue
        if min(len(screen[top].strip()), len(screen[bottom].strip())) < edge:
            continue
        if not all(_is_footer(row) for row in screen[bottom + 1 :]):
            return None
        if any(is_shell(row) for row in screen[top + 2 : bottom]):
            return None
        first = screen[top + 1].strip()
        typed = " ".join([first[1:], *screen[top + 2 : bottom]]).strip()
        if typed in ("$", "#", "%"):
            return None  # a shell's prompt, printed where the cursor stood
        return Box(top, bottom, typed if first[0] in "❯>" else first)
    return None


def _is_footer(row: str) -> bool:
    if not row.strip():
        return True
    if rule(row) is not None or re.match(r"^\s*❯", row) or is_shell(row):
        return False
    return row[0] == " " or row[0] in _COMPLETIONS


def at_prompt(screen: Sequence[str], box: Box) -> tuple[PromptKind, str]:
    """Whether the session with this input box works, rests, or shows neither."""
    footer = [row for row in screen[box.bottom + 1 :] if row.strip()]
    hints = " ".join(footer)
    if re.search(r"enter to (?:open|return)\b|space to (?:see more|reply)\b", hints):
        return "menu", ""
    if "esctointerrupt" in compact(hints) or any(_INTERRUPT.search(row) for row in footer):
        return "busy", ""
    last, rests = _last_words(screen[: box.top])
    if last == "busy":
        return "busy", ""
    if last == "overlay":
        return "unknown", ""
    error = _error(screen[: box.top])
    if error:
        return "error", error
    return ("idle" if rests or _footer_rests(footer, box.typed) else "unknown"), ""


def _footer_rests(footer: Sequence[str], typed: str) -> bool:
    """Whether the footer shows that no turn runs, by what would stand in it if one did.

    Text in the box, vim's mode and, in 2.1.197, a status line of the person's own hide the hint
    that would tell; a narrow pane cuts it off.
    """
    if any(_AT_REST.search(row) for row in footer):
        return True
    if typed or not footer:
        return not typed
    mode = _MODE.match(footer[0])
    if mode is None:
        return False
    after = mode[1].strip(" ·")
    if after:
        return not "esc to interrupt".startswith(after.rstrip("… "))
    return not footer[0].endswith("…")


def _last_words(above: Sequence[str]) -> tuple[str, bool]:
    """What the last block over the input box is, and whether it proves that the turn is over.

    The block is `busy` (a spinner), `overlay` (a panel that may hide one) or `other`.
    """
    at = len(above) - 1
    interrupted = False
    while at >= 0:
        row = above[at]
        kind = rule(row)
        if kind == "bottom" and "┴" not in row:
            return _panel(above, at)
        if kind is not None or not row.strip() or _NOTICE.match(row):
            at -= 1
            continue
        if _INTERRUPTED.match(row):
            interrupted = True
        if _LOGO.search(row) and not any(_SPOKEN.match(r) for r in above[:at]):
            return "other", True
        if _OVERLAY.search(row):
            return "overlay", False
        if indent(row) == 0 or BULLET.match(row.lstrip()):
            break
        at -= 1
    if at < 0:
        return "other", interrupted
    words = _spinner_words(paragraph(above, at))
    if words is None:
        return "other", interrupted
    if _DONE.match(words):
        return "other", True
    if _SPINS.search(words):
        return "busy", False
    return "other", interrupted


def _spinner_words(block: Sequence[str]) -> str | None:
    """What stands behind a glyph of its own in the first column, without the tip or list under it;
    None for what begins like an answer or a prompt."""
    glyph = _GLYPH.match(block[0])
    if glyph is None:
        return None
    words = [glyph[2] or ""]
    for row in block[1:]:
        if "⎿" in row:
            break
        words.append(row.strip())
    return " ".join(words).strip()


def _panel(above: Sequence[str], bottom: int) -> tuple[str, bool]:
    """A framed block right over the input box: the welcome of a fresh start, something that an
    answer shows, or an overlay."""
    top = bottom - 1
    while top >= 0 and rule(above[top]) != "top":
        top -= 1
    inside = above[max(top, 0) : bottom]
    if any(_LOGO.search(row) for row in inside):
        return "other", True
    if top <= 0:
        return "other", False
    # What an answer shows stands deeper than anything that is drawn over the conversation.
    return ("other" if indent(above[top]) > 2 else "overlay"), False


def _error(above: Sequence[str]) -> str:
    """The words of an API error that ended the last turn, else nothing."""
    for at in range(len(above) - 1, -1, -1):
        row = above[at]
        if not row.strip() or _NOTICE.match(row):
            continue
        block = " ".join(r.strip() for r in paragraph(above[: at + 6], at))
        if _ERROR.match(block) and (block[0] != "⎿" or _is_under_a_prompt(above, at)):
            return re.sub(r"^\S\s+", "", block)[:_ERROR_TEXT]
        if indent(row) <= 1:
            glyph = _GLYPH.match(row)
            if glyph is None or not _DONE.match(glyph[2] or ""):
                return ""
    return ""


def _is_under_a_prompt(above: Sequence[str], at: int) -> bool:
    """Whether the row belongs to what a person typed, not to a tool whose output it is."""
    while at > 0 and indent(above[at]) > 0:
        at -= 1
    return above[at].startswith("❯")
