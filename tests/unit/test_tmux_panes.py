"""Reading list-panes: names, titles and paths may hold anything, in any locale."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from trailboss.tmux.panes import Snapshot, parse, snapshot
from trailboss.tmux.rows import read_rows
from trailboss.tmux.server import NoServer, Server, TmuxError


def line(
    pane: str = "%0",
    session: str = "main",
    window: str = "sh",
    command: str = "sh",
    title: str = "t",
    path: str = "/w",
    sizes: tuple[str, ...] | None = None,
) -> str:
    """One row as tmux prints it; `sizes` are the texts that tmux counted, if it printed others."""
    free = (session, window, command, title, path)
    counted = sizes or free
    words = [f"{len(c.encode())}:{text}" for c, text in zip(counted, free, strict=True)]
    return " ".join([f"{pane} 4101 1700000000 4102 0 1 $0 @0 3 1", *words])


def test_a_row() -> None:
    seen = parse(line(session="main|x", window="fix:login.py", title="a ::: b"), "/s")
    pane = seen.panes["%0"]
    assert (seen.server_pid, seen.start_time, pane.pane_pid, pane.dead) == (
        4101,
        1700000000,
        4102,
        False,
    )
    assert pane.places[0].session_name == "main|x"
    assert (pane.places[0].window_index, pane.places[0].pane_index) == (3, 1)
    assert (pane.places[0].window_name, pane.title) == ("fix:login.py", "a ::: b")
    assert seen.target("%0") == "main|x:3.1"
    assert seen.target("%9") is None


@pytest.mark.parametrize(
    "text", ["a|b", "a\tb", "a\x1fb", ":::", "%7 1 2", "3:x", "é 漢", "", "a\nb", "\n%1 x", "\\037"]
)
def test_b40_texts_that_look_like_separators(text: str) -> None:
    rows = "\n".join([line(path=text), line("%1", title="next")])
    seen = parse(rows, "/s")
    assert list(seen.panes) == ["%0", "%1"]
    assert seen.panes["%0"].path == text
    assert seen.bad_lines == 0


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a\tb", "a\\tb"),
        ("a\x1fb", "a\\037b"),
        ("/w/x\ny", "/w/x\\ny"),
        ("\x1b[31m\\x", "\\033[31m\\x"),
    ],
)
def test_b40_control_characters_as_tmux_3_4_prints_them(text: str, printed: str) -> None:
    counted = ("main", "sh", "sh", "t", text)
    rows = "\n".join([line(path=printed, sizes=counted), line("%1")])
    seen = parse(rows, "/s")
    assert list(seen.panes) == ["%0", "%1"]
    assert seen.panes["%0"].path == text


@pytest.mark.parametrize(
    "output",
    [
        "%0_$0_@0_/home/dev/demo/app_main|x\n%1_$0_@1_/home/dev/demo/_____t_x",
        "%0\t$0\t@0\t/home/dev/demo/app\tmain|x",
        "%0\\037$0\\037@0\\037/home/dev/demo/app\\037main|x",
        "Pane is dead",
    ],
)
def test_b40_lines_that_make_no_sense_are_counted(output: str) -> None:
    seen = parse(output, "/s")
    assert not seen.panes
    assert seen.bad_lines == len(output.split("\n"))


def test_b110_a_bad_row_costs_no_other() -> None:
    rows = "\n".join(
        [line(), "%1 4101 17 broken", line("%2"), "%3 1 2 3 4 5 6 7 x y 1:a", line("%4")]
    )
    seen = parse(rows, "/s")
    assert list(seen.panes) == ["%0", "%2", "%4"]
    assert seen.bad_lines == 2


@given(st.text(alphabet=st.sampled_from("%0 1:\\n\t037é\n"), max_size=80))
def test_no_output_is_too_odd(output: str) -> None:
    parse(output, "/s")
    read_rows(output, 2, 1, first="[0-9]+")


def hostile_place(tmux: TmuxServer) -> tuple[str, Path]:
    """A window whose directory, name and title hold what parsers split at; its pane."""
    directory = tmux.sandbox.home / "a\tb\nc é"
    directory.mkdir()
    tmux.new_session("web.app:1")
    pane = tmux.tmux(
        "new-window", "-d", "-P", "-F", "#{pane_id}", "-c", str(directory), "exec sleep 1000"
    )
    tmux.tmux("rename-window", "-t", pane, "t\tab é 漢 | 3:x")
    tmux.tmux("select-pane", "-t", pane, "-T", "✳ título | :::")
    return pane, directory


@pytest.mark.parametrize("locale", [{"LANG": "C.UTF-8"}, {"LC_ALL": "C"}, {}])
def test_b41_any_locale_reads_the_same(
    tmux: TmuxServer, monkeypatch: pytest.MonkeyPatch, locale: dict[str, str]
) -> None:
    pane, directory = hostile_place(tmux)
    for name in [n for n in os.environ if n == "LANG" or n.startswith("LC_")]:
        monkeypatch.delenv(name)
    for name, value in locale.items():
        monkeypatch.setenv(name, value)

    def settled() -> Snapshot | None:
        seen = snapshot(Server(str(tmux.socket)))
        return seen if seen.panes[pane].command == "sleep" else None

    seen = until(settled)
    assert seen.bad_lines == 0
    assert seen.panes[pane].path == str(directory)
    assert seen.panes[pane].title == "✳ título | :::"
    assert "é 漢 | 3:x" in seen.panes[pane].places[0].window_name
    assert seen.panes[pane].places[0].session_name == "web_app_1"


def test_one_pane_seen_in_several_sessions(tmux: TmuxServer) -> None:
    pane = tmux.new_session("alpha")
    other = tmux.new_session("beta")
    tmux.tmux("new-session", "-d", "-s", "alpha2", "-t", "=alpha")
    tmux.tmux("link-window", "-d", "-s", "alpha:0", "-t", "beta:7")
    seen = snapshot(Server(str(tmux.socket)))
    assert {p.session_name for p in seen.panes[pane].places} == {"alpha", "alpha2", "beta"}
    assert [p.session_name for p in seen.panes[other].places] == ["beta"]
    assert seen.server_pid == tmux.pid


def test_b28_a_dead_pane_says_so(tmux: TmuxServer) -> None:
    tmux.new_session("alpha")
    tmux.tmux("set-option", "-g", "remain-on-exit", "on")
    pane = tmux.new_window("alpha", "exit 1")
    server = Server(str(tmux.socket))
    until(lambda: snapshot(server).panes[pane].dead, what="the pane is dead")


def test_a_server_without_panes_is_known_all_the_same(tmux: TmuxServer) -> None:
    tmux.new_session("alpha")
    tmux.tmux("set-option", "-g", "exit-empty", "off")
    tmux.tmux("kill-session", "-t", "alpha")
    seen = snapshot(Server(str(tmux.socket)))
    assert not seen.panes
    assert seen.server_pid == tmux.pid


def test_nobody_there_is_not_a_server_without_panes(tmux: TmuxServer) -> None:
    with pytest.raises(NoServer):
        snapshot(Server(str(tmux.socket)))


def test_b40_unreadable_output_is_loud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "run", lambda *_, **__: "%0_$0_@0_x")
    with pytest.raises(TmuxError, match="cannot be read"):
        snapshot(Server("/tmp/none"))
