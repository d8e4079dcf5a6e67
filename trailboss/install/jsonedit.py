"""JSON text edited in place: finds where things lie, then inserts, replaces or drops just there.

A parser and a printer would lose what a person sees in their file: indentation, line ends, the
order and spelling of everything. Here every edit is a splice, in the style that the text around
it has. Positions are indices into the text; a container is named by the position of its bracket.
All functions but `check` take text that `check` has accepted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}]+")
_COMMENT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|(//|/\*)', re.DOTALL)
_INDENT = re.compile(r"[ \t]*")


class Invalid(ValueError):
    """The text is not JSON as the strict readers take it; the message says where."""


@dataclass(frozen=True, slots=True)
class Item:
    """A member or an element: `text[start:end]` is all of it, `text[at:end]` its value."""

    start: int
    at: int
    end: int
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """How a document is set: `newline` is empty when it is all on one line."""

    newline: str
    unit: str
    colon: str
    comma: str


def check(text: str) -> Any:
    """The value of a strict JSON document (no comments, no NaN). Raises Invalid."""

    def constant(name: str) -> None:
        raise Invalid(f"{name} is no JSON")

    try:
        # Numbers stay text: a huge one is valid JSON, and Python refuses to convert it.
        return json.loads(text, parse_constant=constant, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        if any(found.group(1) for found in _COMMENT.finditer(text)):
            raise Invalid("it holds comments, which are no JSON") from None
        raise Invalid(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise Invalid("it is nested too deeply") from None


def root(text: str) -> int:
    """The position of the document's value."""
    return _skip_space(text, 0)


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def value_end(text: str, at: int) -> int:
    """Where the value that begins at `at` ends."""
    first = text[at]
    if first == '"':
        return _match_end(_STRING, text, at)
    if first not in "[{":
        return _match_end(_SCALAR, text, at)
    depth = 0
    for token in _STRUCTURE.finditer(text, at):
        kind = token.group()[0]
        if kind in "[{":
            depth += 1
        elif kind in "]}":
            depth -= 1
            if depth == 0:
                return token.end()
    raise Invalid("a bracket is not closed")


def _match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    if found is None:
        raise Invalid(f"no value at character {at}")
    return found.end()


def items(text: str, container: int) -> list[Item]:
    """The members of the object, or the elements of the array, that begins at `container`."""
    is_object = text[container] == "{"
    out: list[Item] = []
    at = _skip_space(text, container + 1)
    while text[at] not in "]}":
        start, key = at, None
        if is_object:
            end = value_end(text, at)
            key = json.loads(text[at:end])
            at = _skip_space(text, _skip_space(text, end) + 1)
        end = value_end(text, at)
        out.append(Item(start, at, end, key))
        at = _skip_space(text, end)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return out


def member(text: str, container: int, key: str) -> Item | None:
    """The member that counts: of a repeated key the last, as every JSON reader has it."""
    found = [item for item in items(text, container) if item.key == key]
    return found[-1] if found else None


def load(text: str, item: Item) -> Any:
    """An item's value."""
    return json.loads(text[item.at : item.end], parse_int=str, parse_float=str)


def layout(text: str) -> Layout:
    """The document's own style, taken from its first member; two spaces where there is none."""
    at = root(text)
    inside = items(text, at)
    if not inside:
        return Layout("\r\n" if "\r\n" in text else "\n", "  ", ": ", ", ")
    first = inside[0]
    colon = ": "
    if first.key is not None:
        between = text[value_end(text, first.start) : first.at]
        colon = between if between.strip(" :") == "" else ": "
    before = text[at + 1 : first.start]
    newline = _newline_of(before)
    unit = before.rpartition("\n")[2] if newline else ""
    return Layout(newline, unit or "  ", colon, ", " if colon.endswith(" ") else ",")


def _newline_of(space: str) -> str:
    if "\n" not in space:
        return ""
    return "\r\n" if "\r\n" in space else "\n"


def _render(value: Any, style: Layout, newline: str, indent: str) -> str:
    """A value as JSON text, its further lines indented by `indent`, or on one line."""
    if not newline:
        return json.dumps(value, ensure_ascii=False, separators=(style.comma, style.colon))
    lines = json.dumps(value, ensure_ascii=False, indent=style.unit, separators=(",", style.colon))
    return lines.replace("\n", newline + indent)


def add(text: str, container: int, value: Any, style: Layout, key: str | None = None) -> str:
    """The text with one more member (`key` given) or element at the container's end.

    A container that has items is continued in its own way, an empty one in the document's.
    """
    inside = items(text, container)
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + style.colon
    if inside:
        before = text[container + 1 : inside[0].start]
        newline = _newline_of(before)
        indent = before.rpartition("\n")[2]
        lead = "," + newline + indent if newline else style.comma
        at = inside[-1].end
        return text[:at] + lead + name + _render(value, style, newline, indent) + text[at:]
    closing = _line_indent(text, container)
    indent = closing + style.unit
    body = name + _render(value, style, style.newline, indent)
    at = container + 1
    if style.newline:
        body = style.newline + indent + body
        # An empty container that spans lines brings the line of its closing bracket along.
        if "\n" not in text[at : _skip_space(text, at)]:
            body += style.newline + closing
    return text[:at] + body + text[at:]


def _line_indent(text: str, at: int) -> str:
    found = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    assert found is not None
    return found.group()


def scalar(value: str | int | bool) -> str:
    """A string, number or truth value as we write it."""
    return json.dumps(value, ensure_ascii=False)


def replace(text: str, item: Item, value: str | int | bool) -> str:
    """The text with a scalar in place of the item's value."""
    return text[: item.at] + scalar(value) + text[item.end :]


def drop(text: str, container: int, index: int) -> str:
    """The text without one item: the undoing of `add`, wherever the item stands now."""
    inside = items(text, container)
    item = inside[index]
    if index > 0:
        return text[: inside[index - 1].end] + text[item.end :]
    if len(inside) > 1:
        return text[: item.start] + text[inside[1].start :]
    before = text[container + 1 : item.start]
    after = text[item.end : value_end(text, container) - 1]
    if newline := _newline_of(before):
        before = ""
        after = after.removeprefix(newline + _line_indent(text, container))
    return text[: container + 1] + before + after + text[value_end(text, container) - 1 :]
