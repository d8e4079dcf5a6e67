"""What the screens show, as text: right words, nothing outside its cells, nothing hostile."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcwidth

from trailboss.ui import cells, keys, model, theme, view
from trailboss.ui.model import Item, State
from trailboss.ui.view import Line

NOW = 1_700_000_000_000
HOSTILE = [
    "\x1b]52;c;Y3VybA==\x07\x1b[2J\x1b[10Ared",
    "\x9b31mC1 \x9d0;title\x9c",
    "\x1b]0;unfinished",
    "a\rb\bc\td\ne",
    "\u202egnp.exe\u2066",
    "z\u200bw\u200dj",
    "👩\u200d👩\u200d👧 ⚠️ 👍🏽 🇩🇪 1️⃣",
    "e" + "\u0301" * 50,
    "한국어 세션 제목",
    "\ud800lone",
    "#(touch x) #{pane_id} #[fg=red]",
    "\x00",
    "\u0301starts with a mark",
    "कि नि",
]


def item(name: str = "s", **fields: Any) -> Item:
    return Item(session_id=name, **{"pane_id": "%1", "since": NOW - 90_000, **fields})


def state(*found: Item) -> State:
    return model.listed(State(), found, NOW)


def screen(
    shown: State,
    columns: int = 100,
    rows: int = 12,
    signs: theme.Signs | None = None,
    program: str = keys.POPUP,
) -> list[str]:
    fitted = model.fit(shown, view.layout(columns, rows).body)
    return [
        flat(line)
        for line in view.render(fitted, program, columns, rows, NOW, signs or theme.Signs())
    ]


def flat(line: Line) -> str:
    return "".join(part for _, part in line)


def test_a_row_says_number_reason_session_age_and_the_first_line() -> None:
    one = item("a", title="Fix login", reason="permission", message="\n  Bash: ls\nmore")
    row = screen(state(one, item("b", reason="stopped", cwd="/home/dev/demo/api")))[2:4]
    assert row[0].split() == ["▶", "1", "◆", "permission", "Fix", "login", "1m", "Bash:", "ls"]
    assert row[1].split() == ["2", "○", "stopped", "demo/api", "1m"]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"title": "T", "cwd": "/x/y"}, "T"),
        ({"title": " \x1b[31m ", "cwd": "/x/y/z"}, "y/z"),
        ({"cwd": "/"}, "codex 12345678"),
        ({"target": "work:1.0"}, "work:1.0"),
        ({}, "codex 12345678"),
    ],
)
def test_a_session_has_a_name_whatever_is_known(fields: dict[str, Any], name: str) -> None:
    assert view.session_name(Item("123456789abc", harness="codex", **fields)) == name


@pytest.mark.parametrize(
    ("found", "header"),
    [
        ((), "✓ nothing stuck"),
        ((item(),), "⚠ 1 stuck · the oldest waits 1m"),
        ((item("a"), item("b", ready=False)), "⚠ 1 stuck · 1 later · the oldest waits 1m"),
        ((item("b", ready=False),), "✓ nothing ready · 1 later"),
    ],
)
def test_the_header_counts_in_words(found: tuple[Item, ...], header: str) -> None:
    assert screen(state(*found))[0].strip() == header


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"ready": False, "cooldown_until": NOW + 45_000}, "cooling 45s · said"),
        ({"ready": False, "snoozed_until": NOW + 7_200_000}, "snoozed 2h · said"),
        ({"ready": False}, "not ready · said"),
        ({"pane_id": None}, "no pane · said"),
        ({"cooldown_until": NOW - 1}, "said"),
    ],
)
def test_what_is_not_ready_says_so_and_is_dim(fields: dict[str, Any], note: str) -> None:
    shown = state(item("a"), item("b", message="said", **fields))
    line = view.render(shown, keys.POPUP, 100, 12, NOW, theme.Signs())[3]
    assert flat(line).endswith(f" {note}")
    assert ("class:later" in [style for style, _ in line]) == (note != "said")


def test_broker_states_are_in_the_footer_and_in_an_empty_list() -> None:
    assert "broker: ok" in screen(state(item()))[-2]
    down = model.unreachable(state(item()), "no broker is running")
    assert (
        "broker: unreachable ✗  no broker is running; this was the list before" in screen(down)[-2]
    )
    assert " no broker is running" in screen(model.unreachable(State(), "no broker is running"))
    assert " No agent waits for you." in screen(state())
    assert screen(State())[0] == " asking the broker"


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_every_screen_names_the_way_out(columns: int) -> None:
    assert "quit" in screen(state(item()), columns, 10)[-1]
    assert "Enter" in screen(state(item()), columns, 10)[-1]


@pytest.mark.parametrize(("columns", "rows"), [(15, 4), (10, 3), (6, 2)])
def test_the_smallest_screens_show_the_selected_row_and_the_way_out(
    columns: int, rows: int
) -> None:
    shown = model.to_row(state(*(item(f"s{n}", title=f"t{n}") for n in range(30))), 17)
    lines = screen(shown, columns, rows)
    assert any("▶" in line and "t17" in line for line in lines)
    assert "q" in lines[-1]


def test_a_small_screen_has_room_for_a_message_and_for_a_silent_broker() -> None:
    assert "stale" in screen(model.say(state(item()), "stale pane"), 20, 5)[-1]
    assert "no broker" in screen(model.unreachable(state(item()), "x"), 30, 5)[-1]


def test_where_rows_have_no_room_the_message_of_the_cursor_gets_a_line() -> None:
    lines = screen(state(item(message="run the tests?")), 40, 10)
    assert lines[-3] == " run the tests?"


@given(
    texts=st.lists(
        st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40)), min_size=4, max_size=4
    ),
    count=st.integers(0, 12),
    columns=st.integers(1, 210),
    rows=st.integers(1, 40),
    cursor=st.integers(0, 12),
    broken=st.booleans(),
)
def test_no_text_leaves_its_cells_or_acts_on_the_terminal(
    texts: list[str], count: int, columns: int, rows: int, cursor: int, broken: bool
) -> None:
    title, cwd, message, target = texts
    found = [
        item(f"s{n}", title=title, cwd=cwd, message=message, target=target, reason="permission")
        for n in range(count)
    ]
    shown = model.say(model.to_row(state(*found), cursor), message)
    if broken:
        shown = model.unreachable(shown, title)
    fitted = model.fit(shown, view.layout(columns, rows).body)
    lines = view.render(fitted, keys.POPUP, columns, rows, NOW, theme.Signs())
    assert len(lines) <= rows
    for line in lines:
        assert sum(max(0, wcwidth(char)) for char in flat(line)) <= columns
        assert not [c for c in flat(line) if unicodedata.category(c) in ("Cc", "Cs")]
        assert not set(flat(line)) & set("\u202e\u2066\u200b\u200d")


def test_ten_thousand_items_cost_what_is_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[str] = []
    real = view.session_name
    monkeypatch.setattr(view, "session_name", lambda one: named.append(one.session_id) or real(one))
    shown = model.to_row(state(*(item(f"s{n}") for n in range(10_000))), 9_999)
    lines = screen(shown, 100, 30)
    assert "10000" in lines[-3]
    assert len(named) == view.layout(100, 30).body


def test_without_utf8_every_sign_is_ascii() -> None:
    found = [
        item("a", reason="permission", message="m" * 300, title="t" * 99),
        item("b", ready=False, cooldown_until=NOW + 9000),
    ]
    for shown in (state(*found), state(), model.unreachable(state(), "x"), State()):
        for size in ((100, 30), (40, 10), (10, 3)):
            assert "\n".join(screen(shown, *size, signs=theme.ASCII)).isascii()


def test_every_role_of_the_view_has_a_look_in_every_theme() -> None:
    shown = model.say(state(item("a", reason="permission"), item("b", ready=False)), "m")
    used = {
        part.removeprefix("class:")
        for lines in (
            view.render(one, program, columns, 12, NOW, theme.Signs())
            for one in (shown, state(), State(), model.unreachable(shown, "x"))
            for program in (keys.POPUP, keys.DASHBOARD)
            for columns in (40, 100)
        )
        for line in lines
        for style, _ in line
        for part in style.split()
    }
    for table in (theme.DARK, theme.LIGHT, theme.PLAIN):
        assert used <= set(table)
        assert set(table) == set(theme.DARK)


@given(st.one_of(st.sampled_from(HOSTILE), st.text()), st.integers(0, 30))
def test_fit_is_exact_whatever_the_text(value: str, size: int) -> None:
    fitted = cells.fit(view.plain(value), size)
    assert sum(max(0, wcwidth(char)) for char in fitted) == size
