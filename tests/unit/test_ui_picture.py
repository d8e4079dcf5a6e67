"""A captured screen as styled lines: colours stay, everything else a terminal acts on goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.styles import Style
from wcwidth import wcwidth

from trailboss.ui import picture


def shown(captured: str, columns: int = 80, rows: int = 24) -> list[str]:
    return ["".join(part for _, part in line) for line in picture.lines(captured, columns, rows)]


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        ("31", "fg:ansired"),
        ("97;44", "fg:ansiwhite bg:ansiblue"),
        ("1;3;92", "bold italic fg:ansibrightgreen"),
        ("38;5;196", "fg:#ff0000"),
        ("38;5;9", "fg:ansibrightred"),
        ("38;5;244", "fg:#808080"),
        ("38;2;1;2;3;48;2;4;5;6", "fg:#010203 bg:#040506"),
        ("4:3;58;5;196;7", "reverse underline"),
        ("1;22", ""),
        ("31;39;44;49", ""),
        ("7;0", ""),
        ("", ""),
        ("38;5", ""),
        ("999", ""),
    ],
)
def test_colours_and_weights(codes: str, style: str) -> None:
    [line] = picture.lines(f"\x1b[{codes}mX", 80, 24)
    assert line == [(style, "X")]
    Style([]).get_attrs_for_style_str(style)


def test_colours_go_on_over_the_end_of_a_line() -> None:
    first, second = picture.lines("\x1b[31mred\nstill\x1b[39m not", 80, 24)
    assert first == [("fg:ansired", "red")]
    assert second == [("fg:ansired", "still"), ("", " not")]


def test_the_bottom_of_the_screen_is_what_one_sees() -> None:
    assert shown("1\n2\n3\n4\n\n \n", rows=2) == ["3", "4"]
    assert shown("") == []


def test_nothing_but_colours_reaches_the_terminal() -> None:
    hostile = (
        "a\x1b]52;c;eA==\x07b\x1b[2Jc\x0e\x0fd\x9b3Je\x1b]8;;http://x\x1b\\f\x1bcg\x1b\x1b[31mh"
    )
    assert shown(hostile) == ["abcdefgh"]


@given(st.text(alphabet="ab\x1b[]0123;:m\x07\x9b한👩\u200d\n\r", max_size=60), st.integers(1, 20))
def test_any_capture_fits_and_is_harmless(captured: str, columns: int) -> None:
    for line in shown(captured, columns, 5):
        assert sum(max(0, wcwidth(char)) for char in line) <= columns
        assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in line)
