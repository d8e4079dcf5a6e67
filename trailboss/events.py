"""The event: what a hook tells the broker (contract, section 2).

An `Event` object is always valid. `Event.from_wire` is the only way in from outside and raises
`BadEvent` with a reason for people; `to_wire` is the only way out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

WIRE_VERSION = 1
TYPES = frozenset({"stuck", "unstuck", "registered", "ended"})
REASONS = frozenset({"permission", "stopped"})

#: Bytes of one frame; a larger one is set aside unread.
MAX_EVENT = 1024 * 1024
#: Bytes of UTF-8 kept of a message, of one string of `detail`, and of `detail` as JSON.
MAX_MESSAGE = 64 * 1024
MAX_DETAIL_STRING = 64 * 1024
MAX_DETAIL = 256 * 1024
#: Ids, paths and causes longer than this are somebody's mistake.
MAX_SHORT = 4096

_PANE = re.compile(r"%[0-9]{1,9}\Z")


class BadEvent(ValueError):
    """An event that cannot be taken; the text says why, for the log."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to one session.

    `timestamp` is Unix milliseconds, stamped when the hook started. `request` keys one open
    request of several. `detail` is a JSON object; `journal` names the journal entry that this
    event is the last of, so that the broker may remove it once it has committed.
    """

    id: str
    type: str
    harness: str
    session_id: str
    timestamp: int
    cause: str | None = None
    pane_id: str | None = None
    tmux_socket: str | None = None
    tmux_pid: int | None = None
    cwd: str | None = None
    transcript_path: str | None = None
    pid: int | None = None
    reason: str | None = None
    message: str | None = None
    request: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    truncated: bool = False
    journal: str | None = None

    @property
    def agent_id(self) -> str | None:
        """The subagent this event is about; None on the main thread."""
        agent = self.detail.get("agent_id")
        return agent if isinstance(agent, str) and agent else None

    @classmethod
    def from_wire(cls, frame: bytes) -> Event:
        """Read one frame. Raises BadEvent for everything that is not a valid event."""
        if len(frame) > MAX_EVENT:
            raise BadEvent(f"{len(frame)} bytes, more than {MAX_EVENT}")
        try:
            data = orjson.loads(frame)
        except (orjson.JSONDecodeError, RecursionError) as error:
            raise BadEvent(f"not JSON: {error}") from None
        if not isinstance(data, dict):
            raise BadEvent("not a JSON object")
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Event:
        """Validate a decoded event. Raises BadEvent."""
        if _int(data, "v") != WIRE_VERSION:
            raise BadEvent(f"version {data['v']!r}, not {WIRE_VERSION}")
        kind = _text(data, "type")
        if kind not in TYPES:
            raise BadEvent(f"unknown type {kind!r:.40}")
        reason = _optional_text(data, "reason")
        if kind == "stuck" and reason not in REASONS:
            raise BadEvent(f"reason {reason!r:.40} of a stuck event")
        message = _optional_text(data, "message", limit=None)
        if kind == "stuck" and message is None:
            raise BadEvent("a stuck event without a message")
        timestamp = _int(data, "timestamp")
        if not 0 < timestamp < 1 << 53:
            raise BadEvent(f"timestamp {timestamp} out of range")
        truncated = data.get("truncated") or False
        if not isinstance(truncated, bool):
            raise BadEvent("truncated is not a boolean")
        if message is not None:
            message, cut = clip_utf8(message, MAX_MESSAGE)
            truncated = truncated or cut
        detail = data.get("detail")
        if detail is None:
            detail = {}
        if not isinstance(detail, dict):
            raise BadEvent("detail is not an object")
        detail, cut = clip_detail(detail)
        return cls(
            id=_text(data, "id"),
            type=kind,
            harness=_text(data, "harness"),
            session_id=_text(data, "session_id"),
            timestamp=timestamp,
            cause=_optional_text(data, "cause"),
            pane_id=pane_id_or_none(_optional_text(data, "pane_id")),
            tmux_socket=_optional_text(data, "tmux_socket"),
            tmux_pid=_optional_int(data, "tmux_pid"),
            cwd=_optional_text(data, "cwd"),
            transcript_path=_optional_text(data, "transcript_path"),
            pid=_optional_int(data, "pid"),
            reason=reason if kind == "stuck" else None,
            message=message,
            request=_optional_text(data, "request"),
            detail=detail,
            truncated=truncated or cut,
            journal=_optional_text(data, "journal"),
        )

    def to_dict(self) -> dict[str, Any]:
        """The event as it goes over the wire, absent fields left out."""
        out: dict[str, Any] = {"v": WIRE_VERSION}
        for name in self.__slots__:
            value = getattr(self, name)
            if value is None or (name == "detail" and not value) or value is False:
                continue
            out[name] = dict(value) if name == "detail" else value
        if self.type == "stuck":
            out.setdefault("message", "")
        return out

    def to_wire(self) -> bytes:
        return orjson.dumps(self.to_dict())

    def at(self, timestamp: int) -> Event:
        """The same event with another time."""
        return replace(self, timestamp=timestamp)


def pane_id_or_none(value: str | None) -> str | None:
    """A pane id as tmux writes it (`%17`), else None: nothing else ever reaches a tmux command."""
    return value if value is not None and _PANE.match(value) else None


def clean_text(value: str) -> str:
    """Text that SQLite, orjson and a terminal take: no NUL, no lone surrogates (case B64)."""
    if "\x00" in value:
        value = value.replace("\x00", "�")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        value = value.encode("utf-8", "replace").decode("utf-8")
    return value


def clip_utf8(value: str, limit: int) -> tuple[str, bool]:
    """The text cut at a character boundary to at most `limit` bytes, and whether it was cut."""
    if len(value) * 4 <= limit:
        return value, False
    raw = value.encode("utf-8", "replace")
    if len(raw) <= limit:
        return value, False
    return raw[:limit].decode("utf-8", "ignore"), True


def clip_detail(detail: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """`detail` within its limits, and whether anything was cut.

    Strings are cut first; if the whole is still too large, its largest members go, those
    that say what is asked (`tool_name`, `error`, `agent_id`) last.
    """
    cut = False

    def walk(value: Any, depth: int) -> Any:
        nonlocal cut
        if isinstance(value, str):
            value, was = clip_utf8(clean_text(value), MAX_DETAIL_STRING)
            cut = cut or was
            return value
        if depth > 32 and isinstance(value, dict | list):
            cut = True
            return None
        if isinstance(value, dict):
            return {clean_text(str(k)): walk(v, depth + 1) for k, v in value.items()}
        if isinstance(value, list):
            return [walk(v, depth + 1) for v in value]
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 63:
            return float(value) if abs(value) < 1 << 1000 else str(value)[:64]
        return value

    out: dict[str, Any] = walk(detail, 0)
    while out and len(orjson.dumps(out)) > MAX_DETAIL:
        cut = True
        sizes = sorted((len(orjson.dumps(v)), k) for k, v in out.items())
        del out[sizes[-1][1]]
    return out, cut


def _text(data: Mapping[str, Any], name: str) -> str:
    value = _optional_text(data, name)
    if not value:
        raise BadEvent(f"no {name}")
    return value


def _optional_text(data: Mapping[str, Any], name: str, limit: int | None = MAX_SHORT) -> str | None:
    value = data.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadEvent(f"{name} is not a string")
    if limit is not None and len(value) > limit:
        raise BadEvent(f"{name} is longer than {limit} characters")
    return clean_text(value)


def _int(data: Mapping[str, Any], name: str) -> int:
    value = _optional_int(data, name)
    if value is None:
        raise BadEvent(f"no {name}")
    return value


def _optional_int(data: Mapping[str, Any], name: str) -> int | None:
    value = data.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadEvent(f"{name} is not an integer")
    return value
