"""Colours and signs by environment."""

from __future__ import annotations

import pytest
from prompt_toolkit.output import ColorDepth

from trailboss.ui import theme


@pytest.mark.parametrize(
    ("env", "coerced", "expected"),
    [
        ({"LANG": "de_DE.UTF-8"}, False, True),
        ({"LANG": "C.utf8"}, False, True),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, False, False),
        ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, False, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True, False),
        ({"LANG": "de_DE@euro"}, False, False),
        ({}, False, False),
    ],
)
def test_utf8_is_what_the_user_said(env: dict[str, str], coerced: bool, expected: bool) -> None:
    assert theme.utf8(env, coerced) is expected
    assert (theme.Signs() if expected else theme.ASCII).cut == ("…" if expected else "~")


def test_the_ascii_signs_are_ascii_and_all_of_one_cell() -> None:
    for name in theme.Signs.__slots__:
        assert len(getattr(theme.ASCII, name)) == 1
        assert getattr(theme.ASCII, name).isascii()


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, ColorDepth.DEPTH_1_BIT),
        ({"TERM": "dumb"}, ColorDepth.DEPTH_1_BIT),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, ColorDepth.DEPTH_24_BIT),
        ({"TERM": "xterm", "COLORTERM": "truecolor", "NO_COLOR": "1"}, ColorDepth.DEPTH_1_BIT),
        ({"TERM": "xterm", "NO_COLOR": ""}, None),
    ],
)
def test_colours_by_environment(env: dict[str, str], expected: ColorDepth | None) -> None:
    assert theme.depth(env) == expected
    plain = theme.roles("dark", env) is theme.PLAIN
    assert plain == (expected is ColorDepth.DEPTH_1_BIT)


def test_a_theme_is_chosen_by_name_and_is_valid_for_prompt_toolkit() -> None:
    env = {"TERM": "xterm"}
    assert theme.roles("light", env) is theme.LIGHT
    assert theme.roles("dark", env) is theme.roles("no such theme", env) is theme.DARK
    for name in ("dark", "light"):
        looks = theme.style(name, env).get_attrs_for_style_str
        assert looks("class:reason.permission").color != looks("class:reason.stopped").color
        assert looks("class:reason.stopped class:row.cursor").bgcolor
