"""A hook's standard input to a JSON object, as tolerantly as the contract asks (section 2)."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

from trailboss.events import clean_text

#: Bytes that the front keeps of a body (`ulimit -f` in bin/trailboss-emit; bash on macOS counts
#: it in kilobytes and so keeps twice as much).
CAPS = frozenset({16 * 1024 * 1024, 32 * 1024 * 1024})
#: Levels kept of nested arrays and objects.
MAX_DEPTH = 100


class NotJson(Exception):
    """No JSON object can be made of it (yet); the text says why."""


def parse(raw: bytes) -> dict[str, Any]:
    """The object, its strings free of NUL and lone surrogates and its numbers such as SQLite takes.

    orjson reads it; what orjson refuses and the standard library reads is taken too, and of a
    body that was cut at its cap the members before the cut. Raises NotJson.
    """
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError:
        data = _parse_tolerantly(raw)
    if not isinstance(data, dict):
        raise NotJson(f"a JSON {type(data).__name__}, not an object")
    cleaned: dict[str, Any] = _clean(data, 0)
    return cleaned


def _parse_tolerantly(raw: bytes) -> Any:
    if not raw:
        raise NotJson("the body is empty")
    text = raw.decode("utf-8-sig", "replace")
    try:
        return json.loads(text)
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError as error:
        if len(raw) in CAPS and (members := _members_before_cut(text)):
            return members
        # Only the kind and the place: the text is the agent's.
        place = f" at {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise NotJson(f"not JSON{place}, {len(raw)} bytes") from None


def _members_before_cut(text: str) -> dict[str, Any]:
    """The members of an object that are whole, of a text that ends in the midst of it."""
    decoder = json.JSONDecoder()
    members: dict[str, Any] = {}
    at = _skip(text, 0, "{")
    try:
        while True:
            key, at = decoder.raw_decode(text, _skip(text, at))
            value, at = decoder.raw_decode(text, _skip(text, _skip(text, at, ":")))
            members[str(key)] = value
            at = _skip(text, at, ",")
    except (ValueError, RecursionError):
        return members


def _skip(text: str, at: int, mark: str = "") -> int:
    """The place after white space, and after `mark` if one must stand there (else ValueError)."""
    while text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    if not text.startswith(mark, at):
        raise ValueError(f"no {mark!r}")
    return at + len(mark)


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        if depth >= MAX_DEPTH:
            return {}
        return {clean_text(key): _clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value] if depth < MAX_DEPTH else []
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        try:
            return float(value)
        except OverflowError:
            return None
    return value
