"""Reading rows of `list-…` output whose free-text fields may hold anything (cases B40, B41).

A row is fixed, space-free fields, then free ones, each as `<bytes>:<text>`: no separator is safe
(names hold `|` and tabs, paths hold newlines), and the length is what tmux counts itself with
`#{n:…}`. tmux from 3.4 on prints control characters escaped (`\\037`, `\\t`) after it counted, so
a row that does not fit as it stands is read a second time with those undone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|([abtnvfrs0]))")
_C_STYLE = {
    b"a": b"\a",
    b"b": b"\b",
    b"t": b"\t",
    b"n": b"\n",
    b"v": b"\v",
    b"f": b"\f",
    b"r": b"\r",
    b"s": b" ",
    b"0": b"\0",
}


@dataclass(frozen=True, slots=True)
class Row:
    """The fixed fields and the free texts of one row, in the format's order."""

    fixed: tuple[str, ...]
    free: tuple[str, ...]


def row_format(fixed: tuple[str, ...], free: tuple[str, ...]) -> str:
    """The `-F` format of rows that `read_rows` reads; the names are tmux's."""
    parts = [f"#{{{name}}}" for name in fixed]
    parts += [f"#{{n:{name}}}:#{{{name}}}" for name in free]
    return " ".join(parts)


def read_rows(output: str, fixed: int, free: int, first: str) -> tuple[list[Row], int]:
    """All rows that can be read, and the number of lines that cannot.

    `first` is a regular expression of the first fixed field; reading goes on at the next line
    that begins with one after a row that makes no sense, so one bad row costs no other.
    """
    data = output.encode("utf-8", "replace") + b"\n"
    start = re.compile(rb"(?:%s) " % first.encode(), re.MULTILINE)
    rows: list[Row] = []
    bad, at = 0, 0
    while at < len(data):
        if data[at : at + 1] == b"\n":
            at += 1
            continue
        read = (
            _read(data, at, fixed, free, False) or _read(data, at, fixed, free, True)
            if start.match(data, at)
            else None
        )
        if read is not None:
            row, at = read
            rows.append(row)
            continue
        bad += 1
        at = data.find(b"\n", at) + 1
    return rows, bad


def _read(data: bytes, at: int, fixed: int, free: int, escaped: bool) -> tuple[Row, int] | None:
    """One row from `at` and the place behind its newline, or None when it does not fit."""
    words: list[str] = []
    for _ in range(fixed):
        end = data.find(b" ", at)
        word = data[at:end]
        if end < 0 or not word or b"\n" in word:
            return None
        words.append(word.decode("utf-8", "replace"))
        at = end + 1
    texts: list[str] = []
    for index in range(free):
        colon = data.find(b":", at)
        if colon < 0 or not data[at:colon].isdigit():
            return None
        taken = _take(data, colon + 1, int(data[at:colon]), escaped)
        if taken is None:
            return None
        text, at = taken
        texts.append(text.decode("utf-8", "replace"))
        if data[at : at + 1] != (b"\n" if index == free - 1 else b" "):
            return None
        at += 1
    return Row(tuple(words), tuple(texts)), at


def _take(data: bytes, at: int, size: int, escaped: bool) -> tuple[bytes, int] | None:
    """`size` bytes of text from `at`, as they were before tmux escaped them."""
    if not escaped:
        return (data[at : at + size], at + size) if at + size < len(data) else None
    out = bytearray()
    while len(out) < size:
        if at >= len(data):
            return None
        match = _ESCAPE.match(data, at)
        if match is None:
            out += data[at : at + 1]
            at += 1
            continue
        octal, letter = match.groups()
        out += bytes([int(octal, 8) & 0xFF]) if octal else _C_STYLE[letter]
        at = match.end()
    return bytes(out), at
