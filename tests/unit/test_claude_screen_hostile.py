"""Claude Code's screen: any text at all, and a lot of it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.screens.shelf import shots
from trailboss.adapters.claude_screen import ASKING, claim, read

PIECES = [
    *(
        "❯ ",
        "❯",
        "1. ",
        "2.Yes",
        "  3. No",
        "↓ 2. ",
        "● ",
        "⎿  ",
        "✻ Baking… ",
        "… (3s",
        "│",
        "│ x │",
    ),
    *("─" * 40, "╌" * 40, "▔" * 40, "╭" + "─" * 20 + "╮", "╰" + "─" * 20 + "╯", "── name ──"),
    *("Esc to cancel", " · ", "Enter to confirm", "Enter to select · ↑/↓ to navigate"),
    *("? for shortcuts", "esc to interrupt", "⏸ plan mode on", "$ ", "Killed", "API Error: 529"),
    *(
        "Do you want to proceed?",
        "MCP server “x”",
        "Accept    Decline",
        "Tip: a",
        " below",
        "Yes",
        "No",
    ),
    *("\x1b[31m", "\x00", "\u2028", "\ud800", "日本語", "👩‍👩‍👧", "\t", " " * 9, "Chat about this"),
]
rows = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
        st.sampled_from(sorted({row for shot in shots()[::7] for row in shot.rows})),
    ),
    max_size=40,
)
cells = st.integers(min_value=-1, max_value=300)


@settings(max_examples=300, deadline=None)
@given(rows, cells, cells, st.booleans())
def test_any_screen_is_read(lines: list[str], width: int, height: int, alternate: bool) -> None:
    screen = read(lines, width, height, alternate)
    told = claim(screen, 7)
    assert (told is not None and told.says == "stuck") == (screen.kind in ASKING)
    assert len(screen.text) <= 2000
    assert not any("\x1b" in word for word in (screen.text, *screen.options))


@settings(max_examples=100, deadline=None)
@given(rows)
def test_nothing_above_a_fresh_answer_and_its_box_makes_a_dialog(lines: list[str]) -> None:
    rule = "─" * 80
    end = ["● Done.", "", "✻ Baked for 3s", "", rule, "❯ ", rule, "  ? for shortcuts"]
    assert read([*lines, *end], 80).kind == "idle"


@pytest.mark.parametrize(
    "piece", ["❯ ", "· ", "─", "1. ", " ", "│", "Esc to ", "⎿ ", "✻ a… (", "↑/", "a", "日", "Tip: "]
)
def test_huge_rows_and_many_of_them_end_soon(piece: str) -> None:
    huge = piece * (1_000_000 // len(piece))
    began = time.monotonic()
    read([huge] * 20, 80, 0)
    read([piece * 900] * 5000 + [f"❯ 1. {piece * 500}", "  2. No"], 80, 0)
    assert time.monotonic() - began < 20, "a pattern that takes more than linear time"
