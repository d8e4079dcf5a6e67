"""The keys: one table, from which the bindings, the legend and the help are made."""

from __future__ import annotations

from dataclasses import dataclass

POPUP, DASHBOARD, PREVIEW = "popup", "dashboard", "preview"
_LISTS = (POPUP, DASHBOARD)


@dataclass(frozen=True, slots=True)
class Key:
    """One action and how to reach it.

    `keys` are prompt_toolkit key names, a sequence separated by spaces. `label` is how people
    write them, `help` a line for the overview. `legend` is the word in the footer, none when
    empty; `rank` says which of them a narrow footer keeps (low stays longest).
    """

    action: str
    keys: tuple[str, ...]
    label: str
    help: str
    legend: str = ""
    rank: int = 9
    programs: tuple[str, ...] = _LISTS


TABLE: tuple[Key, ...] = (
    Key("jump", ("enter",), "Enter", "go to the session under the cursor", "jump", 1),
    Key("skip", ("s",), "s", "skip it: to the end of the queue, and cool for a while", "skip", 2),
    Key("down", ("j", "down"), "j ↓", "one row down"),
    Key("up", ("k", "up"), "k ↑", "one row up"),
    Key("first", ("g g", "home"), "gg", "the first row"),
    Key("last", ("G", "end"), "G", "the last row"),
    Key("page_down", ("c-d", "pagedown"), "ctrl+d", "half a screen down"),
    Key("page_up", ("c-u", "pageup"), "ctrl+u", "half a screen up"),
    Key("number", tuple("123456789"), "1-9", "to the row with that number", "row", 4),
    Key("refresh", ("r",), "r", "look at every source again, now", "refresh", 5),
    Key("close", ("q", "escape", "c-c"), "q Esc", "close", "quit", 0, (POPUP,)),
    Key("close", ("q", "c-c"), "q", "close the dashboard (asks first)", "quit", 3, (DASHBOARD,)),
    Key("close", ("c-c",), "ctrl+c", "close the preview", programs=(PREVIEW,)),
)


def table(program: str) -> list[Key]:
    """The keys of one program, in the order of the help."""
    return [key for key in TABLE if program in key.programs]


def legend(program: str) -> list[Key]:
    """The keys of the footer, in the order in which a narrow one keeps them."""
    return sorted((key for key in table(program) if key.legend), key=lambda key: key.rank)
