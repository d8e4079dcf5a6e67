"""The screens' state: the cursor is a session, and never surprises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trailboss.ui import model
from trailboss.ui.model import Item, State

NOW = 1_000_000


def items(names: str, later: str = "") -> tuple[Item, ...]:
    return tuple(Item(session_id=name, ready=name not in later) for name in names)


def state(names: str, cursor: str | None = None, later: str = "") -> State:
    out = model.listed(State(), items(names, later), NOW)
    return model.to_row(out, names.index(cursor)) if cursor else out


def test_the_first_answer_puts_the_cursor_on_the_head_and_surprises_nobody() -> None:
    out = state("abc")
    assert out.cursor == "a"
    assert out.broker == model.OK
    assert not model.surprised(out, NOW)


@pytest.mark.parametrize(
    ("before", "cursor", "after", "expected"),
    [
        ("abc", "b", "bc", "b"),
        ("abc", "b", "xyabc", "b"),
        ("abc", "b", "cba", "b"),
        ("abc", "b", "ac", "c"),
        ("abc", "c", "ab", "b"),
        ("abc", "a", "bc", "b"),
        ("abc", "c", "x", "x"),
        ("abc", "b", "", None),
    ],
)
def test_the_cursor_stays_on_its_session_or_takes_its_row(
    before: str, cursor: str, after: str, expected: str | None
) -> None:
    assert model.listed(state(before, cursor), items(after), NOW).cursor == expected


def test_a_cursor_that_moved_by_itself_refuses_a_jump_for_a_moment() -> None:
    out = model.listed(state("abc", "b"), items("ac"), NOW)
    assert model.surprised(out, NOW)
    assert model.surprised(out, NOW + model.SURPRISE_MS - 1)
    assert not model.surprised(out, NOW + model.SURPRISE_MS)
    assert not model.surprised(model.move(out, 0), NOW), "a key was pressed: it was seen"


def test_an_item_that_shows_up_in_an_empty_list_can_be_gone_to_at_once() -> None:
    empty = model.listed(State(), (), NOW)
    assert not model.surprised(model.listed(empty, items("a"), NOW + 5), NOW + 5)


def test_a_list_that_changes_elsewhere_surprises_nobody() -> None:
    assert not model.surprised(model.listed(state("abc", "b"), items("b"), NOW), NOW)


def test_the_clock_set_back_refuses_no_jump() -> None:
    out = model.listed(state("abc", "b"), items("ac"), NOW)
    assert not model.surprised(out, NOW - 3_600_000)


@pytest.mark.parametrize(
    ("names", "later", "cursor", "expected"),
    [
        ("abc", "", "a", "b"),
        ("abc", "", "c", "b"),
        ("abcd", "cd", "b", "a"),
        ("abcd", "bcd", "a", "b"),
        ("abcd", "b", "a", "c"),
        ("ab", "ab", "b", "a"),
        ("a", "", "a", "a"),
    ],
)
def test_a_skip_passes_the_cursor_on_to_what_is_ready(
    names: str, later: str, cursor: str, expected: str
) -> None:
    assert model.passed(state(names, cursor, later)).cursor == expected


def test_moves_stop_at_the_ends() -> None:
    out = state("abc")
    assert model.move(out, -1).cursor == "a"
    assert model.move(out, 99).cursor == "c"
    assert model.move(State(), 1).cursor is None


def test_a_number_goes_to_the_row_that_shows_it() -> None:
    assert model.numbered(state("abc"), 3).cursor == "c"
    wrong = model.numbered(state("abc"), 4)
    assert (wrong.cursor, wrong.message) == ("a", "there is no row 4")


def test_unreachable_keeps_the_list_and_the_next_answer_heals() -> None:
    down = model.unreachable(state("abc", "b"), "nobody there")
    assert (down.broker, down.trouble, len(down.items)) == (model.UNREACHABLE, "nobody there", 3)
    back = model.listed(down, items("abc"), NOW)
    assert (back.broker, back.trouble, back.cursor) == (model.OK, "", "b")


def test_a_question_ends_with_the_next_key() -> None:
    asked = model.ask(state("a"), "close", "sure?")
    assert (asked.question, asked.message) == ("close", "sure?")
    assert (model.hush(asked).question, model.hush(asked).message) == ("", "")


def test_items_of_wrong_types_are_read_as_far_as_they_go() -> None:
    raw: list[Any] = [
        {"session_id": "a", "message": 5, "since": "x", "ready": "y", "pane_id": ""},
        {"session_id": 7},
        {},
        "no object",
        None,
        {"session_id": "a", "message": "again"},
        {"session_id": "b", "since": 5.5, "cooldown_until": True},
    ]
    read = model.read_items({"items": raw})
    assert read == (Item("a"), Item("b", since=5))
    assert model.read_items({"items": "x"}) == model.read_items({}) == ()


_NAMES = st.text("abcdefgh", max_size=8).map(lambda text: "".join(dict.fromkeys(text)))


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("list"), _NAMES),
            st.tuples(st.just("move"), st.integers(-9, 9)),
            st.tuples(st.just("fit"), st.integers(0, 9)),
            st.tuples(st.just("pass"), st.just(0)),
            st.tuples(st.just("number"), st.integers(0, 12)),
        )
    )
)
def test_the_cursor_is_always_on_a_row_that_is_in_sight(steps: list[tuple[str, Any]]) -> None:
    out = State()
    for step, value in steps:
        if step == "list":
            held = out.cursor
            out = model.listed(out, items(value), NOW)
            assert held not in out.rows or out.cursor == held
        elif step == "move":
            out = model.move(out, value)
        elif step == "pass":
            out = model.passed(out)
        elif step == "number":
            out = model.numbered(out, value)
        else:
            out = model.fit(out, value)
            rows = max(1, value)
            if out.row is not None:
                assert out.top <= out.row < out.top + rows
            assert 0 <= out.top <= max(0, len(out.items) - rows)
        assert (out.cursor is None) == (not out.items)
        assert out.cursor is None or out.row is not None
