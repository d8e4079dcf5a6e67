"""A session as JSON for the database, and back.

Reading is forgiving: a field that a newer version has added is dropped, one that is missing gets
its default, so that a database outlives an upgrade without a migration for each new field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import orjson

from trailboss.core.board import PaneRef, Session
from trailboss.core.claims import Claim
from trailboss.core.evidence import Evidence, Request
from trailboss.core.queue import Entry
from trailboss.core.verdict import Verdict

T = TypeVar("T")


def dump(session: Session) -> bytes:
    """JSON of everything that is kept of a session."""
    return orjson.dumps(session, default=_tuples)


def load(raw: bytes) -> Session:
    """The session again. Raises ValueError for what is no such record."""
    try:
        data = orjson.loads(raw)
        evidence = data.get("evidence") or {}
        entry = data.get("entry")
        pane = data.get("pane")
        return _make(
            Session,
            data,
            pane=PaneRef(*pane) if pane else None,
            evidence=_evidence(evidence),
            verdict=_make(Verdict, data.get("verdict") or {"state": "unknown", "rule": ""}),
            entry=_make(Entry, entry) if entry else None,
        )
    except (TypeError, AttributeError, KeyError, orjson.JSONDecodeError) as error:
        raise ValueError(f"not a session record: {error}") from None


def _tuples(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(type(value))


def _evidence(data: Mapping[str, Any]) -> Evidence:
    claims = {
        name: _claim(data.get(name))
        for name in ("turn", "registry", "transcript", "screen", "reminder", "gone")
    }
    return _make(
        Evidence,
        data,
        requests={k: _make(Request, v) for k, v in (data.get("requests") or {}).items()},
        history=tuple(c for c in map(_claim, data.get("history") or ()) if c is not None),
        **claims,
    )


def _claim(data: Mapping[str, Any] | None) -> Claim | None:
    return _make(Claim, data) if data else None


def _make(kind: type[T], data: Mapping[str, Any], **given: Any) -> T:
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    return kind(**{**{k: v for k, v in data.items() if k in names}, **given})
