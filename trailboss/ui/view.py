"""State and size in, styled lines out. Pure, and only the visible rows are looked at.

A line is a list of (style, text) as prompt_toolkit takes them, a style being `class:` and a role
of the theme. Every text an agent, a file or a window can choose passes `plain`, which leaves one
line of printable cells.
"""

from __future__ import annotations

from dataclasses import dataclass

from trailboss import text
from trailboss.ui import cells, keys, model
from trailboss.ui.model import Item, State
from trailboss.ui.theme import Signs

Fragment = tuple[str, str]
Line = list[Fragment]

#: Cells of a line that are worth cleaning: no terminal shows more of one message's first line.
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Layout:
    """How many lines each part of the screen gets; `body` is at least 1."""

    header: int
    heading: int
    body: int
    detail: int
    footer: int


def layout(columns: int, rows: int) -> Layout:
    """The parts that fit. The list goes last: one row of it is there on the smallest screen."""
    header = 1 if rows >= 3 else 0
    footer = 2 if rows >= 8 else 1 if rows >= 2 else 0
    detail = 1 if rows >= 6 and not _columns(columns, 1).text else 0
    heading = 1 if rows >= 12 and _columns(columns, 1).text else 0
    body = max(1, rows - header - heading - detail - footer)
    return Layout(header, heading, body, detail, footer)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Cells of each column, 0 where it has no room."""

    number: int
    reason: int
    session: int
    age: int
    text: int


def _columns(width: int, digits: int) -> _Columns:
    if width < 12:
        return _Columns(0, 0, max(1, width - 1), 0, 0)
    if width < 24:
        return _Columns(digits, 1, max(1, width - digits - 5), 0, 0)
    if width < 60:
        return _Columns(digits, 6, max(1, width - digits - 16), 4, 0)
    session = min(36, max(14, width // 4))
    return _Columns(digits, 12, session, 7, width - digits - session - 27)


def render(
    state: State, program: str, columns: int, rows: int, now: int, signs: Signs
) -> list[Line]:
    """The whole screen: at most `rows` lines of at most `columns` cells; `now` in Unix ms."""
    columns, rows = max(1, columns), max(1, rows)
    parts = layout(columns, rows)
    widths = _columns(columns, len(str(len(state.items))))
    lines: list[Line] = []
    if parts.header:
        lines.append(_header(state, columns, now, signs))
    if parts.heading:
        lines.append(_heading(widths, columns) if state.items else [])
    lines += _body(state, parts.body, widths, columns, now, signs)
    if parts.detail:
        lines.append(_detail(state, columns, now, signs))
    if parts.footer == 2:
        lines.append(_status(state, columns, signs))
    if parts.footer:
        lines.append(_last_line(state, program, columns, parts.footer, signs))
    return lines


def plain(value: str | None, limit: int = _LONGEST) -> str:
    """Any text as one line that is safe to show and of one width everywhere."""
    return cells.steady(text.clean(value, limit))


def session_name(item: Item) -> str:
    """What people call it: its title, else where it works, else where it is, else its id."""
    if title := plain(item.title, 200):
        return title
    parts = [part for part in (item.cwd or "").split("/") if part]
    if parts:
        return plain("/".join(parts[-2:]), 200)
    return plain(item.target, 200) or plain(f"{item.harness} {item.session_id[:8]}")


def place(item: Item) -> str:
    """Where its pane is, for people."""
    return plain(item.target, 200) or plain(item.pane_id, 20) or "no pane"


def first_line(item: Item) -> str:
    """The first line of its message that says anything."""
    start = item.message[: _LONGEST * 4].lstrip()
    return plain(start.split("\n", 1)[0])


def standing(item: Item, now: int) -> str:
    """Why it is not ready, or that it has no pane; empty for an ordinary item."""
    if item.snoozed_until is not None and item.snoozed_until > now:
        return f"snoozed {text.duration(item.snoozed_until - now)}"
    if item.cooldown_until is not None and item.cooldown_until > now:
        return f"cooling {text.duration(item.cooldown_until - now)}"
    if not item.ready:
        return "not ready"
    return "" if item.pane_id else "no pane"


def _header(state: State, columns: int, now: int, signs: Signs) -> Line:
    later = len(state.items) - state.ready
    if state.ready:
        line = [
            ("class:header.some", f" {signs.some} "),
            ("class:header.count", str(state.ready)),
            ("class:header.some", " stuck"),
        ]
    elif state.broker == model.OK:
        word = "nothing ready" if later else "nothing stuck"
        line = [("class:header.none", f" {signs.none} {word}")]
    elif state.broker == model.UNREACHABLE:
        line = [("class:header.some", f" {signs.bad} no broker")]
    else:
        line = [("class:header.rest", " asking the broker")]
    if later:
        line.append(("class:header.rest", f" {signs.dot} {later} later"))
    waits = [item.since for item in state.items[:1] if item.ready and item.since is not None]
    if waits:
        oldest = f" {signs.dot} the oldest waits {text.duration(now - waits[0])}"
        if sum(cells.width(part) for _, part in line) + len(oldest) <= columns:
            line.append(("class:header.rest", oldest))
    return _cut(line, columns, signs)


def _heading(widths: _Columns, columns: int) -> Line:
    words = [
        "  " + cells.fit("#", widths.number, "", right=True),
        cells.fit("reason", widths.reason, ""),
        cells.fit("session", widths.session, ""),
        cells.fit("waited", widths.age, "", right=True),
        " message",
    ]
    return [("class:border", cells.clip(" ".join(words), columns, ""))]


def _body(
    state: State, rows: int, widths: _Columns, columns: int, now: int, signs: Signs
) -> list[Line]:
    if not state.items:
        return _empty(state, rows, columns, signs)
    shown = state.items[state.top : state.top + rows]
    lines = [
        _row(item, state.top + at + 1, item.session_id == state.cursor, widths, columns, now, signs)
        for at, item in enumerate(shown)
    ]
    return lines + [[] for _ in range(rows - len(lines))]


def _row(
    item: Item, number: int, here: bool, widths: _Columns, columns: int, now: int, signs: Signs
) -> Line:
    """`▶ 1 ◆ permission  title   12m  first line`"""
    note = standing(item, now)
    later = "later" if note else ""
    line: Line = [("", signs.cursor if here else " ")]
    if widths.number:
        figure = cells.fit(str(number), widths.number, "", right=True)
        line.append((_role(later or "number"), f" {figure} "))
    if widths.reason:
        sign = signs.permission if item.reason == "permission" else signs.stopped
        label = sign if widths.reason == 1 else f"{sign} {_reason(item, widths.reason, note)}"
        known = item.reason if item.reason in ("permission", "stopped") else "stopped"
        look = _role(later or f"reason.{known}")
        line.append((look, cells.fit(label, widths.reason, signs.cut) + " "))
    name = cells.fit(session_name(item), widths.session, signs.cut)
    line.append((_role(later or "session"), name))
    if widths.age:
        age = "" if item.since is None else text.duration(now - item.since)
        if widths.age < 7:
            age = age.split(" ")[0]
        fitted = cells.fit(age, widths.age, signs.cut, right=True)
        line.append((_role(later or "age"), f" {fitted} "))
    if widths.text:
        said = f"{note} {signs.dot} {first_line(item)}" if note else first_line(item)
        line.append((_role(later or "text"), " " + cells.clip(said, widths.text, signs.cut)))
    if here:
        line = [(f"{style} class:row.cursor", part) for style, part in line]
        line.append(("class:row.cursor", " " * columns))
    return _cut(line, columns, signs, mark="")


def _reason(item: Item, room: int, note: str) -> str:
    if room >= 12:
        return plain(item.reason, 20) or "stopped"
    if note:
        return {"snoozed": "zzz", "cooling": "cool"}.get(note.split(" ")[0], "away")
    return "perm" if item.reason == "permission" else "stop"


def _empty(state: State, rows: int, columns: int, signs: Signs) -> list[Line]:
    if state.broker == model.OK:
        words = ["No agent waits for you.", "The next one shows up here by itself."]
    elif state.broker == model.UNREACHABLE:
        words = [plain(state.trouble), "The list comes back with the broker."]
    else:
        words = []
    lines: list[Line] = [[] for _ in range(1 if rows > len(words) else 0)]
    lines += [[("class:empty", cells.clip(f" {word}", columns, signs.cut))] for word in words]
    return (lines + [[] for _ in range(rows)])[:rows]


def _detail(state: State, columns: int, now: int, signs: Signs) -> Line:
    """The message of the cursor's item, where the rows have no room for it."""
    item = state.current
    if item is None:
        return []
    parts = [part for part in (standing(item, now), first_line(item)) if part]
    said = f" {signs.dot} ".join(parts)
    return [("class:detail", cells.clip(f" {said}", columns, signs.cut))]


def _broker(state: State, signs: Signs) -> Fragment:
    if state.broker == model.OK:
        return ("class:footer.ok", " broker: ok")
    if state.broker == model.UNREACHABLE:
        return ("class:footer.bad", f" broker: unreachable {signs.bad}")
    return ("class:footer", " broker: …" if signs.cut == "…" else " broker: ...")


def _status(state: State, columns: int, signs: Signs) -> Line:
    line: Line = [_broker(state, signs)]
    if state.message:
        line.append(("class:footer.message", f"  {plain(state.message)}"))
    elif state.broker == model.UNREACHABLE and state.items:
        line.append(("class:footer", f"  {plain(state.trouble)}; this was the list before"))
    elif state.items:
        line.append(("class:footer", f"  {len(state.items)} in the queue"))
    return _filled(line, columns, signs)


def _last_line(state: State, program: str, columns: int, footer: int, signs: Signs) -> Line:
    """The legend; on a small screen the message, or the broker's silence, takes its place."""
    if footer == 1 and state.message:
        return _filled([("class:footer.message", f" {plain(state.message)}")], columns, signs)
    line: Line = []
    room = columns
    if footer == 1 and state.broker == model.UNREACHABLE:
        line = [("class:footer.bad", f" {signs.bad} no broker" if columns >= 24 else signs.bad)]
        room -= sum(cells.width(part) for _, part in line)
    kept: list[keys.Key] = []
    for key in keys.legend(program):
        room -= len(key.label) + len(key.legend) + 3
        if room < 0:
            break
        kept.append(key)
    order = keys.table(program)
    for key in sorted(kept, key=order.index):
        gap = "  " if line else " "
        line += [("class:footer.key", f"{gap}{key.label}"), ("class:footer", f" {key.legend}")]
    if not kept:
        line += [("class:footer", "q quit" if columns >= 6 else "q")]
    return _filled(line, columns, signs)


def _role(name: str) -> str:
    return f"class:{name}"


def _filled(line: Line, columns: int, signs: Signs) -> Line:
    """Exactly `columns` cells, in the footer's colour to the edge."""
    line = _cut(line, columns, signs)
    rest = columns - sum(cells.width(part) for _, part in line)
    return [*line, ("class:footer", " " * rest)] if rest > 0 else line


def _cut(line: Line, columns: int, signs: Signs, mark: str | None = None) -> Line:
    """The line without what goes past `columns` cells."""
    mark = signs.cut if mark is None else mark
    out: Line = []
    left = columns
    for style, part in line:
        size = cells.width(part)
        if size > left:
            if left:
                out.append((style, cells.clip(part, left, mark)))
            break
        out.append((style, part))
        left -= size
    return out
