"""Sessions as the API shows them (contract, section 4): plain dicts of JSON values."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any

from trailboss.core.board import PaneRef, Session

#: A pane as people call it, `session:window.pane`, or None when it is not known.
TargetOf = Callable[[PaneRef], str | None]

HOST = socket.gethostname()

#: Keys of an event's detail that are the broker's own business.
_INTERNAL = frozenset(
    {"home", "ancestors", "pid_start", "scope", "turn", "source", "reminder", "attach",
     "session_title", "notification_type", "started_at"}
)  # fmt: skip


def item(session: Session, now: int, position: int | None, target_of: TargetOf) -> dict[str, Any]:
    """A queue item. `position` is its place among the ready ones (1 = head), else None."""
    verdict, entry, pane = session.verdict, session.entry, session.pane
    cooldown = entry.cooldown_until if entry and entry.cooldown_until > now else None
    snoozed = entry.snoozed_until if entry and entry.snoozed_until > now else None
    detail = visible_detail(verdict.detail)
    if session.attach and pane is None:
        detail["attach"] = session.attach
    if session.suspended:
        detail["suspended"] = True
    return {
        "session_id": session.session_id,
        "harness": session.harness,
        "reason": verdict.reason if entry else None,
        "message": verdict.text if entry else "",
        "detail": detail if entry else {},
        "cause": verdict.cause,
        "pane_id": pane.pane_id if pane else None,
        "tmux_socket": (pane.socket or None) if pane else None,
        "target": target_of(pane) if pane else None,
        "cwd": session.cwd,
        "transcript_path": session.transcript_path,
        "title": session.title,
        "since": entry.since if entry else None,
        "stuck_ms": max(0, now - entry.since) if entry else None,
        "ready": bool(entry) and entry.standing(now) == "ready" if entry else False,
        "cooldown_until": cooldown,
        "snoozed_until": snoozed,
        "skips": entry.skips if entry else 0,
        "position": position,
        "source": verdict.source if verdict.source in _SOURCES else "hook",
        "host": HOST,
        "note": session.note,
    }


_SOURCES = frozenset({"hook", "registry", "transcript", "screen", "detector"})


def visible_detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in detail.items() if k not in _INTERNAL and v is not None}


def session_item(
    session: Session, now: int, position: int | None, target_of: TargetOf
) -> dict[str, Any]:
    """An item's fields plus `stuck` and `state`, for any session."""
    shown = item(session, now, position, target_of)
    shown["stuck"] = session.entry is not None
    state = session.verdict.state
    if state == "stuck" and session.entry is None:
        state = "unknown"  # it has left its pane, and nobody knows where it went
    shown["state"] = state
    return shown


def explanation(session: Session) -> dict[str, Any]:
    """What every source said, oldest first, and the rule that decided."""
    rule = session.verdict.rule
    if session.left_pane and session.pane is None:
        rule = "another session has taken its pane and it has no other"
    evidence = [
        {
            "source": c.source,
            "at": c.at,
            "says": c.says,
            "text": " ".join(t for t in (c.cause or "", c.text) if t),
        }
        for c in sorted(session.evidence.history, key=lambda c: c.at)
    ]
    return {"stuck": session.entry is not None, "evidence": evidence, "rule": rule}


def matches(shown: Mapping[str, Any], query: str) -> bool:
    """Whether the item has this text, case-folded, in a field that a person would look in."""
    wanted = query.casefold()
    names = ("title", "target", "cwd", "message", "harness", "session_id")
    return any(wanted in str(shown[name] or "").casefold() for name in names)
