"""The bytes of a terminal as keys."""

from __future__ import annotations

import codecs
import re

_NAMES = {
    "\r": "Enter",
    "\n": "Enter",
    "\t": "Tab",
    "\x7f": "Backspace",
    "\x08": "Backspace",
    "\x03": "C-c",
    "\x04": "C-d",
    "\x15": "C-u",
    "\x1a": "C-z",
    "\x1b": "Esc",
}
_ARROWS = {"A": "Up", "B": "Down", "C": "Right", "D": "Left", "Z": "S-Tab"}
_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?<]*[A-Za-z~]|O[A-Za-z])")
#: Names that the step `key` takes besides these.
ALIASES = {"Escape": "Esc", "Return": "Enter", "Space": " "}


class Decoder:
    """Bytes in, keys out; half a character or half an escape sequence waits for the rest.

    A key is a name (`Enter`, `Esc`, `Up`, …) or one character. `flush` gives up waiting: a lone
    escape byte is the key Esc.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._held = ""

    @property
    def waiting(self) -> bool:
        return bool(self._held)

    def feed(self, data: bytes) -> list[str]:
        return self._keys(self._held + self._decode(data), final=False)

    def flush(self) -> list[str]:
        return self._keys(self._held, final=True)

    def _keys(self, text: str, final: bool) -> list[str]:
        keys, at = [], 0
        self._held = ""
        while at < len(text):
            if text[at] == "\x1b":
                found = _SEQUENCE.match(text, at)
                if found:
                    if name := _ARROWS.get(found.group()[-1]):
                        keys.append(name)
                    at = found.end()
                    continue
                rest = text[at:]
                if not final and (rest == "\x1b" or (rest[1] in "[O" and len(rest) < 16)):
                    self._held = rest
                    break
            character = text[at]
            if character in _NAMES:
                keys.append(_NAMES[character])
            elif character.isprintable():
                keys.append(character)
            at += 1
        return keys


def names(text: str) -> list[str]:
    """The keys that a step spells: `Down Enter`, `4`, `y`."""
    known = {*_NAMES.values(), *_ARROWS.values()}
    keys = []
    for word in text.split():
        word = ALIASES.get(word, word)
        keys.extend([word] if word in known or len(word) == 1 else list(word))
    return keys
