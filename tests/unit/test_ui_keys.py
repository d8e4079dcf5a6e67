"""One table of keys: no key twice, and a handler for every action."""

from __future__ import annotations

import subprocess
import sys

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import DummyInput
from prompt_toolkit.output import DummyOutput

from trailboss.ui import keys, model
from trailboss.ui.dashboard import Dashboard
from trailboss.ui.lists import Landing
from trailboss.ui.picker import Picker
from trailboss.ui.screen import known_keys

LISTS = [keys.POPUP, keys.DASHBOARD]


@pytest.mark.parametrize("program", [*LISTS, keys.PREVIEW])
def test_no_key_has_two_meanings(program: str) -> None:
    names = [name for key in keys.table(program) for name in key.keys]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("program", LISTS)
def test_every_program_has_the_keys_of_the_issue(program: str) -> None:
    names = {name for key in keys.table(program) for name in key.keys}
    assert {
        "j",
        "k",
        "up",
        "down",
        "g g",
        "G",
        "enter",
        "s",
        "r",
        "q",
        "c-c",
        *"123456789",
    } <= names


@pytest.mark.parametrize("kind", [Picker, Dashboard])
def test_every_action_does_something_on_an_empty_and_on_a_full_list(
    kind: type[Picker] | type[Dashboard],
) -> None:
    program = keys.POPUP if kind is Picker else keys.DASHBOARD
    with create_app_session(DummyInput(), DummyOutput()):
        screen = kind(lambda item, left: Landing(False, "not here"))
    asked: list[str] = []
    screen.feed.command = lambda done, op, **args: asked.append(op)  # type: ignore[method-assign]
    for count in (0, 3):
        found = tuple(model.Item(f"s{n}") for n in range(count))
        screen.state = model.listed(model.State(), found, 0)
        for key in keys.table(program):
            screen.act(key.action, "1")
    screen.closed()
    assert asked == ["reconcile.run", "queue.skip", "reconcile.run"]


def test_enter_as_the_cursors_row_goes_away_moves_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000_000
    monkeypatch.setattr(model, "now_ms", lambda: now)
    went: list[str] = []

    def jump(item: model.Item, left: int) -> Landing:
        went.append(item.session_id)
        return Landing(False, "not here")

    with create_app_session(DummyInput(), DummyOutput()):
        screen = Picker(jump)
    a, b = model.Item("a"), model.Item("b")
    screen.state = model.listed(model.State(), (a, b), now)
    screen.state = model.listed(screen.state, (b,), now)
    screen.act("jump", "\r")
    assert "look, then Enter again" in screen.state.message
    now += model.SURPRISE_MS
    screen.act("jump", "\r")
    screen.feed.stop()
    screen._worker.shutdown(wait=True)
    assert went == ["b"]


def test_only_the_screens_themselves_import_prompt_toolkit() -> None:
    code = (
        "import sys, trailboss.cli.screens, trailboss.ui.view, trailboss.ui.theme;"
        "sys.exit('prompt_toolkit' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("typed", "taken"),
    [
        ("\x1b[A\x1bOBj", "\x1b[A\x1bOBj"),
        ("\x1b[1;19B3", "3"),
        ("\x1b[27;5;200~q", "q"),
        ("\x1b[97;5u", ""),
        ("\x1b[I\x1b[O", ""),
        ("\x1b", "\x1b"),
        ("\x1bj", "\x1bj"),
        ("\x1b[<0;3;4M\x1b[12;40R", "\x1b[<0;3;4M\x1b[12;40R"),
        ("\x1b[200~1\x1b[201~", "\x1b[200~1\x1b[201~"),
    ],
)
def test_a_key_that_is_not_known_is_no_esc_and_no_digits(typed: str, taken: str) -> None:
    assert known_keys(typed) == taken
