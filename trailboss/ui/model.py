"""What a screen knows: the list, the cursor, the broker's state. Pure: every function takes a
state (and the time, where it matters) and returns a new one.

The cursor is a session, never a row: the list changes under it, and a jump must not land on
another session than the one that was seen.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

#: ms during which a jump is refused after the cursor's session has left the list and the cursor
#: had to move by itself: a finger already on its way must not hit what the eye never saw.
SURPRISE_MS = 400

CONNECTING, OK, UNREACHABLE = "connecting", "ok", "unreachable"


@dataclass(frozen=True, slots=True)
class Item:
    """One item of `queue.list` (contract, section 4), every field of its type or None."""

    session_id: str
    harness: str = ""
    reason: str = ""
    message: str = ""
    pane_id: str | None = None
    tmux_socket: str | None = None
    target: str | None = None
    cwd: str | None = None
    title: str | None = None
    since: int | None = None
    ready: bool = True
    cooldown_until: int | None = None
    snoozed_until: int | None = None
    note: str | None = None

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Item | None:
        """The item, or None when it has no session id; a field of a wrong type counts as absent."""
        session = data.get("session_id")
        if not isinstance(session, str) or not session:
            return None
        ready = data.get("ready")
        return cls(
            session_id=session,
            harness=_text(data, "harness") or "",
            reason=_text(data, "reason") or "",
            message=_text(data, "message") or "",
            pane_id=_text(data, "pane_id"),
            tmux_socket=_text(data, "tmux_socket"),
            target=_text(data, "target"),
            cwd=_text(data, "cwd"),
            title=_text(data, "title"),
            since=_ms(data, "since"),
            ready=ready if isinstance(ready, bool) else True,
            cooldown_until=_ms(data, "cooldown_until"),
            snoozed_until=_ms(data, "snoozed_until"),
            note=_text(data, "note"),
        )


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) and value else None


def _ms(data: Mapping[str, Any], key: str) -> int | None:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


@dataclass(frozen=True, slots=True)
class State:
    """Everything a screen shows. `rows` maps a session id to its index in `items`.

    `top` is the first visible row, `moved_at` (ms) when the cursor last moved without a key,
    `message` the last word to the user, gone with the next key, `question` the action that
    waits for a yes.
    """

    items: tuple[Item, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    cursor: str | None = None
    top: int = 0
    ready: int = 0
    rev: int | None = None
    broker: str = CONNECTING
    trouble: str = ""
    message: str = ""
    question: str = ""
    moved_at: int | None = None

    @property
    def row(self) -> int | None:
        """The cursor's row, None in an empty list."""
        return None if self.cursor is None else self.rows.get(self.cursor)

    @property
    def current(self) -> Item | None:
        """The item under the cursor."""
        row = self.row
        return None if row is None else self.items[row]


def now_ms() -> int:
    """The clock that states are given."""
    return time.time_ns() // 1_000_000


def read_items(result: Mapping[str, Any]) -> tuple[Item, ...]:
    """The items of a `queue.list` result in its order; a session named twice counts once."""
    found: dict[str, Item] = {}
    raw = result.get("items")
    for data in raw if isinstance(raw, list) else ():
        if isinstance(data, dict) and (item := Item.read(data)) is not None:
            found.setdefault(item.session_id, item)
    return tuple(found.values())


def listed(state: State, items: Iterable[Item], now: int, rev: int | None = None) -> State:
    """A new answer of the broker. The cursor stays on its session, or takes the row it was on."""
    items = tuple(items)
    rows = {item.session_id: at for at, item in enumerate(items)}
    cursor, moved = state.cursor, state.moved_at
    if cursor not in rows:
        before = min(state.row or 0, len(items) - 1)
        cursor = items[before].session_id if items else None
        # In an empty list a key cannot have been meant for anything else.
        moved = now if state.items else None
    return replace(
        state,
        items=items,
        rows=rows,
        cursor=cursor,
        ready=sum(item.ready for item in items),
        rev=rev,
        broker=OK,
        trouble="",
        moved_at=moved,
    )


def unreachable(state: State, trouble: str) -> State:
    """The broker does not answer; what was last known stays in sight."""
    return replace(state, broker=UNREACHABLE, trouble=trouble)


def say(state: State, message: str) -> State:
    """A word to the user, until the next key."""
    return replace(state, message=message)


def hush(state: State) -> State:
    """A key was pressed: what was said has been read."""
    return replace(state, message="", question="") if state.message or state.question else state


def ask(state: State, action: str, question: str) -> State:
    """Ask before doing; the same key or y does it, any other key does not."""
    return replace(state, question=action, message=question)


def to_row(state: State, row: int) -> State:
    """The cursor on that row (0-based), on the nearest one there is."""
    if not state.items:
        return state
    row = max(0, min(row, len(state.items) - 1))
    return replace(state, cursor=state.items[row].session_id, moved_at=None)


def move(state: State, by: int) -> State:
    """The cursor some rows down (or up, negative)."""
    return to_row(state, (state.row or 0) + by)


def numbered(state: State, number: int) -> State:
    """The cursor on the row that shows this number; a number that no row has says so."""
    if not 1 <= number <= len(state.items):
        return say(state, f"there is no row {number}")
    return to_row(state, number - 1)


def passed(state: State) -> State:
    """The cursor leaves a row that is being skipped, for the next ready one below, else above.

    It does not follow the item to the tail: who skips wants the next one. With none ready it goes
    to a neighbour.
    """
    row = state.row
    if row is None or len(state.items) < 2:
        return state
    below = range(row + 1, len(state.items))
    above = range(row - 1, -1, -1)
    for at in (*below, *above):
        if state.items[at].ready:
            return to_row(state, at)
    return to_row(state, row + 1 if row + 1 < len(state.items) else row - 1)


def surprised(state: State, now: int) -> bool:
    """Did the cursor move by itself so lately that a key may have been meant for another row?"""
    return state.moved_at is not None and 0 <= now - state.moved_at < SURPRISE_MS


def fit(state: State, rows: int) -> State:
    """The scroll position that keeps the cursor among `rows` visible rows and no room unused."""
    rows = max(1, rows)
    row = state.row or 0
    top = min(max(state.top, row - rows + 1), row)
    top = max(0, min(top, len(state.items) - rows))
    return state if top == state.top else replace(state, top=top)
