"""The list of choices on Claude Code's screen: the rows around the cursor.

Numbered or not, with descriptions or wrapped labels between them, scrolled so that the first ones
are gone: all were seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trailboss.adapters.claude_screen_rows import (
    BULLET,
    CURSOR,
    MORE,
    OPTION,
    indent,
    is_hint,
    is_shell,
    rule,
)

#: Rows between two options of a list: the first one's description, or its wrapped label.
_GAP = 9
_LABEL = 200
_CHECKBOX = re.compile(r"^\[.?\]\s*")


@dataclass(frozen=True, slots=True)
class Choices:
    """The rows of a list: the first option's, that after the last one's, and the labels, whole
    (with a description, where there is one) and as far as their first row goes."""

    start: int
    end: int
    labels: tuple[str, ...]
    heads: tuple[str, ...] = ()


def choices(screen: Sequence[str]) -> Choices | None:
    """The list that holds the lowest cursor."""
    cursor = next((i for i in range(len(screen) - 1, -1, -1) if CURSOR.match(screen[i])), None)
    if cursor is None:
        return None
    numbered = _numbered(screen, cursor)
    if numbered is not None:
        return numbered
    return _plain(screen, cursor) if OPTION.match(screen[cursor]) is None else None


def _numbered(screen: Sequence[str], cursor: int) -> Choices | None:
    """Options with consecutive numbers around the cursor, which may stand on none of them."""
    found: dict[int, int] = {}
    seed = next(
        (i for i in range(cursor, max(-1, cursor - _GAP), -1) if OPTION.match(screen[i])), None
    )
    if seed is None:
        return None
    found[seed] = _number(screen[seed])
    for step in (-1, 1):
        at, number = seed, found[seed]
        while (row := _next_option(screen, at, step, number + step)) is not None:
            at, number = row, number + step
            found[row] = number
    if len(found) < 2:
        return None
    places = sorted(found)
    ends = [*places[1:], _end_of_last(screen, places[-1])]
    labels = tuple(_label(screen, a, b) for a, b in zip(places, ends, strict=True))
    heads = tuple(_label(screen, a, a + 1) for a in places)
    return Choices(places[0], ends[-1], labels, heads)


def _number(row: str) -> int:
    found = OPTION.match(row)
    return int(found[2]) if found else -1


def _next_option(screen: Sequence[str], at: int, step: int, number: int) -> int | None:
    for row in range(at + step, at + step * _GAP, step):
        if not 0 <= row < len(screen) or number < 1:
            return None
        if _number(screen[row]) == number:
            return row
        if BULLET.match(screen[row]):
            return None
    return None


def _end_of_last(screen: Sequence[str], last: int) -> int:
    """The row after the last option's own: its label may be wrapped, even into the first column."""
    row = last + 1
    while row < len(screen) and screen[row].strip():
        text = screen[row]
        if is_hint(text) or rule(text) or MORE.match(text) or is_shell(text) or BULLET.match(text):
            break
        row += 1
    return row


def _label(screen: Sequence[str], start: int, end: int) -> str:
    """The option's words: its row, and those that carry it on."""
    found = OPTION.match(screen[start])
    words = [_CHECKBOX.sub("", found[3])] if found else []
    for row in screen[start + 1 : end]:
        if not row.strip() or is_hint(row) or rule(row) or "to approve with" in row:
            break
        words.append(row.strip())
    return " ".join(words).strip()[:_LABEL]


def _plain(screen: Sequence[str], cursor: int) -> Choices | None:
    """A list without numbers: the rows around the cursor that stand in the same column."""
    column = len(re.match(r"^\s*❯\s*", screen[cursor])[0])  # type: ignore[index]
    start = cursor
    while start > 0 and _is_item(screen[start - 1], column):
        start -= 1
    end = cursor + 1
    while end < len(screen) and _is_item(screen[end], column):
        end += 1
    labels: list[str] = []
    for row in screen[start:end]:
        words = row.replace("❯", " ").strip()
        if labels and words[:1].islower():
            labels[-1] = f"{labels[-1]} {words}"
        else:
            labels.append(words[:_LABEL])
    return Choices(start, end, tuple(labels), tuple(labels))


def _is_item(row: str, column: int) -> bool:
    return (
        bool(row.strip())
        and column <= indent(row.replace("❯", " ", 1)) <= column + 2
        and not is_hint(row)
        and rule(row) is None
    )
