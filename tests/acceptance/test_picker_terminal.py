"""The screens in every kind of terminal: sizes, colours, locales, signals, no tmux at all."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.harness.desk import Desk, closed, rows, sees
from tests.harness.fake_broker import item
from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until

PROGRAM = [sys.executable, "-m", "trailboss"]


@pytest.fixture
def desk(tmux: TmuxServer) -> Iterator[Desk]:
    made = Desk(tmux)
    yield made
    made.close()


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (100, 30), (200, 50), (40, 12), (20, 6)])
def test_it_opens_at_any_size(desk: Desk, size: tuple[int, int]) -> None:
    desk.broker.put([desk.agent(name) for name in "abcdefghijkl"])
    desk.bind(size="-w 100% -h 100%" if size[0] < 60 else "-w 80% -h 60%")
    client = desk.tmux.attach("desk", size)
    client.type(b"\x02g")
    until(lambda: "▶" in client.text() and "quit" in client.text(), what=client.text())
    client.type("G\r")
    until(lambda: client.session() == "l", what="usable")


def test_it_survives_every_resize_and_redraws_whole(desk: Desk) -> None:
    desk.broker.put([item(name, title=f"title-{name}") for name in "abcdefghijkl"])
    client = desk.open(desk.tmux.attach("desk", (100, 30)), "title-l")
    client.type("jj")
    until(lambda: "▶title-c" in rows(client))
    for size in ((15, 4), (40, 10), (10, 3), (4, 4), (100, 30)):
        client.resize(*size)
        if size[0] >= 10:
            until(lambda: "▶" in client.text(), what=f"the selected row at {size}")
    until(lambda: "▶title-c" in rows(client) and "title-l" in client.text())
    until(lambda: "broker: ok" in client.text())


def test_one_column_is_no_crash(desk: Desk) -> None:
    desk.broker.put([item("a", title="a")])
    desk.bind(size="-w 3 -h 5")
    client = desk.tmux.attach("desk")
    client.type(b"\x02g")
    until(lambda: "│▶│" in client.text() and "│q│" in client.text(), what=client.text())
    client.type("q")
    until(lambda: "│q│" not in client.text())


def test_without_utf8_it_is_ascii(desk: Desk) -> None:
    desk.bind("LANG=C", "LC_ALL=C")
    desk.broker.put([item("a", title="a", reason="permission"), item("b", title="b")])
    client = desk.open(desk.tmux.attach("desk"))
    until(lambda: rows(client) == ["▶a", "b"])
    inside = [line.replace("│", "").strip(" ┌┐└┘─") for line in client.text().splitlines()]
    assert "\n".join(inside).isascii()
    assert any(line.startswith("> 1 ! permission") for line in inside)


def test_no_color_sends_none_and_the_cursor_is_inverse(desk: Desk) -> None:
    desk.broker.put([item("a", title="aaaa", reason="permission"), item("b", title="bbbb")])
    for env in ((), ("NO_COLOR=1",)):
        desk.bind(*env)
        client = desk.open(desk.tmux.attach("desk"), "bbbb")
        at = next(n for n, line in enumerate(client.text().splitlines()) if "▶" in line)
        cursor, other = (
            [client.emulator.buffer[line][x] for x in range(12, 80)] for line in (at, at + 1)
        )
        coloured = {cell.fg for cell in cursor + other} | {cell.bg for cell in cursor + other}
        assert (coloured == {"default"}) == bool(env)
        assert {cell.reverse for cell in cursor} == {bool(env)}
        assert {cell.reverse for cell in other} == {False}
        client.type("q")
        closed(client)


class Shell:
    """A program in a plain pane, between two looks at the terminal's modes."""

    def __init__(self, tmux: TmuxServer, directory: Path, *command: str) -> None:
        self.tmux = tmux
        self.files = {name: directory / name for name in ("before", "after", "code")}
        script = (
            f"stty -a >{self.files['before']}; {shlex.join(command)}; "
            f"echo $? >{self.files['code']}; "
            f"stty -a >{self.files['after']}; exec cat"
        )
        tmux.new_session("plain", "sh", "-c", f"trap : INT; {script}", size=(100, 30))
        self.pane = tmux.tmux("list-panes", "-t", "=plain:", "-F", "#{pane_id}")

    def pid(self) -> int:
        """The program's own process."""
        parent = psutil.Process(int(self.tmux.show("#{pane_pid}", self.pane)))
        found = [p.pid for p in parent.children() if "trailboss" in " ".join(p.cmdline())]
        return found[0]

    def ended(self) -> int:
        """The exit code; asserts that the terminal is as it was."""
        after = self.files["after"]
        until(lambda: after.exists() and after.read_bytes(), what=self.tmux.screen(self.pane))
        assert after.read_text() == self.files["before"].read_text()
        modes = "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag}"
        assert self.tmux.show(modes, self.pane) == "0 1 0 0"
        return int(self.files["code"].read_text())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("verb", ["popup", "dashboard", "preview"])
def test_a_signal_leaves_the_terminal_as_it_was(
    sandbox: Sandbox, desk: Desk, verb: str, number: signal.Signals
) -> None:
    tmux = desk.tmux
    desk.broker.put([item("a", title="aaaa")])
    shell = Shell(tmux, sandbox.root, *PROGRAM, verb)
    until(lambda: tmux.show("#{alternate_on}", shell.pane) == "1", what="the screen is up")
    sign = "───" if verb == "preview" else "aaaa"
    until(lambda: sign in tmux.screen(shell.pane))
    pid = shell.pid()
    os.kill(pid, number)
    if verb == "dashboard" and number == signal.SIGINT:
        until(lambda: "again closes it" in tmux.screen(shell.pane), what="it asks first")
        os.kill(pid, number)
    assert shell.ended() == 0
    assert "Traceback" not in tmux.screen(shell.pane)


@pytest.mark.parametrize("where", ["view.render", "model.listed"])
def test_a_fault_of_our_own_leaves_the_terminal_as_it_was(
    sandbox: Sandbox, desk: Desk, where: str
) -> None:
    module = where.partition(".")[0]
    code = (
        f"from trailboss.ui import {module}; real = {where}\n"
        "def broken(state, *more):\n"
        "    if state.items: 1 / 0\n"
        "    return real(state, *more)\n"
        f"{where} = broken\n"
        "from trailboss.cli import main; raise SystemExit(main(['popup']))"
    )
    shell = Shell(desk.tmux, sandbox.root, sys.executable, "-c", code)
    until(lambda: "nothing stuck" in desk.tmux.screen(shell.pane))
    desk.broker.put([item("a")])
    until(lambda: desk.broker.asked("queue.list"))
    desk.broker.put([item("b")])
    assert shell.ended() == 1
    assert "ZeroDivisionError" in desk.tmux.screen(shell.pane)


def test_a_popup_that_is_closed_from_outside_leaves_no_process(desk: Desk) -> None:
    desk.broker.put([item("a", title="a")])
    client = desk.open(desk.tmux.attach("desk"), "waited")
    server = psutil.Process(desk.tmux.pid)

    def popups() -> list[int]:
        return [p.pid for p in server.children(True) if "popup" in " ".join(p.cmdline())]

    assert popups()
    desk.tmux.tmux("display-popup", "-C", "-c", client.name)
    closed(client)
    until(lambda: not popups(), what="the picker ended")


def test_outside_tmux_it_opens_and_says_how_to_get_there(sandbox: Sandbox, desk: Desk) -> None:
    desk.broker.put([desk.agent("agent", title="aaaa")])
    terminal = TmuxServer(sandbox, "terminal")
    try:
        pane = terminal.new_session(
            "t", "sh", "-c", f"unset TMUX TMUX_PANE; {shlex.join(PROGRAM)} popup; echo code $?; cat"
        )
        until(lambda: "aaaa" in terminal.screen(pane))
        terminal.tmux("send-keys", "-t", pane, "Enter")
        until(lambda: "code 1" in terminal.screen(pane))
        said = re.sub(r"\s+", " ", terminal.screen(pane).replace("\n", ""))
        assert f"tmux -S {desk.tmux.socket} attach -t =agent" in said
    finally:
        terminal.close()


def test_without_a_terminal_it_refuses_in_one_line(sandbox: Sandbox) -> None:
    for verb in ("popup", "dashboard", "preview"):
        done = sandbox.trailboss(verb)
        assert done.returncode == 1
        assert done.stderr.decode().count("\n") == 1
        assert b"needs a terminal" in done.stderr


@pytest.mark.parametrize("verb", ["popup", "dashboard", "preview"])
def test_help_lists_the_keys(sandbox: Sandbox, verb: str) -> None:
    done = sandbox.trailboss(verb, "--help")
    assert done.returncode == 0
    assert b"ctrl+c" in done.stdout or b"Esc" in done.stdout or b"  q" in done.stdout


def test_the_dashboard_stays_after_a_jump_and_asks_before_it_closes(desk: Desk) -> None:
    a, b = desk.agent("a"), desk.agent("b")
    desk.broker.put([a, b])
    pane = desk.tmux.new_session("board", *PROGRAM, "dashboard")
    client = desk.tmux.attach("board")
    until(lambda: rows(client) == ["▶a", "b"], what=client.text())
    client.type("j\r")
    until(lambda: client.pane() == b["pane_id"])
    until(lambda: "went to b" in desk.tmux.screen(pane))
    client.type(b"\x02L")
    until(lambda: client.pane() == pane, what="back at the dashboard")
    client.type("\x1b")
    client.type("q")
    until(lambda: "again closes it" in client.text())
    client.type("k")
    until(lambda: rows(client) == ["▶a", "b"] and "again" not in client.text())
    client.type("qq")
    until(lambda: "board" not in desk.tmux.tmux("list-sessions", "-F", "#{session_name}"))


def test_an_idle_screen_writes_nothing(desk: Desk) -> None:
    old = 1_000_000_000_000
    desk.broker.put([desk.agent("a", since=old)])
    desk.tmux.tmux("set-option", "-g", "status", "off")
    client = desk.open(desk.tmux.attach("desk"), "waited")
    sees(client, "▶a")

    def two_rounds() -> None:
        asked = len(desk.broker.asked("queue.list"))
        until(lambda: len(desk.broker.asked("queue.list")) > asked + 1)

    two_rounds()
    before = client.bytes_seen
    two_rounds()
    assert client.bytes_seen == before
