"""Cells: text whose width every terminal, tmux and prompt_toolkit agree upon.

prompt_toolkit and tmux add up the widths of code points, a newer terminal draws a joined emoji
as one: a family of three is 6 cells wide for the former and 2 for the latter, and everything
behind it would stand in the wrong column. So joined emoji are cut down to their first code point
before they are measured, which all of them draw alike.
"""

from __future__ import annotations

import re
from functools import lru_cache

from trailboss import text

_JOINER = "\u200d"
#: Variation selectors, skin tones and the keycap mark: they alter the width of what they follow.
_MODIFIERS = re.compile("[\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\u20e3]")
_JOINED = re.compile(f"{_JOINER}+.?", re.DOTALL)
#: Two regional indicators make a flag in some terminals and two letters in others.
_REGIONAL = re.compile("[\U0001f1e6-\U0001f1ff]")
#: Combining marks piled up past this are dropped: tmux keeps few bytes a cell.
_PILE = re.compile("([\u0300-\u036f]{3})[\u0300-\u036f]+")


def steady(value: str) -> str:
    """The text with everything gone that makes its width a matter of opinion."""
    if value.isascii():
        return value
    value = _JOINED.sub("", value)
    value = _MODIFIERS.sub("", value)
    value = _REGIONAL.sub(lambda m: chr(ord(m[0]) - 0x1F1E6 + ord("A")), value)
    return _PILE.sub(r"\1", value)


@lru_cache(maxsize=4096)
def _cell(char: str) -> int:
    return 0 if char == _JOINER else text.width(char)


def width(value: str) -> int:
    """Cells, as the sum over code points."""
    return len(value) if value.isascii() else sum(map(_cell, value))


def clip(value: str, cells: int, mark: str = "…") -> str:
    """At most `cells` cells of the text, ending in `mark` where it was cut."""
    if cells <= 0:
        return ""
    if width(value) <= cells:
        return value
    room = cells - width(mark)
    if room < 0:
        return ""
    if value.isascii():
        return value[:room] + mark
    used = 0
    for at, char in enumerate(value):
        used += _cell(char)
        if used > room:
            return value[:at] + mark
    return value


def fit(value: str, cells: int, mark: str = "…", right: bool = False) -> str:
    """Exactly `cells` cells: cut or filled with spaces (in front when `right`)."""
    value = clip(value, cells, mark)
    fill = " " * (cells - width(value))
    return fill + value if right else value + fill
