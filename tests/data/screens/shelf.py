"""Reads the screens of this folder, and shows them as another pane would.

`captured-VERSION.txt` holds the screens of the captures, 120 cells wide, `sizes-VERSION.txt` those
of panes down to 30 cells. Each screen stands under one or more headers,

    === KIND | WIDTHxHEIGHT[ alt] | SCENARIO | WHAT

where KIND was given by hand, `a/b` where the screen itself does not tell the two apart and either
answer is right. Long runs of one character are written ⟦─*120⟧, of blank rows ⟦blank*31⟧.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
FILES = sorted(path.name for path in HERE.glob("*-*.txt"))

_HEADER = re.compile(r"=== (\S+) \| (\d+)x(\d+)( alt)? \| ([^|]+) \| (.*)")


@dataclass(frozen=True)
class Shot:
    kinds: tuple[str, ...]
    width: int
    height: int
    alternate: bool
    scenario: str
    what: str
    rows: tuple[str, ...]
    file: str

    @property
    def id(self) -> str:
        version = self.file.split("-", 1)[1].removesuffix(".txt")
        return f"{version} {self.width}x{self.height} {self.scenario} {self.what}"


@cache
def shots() -> tuple[Shot, ...]:
    """Every screen, one for each of its headers."""
    return tuple(shot for name in FILES for shot in _read(name))


def _read(name: str) -> list[Shot]:
    out: list[Shot] = []
    headers: list[re.Match[str]] = []
    body: list[str] = []

    def close() -> None:
        rows = tuple(_unpack("\n".join(body)).split("\n"))
        for h in headers:
            out.append(
                Shot(
                    kinds=tuple(h[1].split("/")),
                    width=int(h[2]),
                    height=int(h[3]),
                    alternate=bool(h[4]),
                    scenario=h[5],
                    what=h[6],
                    rows=rows,
                    file=name,
                )
            )

    for line in (HERE / name).read_text(encoding="utf-8").split("\n")[1:]:
        found = _HEADER.fullmatch(line)
        if found is None:
            body.append(line)
            continue
        if body:
            close()
            headers, body = [], []
        headers.append(found)
    if body and not body[-1]:
        body.pop()
    close()
    return out


def _unpack(text: str) -> str:
    text = re.sub(r"⟦blank\*(\d+)⟧\n?", lambda m: "\n" * int(m[1]), text)
    return re.sub(r"⟦(.)\*(\d+)⟧", lambda m: m[1] * int(m[2]), text)


def wrapped(rows: tuple[str, ...], width: int) -> list[str]:
    """The rows as a pane of that width shows what was drawn for a wider one: cut at the edge,
    wherever that is, the rest in the next row."""
    out: list[str] = []
    for row in rows:
        pieces = [row[i : i + width] for i in range(0, len(row), width)] or [""]
        out.extend(piece.rstrip() for piece in pieces)
    return out
