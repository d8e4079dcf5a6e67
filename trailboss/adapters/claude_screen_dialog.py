"""Claude Code's dialogs: what stands at the bottom of the screen in place of the input box.

A dialog is told by its bottom: a list with a cursor, or a line of key hints, and under it nothing
but what belongs to a dialog. What a dialog's words look like further up, in an answer that quotes
one or in the scrollback, is never read (case B79). Phrases are sought without white space, since
narrow panes break them anywhere (case B80).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trailboss.adapters.claude_screen_list import Choices, choices
from trailboss.adapters.claude_screen_rows import (
    BULLET,
    MORE,
    OPTION,
    compact,
    is_hint,
    is_shell,
    rule,
)

DialogKind = Literal[
    "permission", "question", "plan", "trust", "login", "first_run", "elicitation", "menu"
]

#: Rows and characters of a dialog that go into a message.
_HEAD_ROWS, _TAIL_ROWS, _TEXT = 8, 6, 2000

#: How notices begin that ask at the start or open by themselves between two turns.
_NOTICES = (
    "warning:claudecoderunninginbypasspermissionsmode",
    "settingswarning",
    "settingserror",
    "choosethetextstyle",
    "detectedacustomapikey",
    "automodecan'tcheckactions",
    "makeautomodeyourdefault",
    "newmcpserver",
    "allowexternalclaude.mdfileimports",
    "useclaudecode'sterminalsetup",
    "securitynotes",
)
#: The same where their beginning has scrolled away, from their options and hints.
_NOTICE_ENDS = (
    "usethisapikey",
    "entertostayinautomode",
    "asmydefaultpermissionmode",
    "yes,iaccept",
    "fixwithclaude",
    "pressentertocontinue",
    "usethismcpserver",
    "externalimports",
)
_TRUST = ("trustthisfolder", "quicksafetycheck", "doyoutrustthefilesinthisfolder")
_LOGIN = ("selectloginmethod", "pastecodehere", "browserdidn'topen")
_ASKS = re.compile(r"doyouwant(?:to|claudeto)")
#: A prompt of the conversation, no cursor: it stands in the first column.
_TYPED = re.compile(r"^[❯>](?:\s(?!\d)|$)")
_ELICITS = re.compile(r"mcpserver[“\"']")
#: The buttons under an MCP server's form.
_FORM = re.compile(r"^\s+(?:❯\s+)?Accept\s{2,}Decline$")
#: The footer of an input box: without its box, a remnant.
_FOOTER = re.compile(r"^\s*(?:[⏸⏵]|\? for|esc to interrupt|← for)")
#: How the row of a question's tabs begins.
_TABS = "☐☒←"
_TIP = re.compile(r"(?m)^Tip: [^\n]*(?:\n[^\n]*){0,2}? below$\n?|^Tip: [^\n]*\n?")


@dataclass(frozen=True, slots=True)
class Dialog:
    kind: DialogKind
    text: str
    options: tuple[str, ...]


def dialog(screen: Sequence[str]) -> Dialog | None:
    """The dialog at the bottom of the screen; None when there is none, or half of one."""
    found = choices(screen)
    if found is None or not _nothing_else_below(screen, found.end):
        return _without_choices(screen)
    start = _opening(screen, found.start)
    if any(BULLET.match(row) for row in screen[start : found.start]):
        return None
    return _told(screen, start, found)


def _without_choices(screen: Sequence[str]) -> Dialog | None:
    """A notice or a menu without a list that shows: a line, text, and hints at the very bottom;
    or one that is longer than the pane, whose bottom is cut off."""
    below = _opening(screen, len(screen))
    hints = next((i for i in range(len(screen) - 1, below - 1, -1) if is_hint(screen[i])), None)
    if hints is not None and not _nothing_else_below(screen, hints):
        return None
    while hints and is_hint(screen[hints - 1]):
        hints -= 1
    if hints is not None and _FOOTER.match(screen[hints]):
        return None
    end = len(screen) if hints is None else hints
    start = _opening(screen, end)
    rest = screen[start:]
    if any(BULLET.match(row) or is_shell(row) or _TYPED.match(row) for row in rest):
        return None
    if hints is None and (start == 0 or rule(screen[start - 1]) is None):
        return None
    return _told(screen, start, Choices(end, end, ()))


def _told(screen: Sequence[str], start: int, found: Choices) -> Dialog | None:
    """The dialog whose text begins at `start`, by its words."""
    body = screen[start : found.start]
    words = compact(" ".join(body))
    below = screen[found.end :]
    keys = next((i for i, row in enumerate(below) if is_hint(row)), len(below))
    hints = compact(" ".join(below[keys:]))
    # Its other options may have scrolled away.
    if "chataboutthis" in compact(" ".join(below[:keys])):
        words += "chataboutthis"
    labels = tuple(compact(label) for label in found.labels)
    if any(_FORM.match(row) for row in screen[found.start if labels else start :]):
        kind: DialogKind | None = "elicitation"
    else:
        opened = _opened_by_a_person(screen, start)
        whole = start > 0 and rule(screen[start - 1]) is not None
        kind = _kind(words, hints, labels, opened, whole)
    if kind is None:
        return None
    options = found.labels
    if kind == "plan":
        # The plan itself stands over a line of its own.
        body = screen[_opening(screen, max(0, start - 1)) : found.start]
    elif kind == "elicitation":
        options = ("Accept", "Decline")
    elif kind == "question":
        options = found.heads
    return Dialog(kind, _text(body), options)


def _kind(
    words: str, hints: str, labels: tuple[str, ...], opened: bool, whole: bool
) -> DialogKind | None:
    """By what Claude Code itself writes: the beginning of the text, the hints and, where the
    hints say that they are not the model's, the options. The rest may be anybody's words.

    `whole`: the line over it is on the screen. Without it, who opened it does not show.
    """
    yes = any(label.startswith("yes") for label in labels)
    no = any(label.startswith("no") for label in labels)
    confirm = "entertoconfirm" in hints
    select = "entertoselect" in hints
    if _ELICITS.match(words) and not yes:
        return "elicitation"
    if select and words.endswith("chataboutthis"):
        return "question"
    if "chataboutthis" in labels or (labels and labels[0] == "submitanswers"):
        return "question"
    if labels and hints.startswith("entertoselect") and _moves(hints) and not opened:
        return "question"
    if words.startswith(("claudehaswrittenupaplan", "readytocode?")) or _is_plan(labels):
        return "plan"
    ending = "".join((*labels, hints))
    if not opened:
        if any(phrase in ending for phrase in _TRUST) or (
            confirm and any(phrase in words for phrase in _TRUST)
        ):
            return "trust"
        told = words + ending if confirm else ending
        if words.startswith(_NOTICES) or any(phrase in told for phrase in _NOTICE_ENDS):
            return "first_run"
        if "tochangethislater,run/theme" in words and not no:
            return "first_run"
        if any(phrase in words for phrase in _LOGIN) and not no:
            return "login"
    if ((yes and no) or ((yes or no) and _ASKS.search(words))) and not confirm:
        return "permission"
    if opened:
        return "menu"
    if confirm and labels and _moves(hints):
        return "question"
    if confirm and labels and whole:
        return "first_run"
    return "menu" if hints else None


def _is_plan(labels: tuple[str, ...]) -> bool:
    return any("manuallyapprove" in x or x.startswith("tellclaudewhatto") for x in labels)


def _moves(hints: str) -> bool:
    return "↑" in hints or "arrow" in hints or "tonavigate" in hints


def _opened_by_a_person(screen: Sequence[str], start: int) -> bool:
    """Whether it is a menu: under the line that 2.1.332 draws over those, or right under the
    command that opened it, as 2.1.197 shows them."""
    above = start - 1
    if above < 0 or rule(screen[above]) is None:
        return False
    if rule(screen[above]) == "panel":
        return True
    while above > 0 and not screen[above - 1].strip():
        above -= 1
    return above > 0 and re.match(r"^❯\s/\S", screen[above - 1]) is not None


def _nothing_else_below(screen: Sequence[str], start: int) -> bool:
    """Whether only what belongs to a dialog follows: descriptions, hints, rules.

    A conversation, an input box or a shell below it means that it is over.
    """
    carries_on = True
    for row in screen[start:]:
        if is_shell(row) or BULLET.match(row):
            return False
        if not row.strip():
            carries_on = False
        elif rule(row) is not None or MORE.match(row) or is_hint(row) or OPTION.match(row):
            carries_on = True
        elif not row.startswith(" ") and not carries_on:
            return False
    return True


def _opening(screen: Sequence[str], before: int) -> int:
    """The row where the dialog's text begins: after the line over it, or where that has scrolled
    away, after the conversation."""
    framed = 0
    for row in range(before - 1, -1, -1):
        kind = rule(screen[row])
        if kind in ("solid", "panel") or (kind == "top" and framed == 0):
            return row + 1
        framed += {"bottom": 1, "top": -1}.get(kind or "", 0)
    for row in range(before - 1, -1, -1):
        if BULLET.match(screen[row]) or re.match(r"^\s{0,2}⎿", screen[row]):
            while row < before and screen[row].strip():
                row += 1
            return row
    return 0


def _text(body: Sequence[str]) -> str:
    """What it asks: its first and last rows, without rules and tips."""
    kept: list[str] = []
    for row in body:
        words = " ".join(row.split()).strip("│ ")
        if (
            words
            and rule(row) is None
            and not (is_hint(row) or MORE.match(row) or words[0] in _TABS)
        ):
            kept.append(words)
    if len(kept) > _HEAD_ROWS + _TAIL_ROWS:
        kept = [*kept[:_HEAD_ROWS], "…", *kept[-_TAIL_ROWS:]]
    return _TIP.sub("", "\n".join(kept))[:_TEXT].strip()
