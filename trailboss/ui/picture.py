"""A pane's picture: what `capture-pane -e` printed, as styled lines. Pure.

Only colour sequences are understood and everything else that a terminal might act upon is
dropped, whatever a pane managed to put on its screen.
"""

from __future__ import annotations

import re

from trailboss.ui import cells
from trailboss.ui.view import Line

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_OTHER = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x9b[0-?]*[ -/]*[@-~]?|\x1b\[[0-?]*[ -/]*[@-ln-~]|\x1b(?!\[)[ -/]*[0-~]?"
    r"|[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f]"
)
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "gray")

_FLAGS = {
    1: "bold",
    3: "italic",
    4: "underline",
    5: "blink",
    7: "reverse",
    8: "hidden",
    9: "strike",
}
_OFF = {22: ("bold",), 23: ("italic",), 24: ("underline",), 25: ("blink",), 27: ("reverse",)}
_OFF |= {28: ("hidden",), 29: ("strike",)}
#: The 256 colours' cube.
_LEVELS = (0, 95, 135, 175, 215, 255)


def lines(captured: str, columns: int, rows: int) -> list[Line]:
    """The last `rows` lines that hold anything, each at most `columns` cells: an agent asks at
    the bottom of its screen."""
    pen = _Pen()
    found = [_line(raw, pen) for raw in _OTHER.sub("", captured).split("\n")]
    while found and not any(part.strip() for _, part in found[-1]):
        found.pop()
    return [_clipped(line, columns) for line in found[-rows:]]


class _Pen:
    """The attributes in force; tmux carries them over a line's end."""

    def __init__(self) -> None:
        self.front = self.back = ""
        self.flags: set[str] = set()

    @property
    def style(self) -> str:
        parts = [*sorted(self.flags)]
        if self.front:
            parts.append(f"fg:{self.front}")
        if self.back:
            parts.append(f"bg:{self.back}")
        return " ".join(parts)

    def take(self, sequence: str) -> None:
        """One SGR sequence's parameters; an unknown one changes nothing."""
        codes = []
        for part in sequence.split(";"):
            # `4:3` is a curly underline and `4:0` none; `58:…` colours it.
            head, _, sub = part.partition(":")
            if head == "4" and sub == "0":
                head = "24"
            codes.append(int(head) if head.isdigit() else 0)
        while codes:
            self._code(codes.pop(0), codes)

    def _code(self, code: int, rest: list[int]) -> None:
        if code == 0:
            self.__init__()  # type: ignore[misc]
        elif code in _FLAGS:
            self.flags.add(_FLAGS[code])
        elif code in _OFF:
            self.flags.difference_update(_OFF[code])
        elif code in (38, 48, 58):
            colour = _extended(rest)
            if code == 38:
                self.front = colour
            elif code == 48:
                self.back = colour
        elif code == 39:
            self.front = ""
        elif code == 49:
            self.back = ""
        elif 30 <= code <= 37 or 90 <= code <= 97:
            self.front = _named(code % 10, code >= 90)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            self.back = _named(code % 10, code >= 100)


def _named(index: int, bright: bool) -> str:
    if not bright:
        return f"ansi{_NAMES[index]}"
    return "ansiwhite" if index == 7 else f"ansibright{_NAMES[index]}"


def _extended(rest: list[int]) -> str:
    """The colour of `38;5;n` or `38;2;r;g;b`, its parameters taken off `rest`."""
    kind = rest.pop(0) if rest else 0
    if kind == 5 and rest:
        return _indexed(rest.pop(0))
    if kind == 2 and len(rest) >= 3:
        red, green, blue = (min(rest.pop(0), 255) for _ in range(3))
        return f"#{red:02x}{green:02x}{blue:02x}"
    return ""


def _indexed(index: int) -> str:
    if index < 8:
        return _named(index, False)
    if index < 16:
        return _named(index - 8, True)
    if index < 232:
        index -= 16
        red, green, blue = (_LEVELS[index // step % 6] for step in (36, 6, 1))
        return f"#{red:02x}{green:02x}{blue:02x}"
    level = 8 + 10 * (min(index, 255) - 232)
    return f"#{level:02x}{level:02x}{level:02x}"


def _line(raw: str, pen: _Pen) -> Line:
    line: Line = []
    at = 0
    for found in _SGR.finditer(raw):
        if found.start() > at:
            line.append((pen.style, cells.steady(raw[at : found.start()].replace("\x1b", ""))))
        pen.take(found[1])
        at = found.end()
    if at < len(raw):
        line.append((pen.style, cells.steady(raw[at:].replace("\x1b", ""))))
    return line


def _clipped(line: Line, columns: int) -> Line:
    out: Line = []
    for style, part in line:
        size = cells.width(part)
        if size > columns:
            out.append((style, cells.clip(part, columns, "")))
            break
        out.append((style, part))
        columns -= size
    return out
