"""The one way of hostile text to a terminal, a tmux option or a tmux format (case B65, B37).

Everything that an agent, a file name or a window title can choose goes through `clean` (one
line) or `clean_lines` (several) before a person sees it, and through `tmux_literal` before tmux
expands it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Sequences that a terminal acts upon, in 7-bit and C1 form, finished or not: OSC/DCS/PM/APC/SOS
# strings up to their end, CSI with parameters, and any other two-character escape.
_SEQUENCES = re.compile(
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|\x1b[ -/]*[0-~]?"
)
# Marks that reorder or hide text: bidi controls, zero-width characters (the joiner stays, since
# emoji need it), the soft hyphen, tag characters.
_INVISIBLE = re.compile(
    "[\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u00ad\U000e0000-\U000e007f]"
)
_SPACES = re.compile(r"\s+")


def _strip(value: str) -> str:
    value = _SEQUENCES.sub("", value)
    return _INVISIBLE.sub("", value)


def _printable(value: str) -> str:
    if value.isascii() and value.isprintable():
        return value
    return "".join(
        "�" if unicodedata.category(c) in ("Cc", "Cs", "Cn", "Co", "Zl", "Zp") else c for c in value
    )


def clean(value: str | None, limit: int = 4000) -> str:
    """One line of printable text of at most `limit` characters; every white space is one space."""
    if not value:
        return ""
    return _printable(_SPACES.sub(" ", _strip(value[: limit * 4])).strip())[:limit]


def clean_lines(value: str | None, limit: int = 64 * 1024) -> list[str]:
    """Printable lines, tabs as spaces, split at newlines only (U+2028 becomes a space)."""
    if not value:
        return []
    text = _strip(value[:limit]).replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
    text = re.sub("[\u2028\u2029\u0085\x0b\x0c]", " ", text)
    return [_printable(line) for line in text.split("\n")]


def tmux_literal(value: str) -> str:
    """Text that tmux shows as it is where it expands a format: `#` is doubled."""
    return value.replace("#", "##")


def width(value: str) -> int:
    """The cells this text takes in a terminal, by grapheme."""
    if value.isascii():
        return len(value)
    from wcwidth import wcswidth

    cells = wcswidth(value)
    return cells if cells >= 0 else sum(max(0, wcswidth(c)) for c in value)


def clip(value: str, cells: int) -> str:
    """The text cut by grapheme to at most `cells` cells, with `…` in the last one if cut."""
    if cells <= 0:
        return ""
    if width(value) <= cells:
        return value
    if value.isascii():
        return value[: cells - 1] + "…"
    out, used = [], 0
    for grapheme in _graphemes(value):
        size = width(grapheme)
        if used + size > cells - 1:
            break
        out.append(grapheme)
        used += size
    return "".join(out) + "…"


def _graphemes(value: str) -> Iterable[str]:
    """What a reader takes for one character each; an older wcwidth cannot tell."""
    try:
        from wcwidth import iter_graphemes
    except ImportError:
        return value
    return iter_graphemes(value)


def duration(ms: int) -> str:
    """How long, short: `8s`, `3m`, `2h 5m`, `4d`."""
    seconds = max(0, ms) // 1000
    if seconds < 60:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h {minutes}m" if minutes else f"{hours}h"
    return f"{hours // 24}d"
