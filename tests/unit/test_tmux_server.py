"""The one door to tmux: errors by kind, nothing hangs, any text is one word."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from trailboss.tmux.server import NoServer, Server, TmuxError, TmuxTimeout, quote

HOSTILE = [
    "it's",
    '"; kill-server; "',
    "$HOME ${HOME} $(touch /tmp/x)",
    "~root ~",
    "\\ \\n \\' \\\"",
    "a\n  # not a comment\n\n b",
    "a\r\tb",
    "{ new-window }",
    "} ; kill-server",
    "%if 1",
    "#{pane_id} #(touch x) ## #[fg=red]",
    "-x",
    "x;",
    ";",
    "",
    "é 漢 ✅",
]


def shim(directory: Path, script: str) -> None:
    """A program called tmux that comes first in that PATH directory."""
    path = directory / "tmux"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_what_quote_makes_is_one_word_of_the_same_text(tmux: TmuxServer) -> None:
    tmux.new_session("alpha")
    server = Server(str(tmux.socket))
    for index, text in enumerate(HOSTILE):
        assert server.source([f"set-option -g -- @q{index} {quote(text)}"]) == []
        assert server.run("show-options", "-gv", f"@q{index}") == text


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=st.text(alphabet=st.sampled_from("'\"\\$~#{}%;\n\r\t -abn0é漢"), max_size=12))
def test_quote_with_any_text(tmux: TmuxServer, text: str) -> None:
    server = Server(str(tmux.socket))
    if not tmux.socket.exists():
        tmux.new_session("alpha")
    assert server.source([f"set-option -g -- @q {quote(text)}"]) == []
    # run() takes one line break off the end, as tmux puts one there.
    assert server.run("show-options", "-gv", "@q") == text


def test_a_nul_goes() -> None:
    assert quote("a\0b") == "'ab'"


def test_errors_by_kind(tmux: TmuxServer) -> None:
    with pytest.raises(NoServer):
        Server(str(tmux.socket)).run("list-panes", "-a")
    with pytest.raises(NoServer):
        Server(str(tmux.socket)).source(["set -g @a 1"])
    tmux.new_session("alpha")
    server = Server(str(tmux.socket))
    with pytest.raises(TmuxError, match="can't find pane") as refused:
        server.run("select-pane", "-t", "%99")
    assert not isinstance(refused.value, NoServer)
    tmux.tmux("kill-server")
    with pytest.raises(NoServer):
        server.run("list-panes", "-a")


def test_a_refused_line_spoils_no_other(tmux: TmuxServer) -> None:
    pane = tmux.new_session("alpha")
    server = Server(str(tmux.socket))
    said = server.source(
        ["set -g @one 1", "set -p -t %99 @x 1", f"set -p -t {pane} @x 2", "set -g @two 2"]
    )
    assert len(said) == 1
    assert "%99" in said[0]
    assert (tmux.option("@one"), tmux.option("@x", pane), tmux.option("@two")) == ("1", "2", "2")


def test_a_batch_of_any_length(tmux: TmuxServer) -> None:
    tmux.new_session("alpha")
    server = Server(str(tmux.socket))
    assert server.source(f"set -g @o{n} {quote('x' * 200)}" for n in range(1500)) == []
    assert tmux.option("@o1499") == "x" * 200


def test_b110_a_hanging_tmux_is_cut_off_with_its_children(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = sandbox.root / "pid"
    shim(sandbox.home, f"sleep 30 & echo $! > {mark}; wait")
    monkeypatch.setenv("PATH", f"{sandbox.home}:{os.environ['PATH']}")
    begin = time.monotonic()
    with pytest.raises(TmuxTimeout):
        Server("/tmp/none").run("list-panes", timeout=0.5)
    assert time.monotonic() - begin < 20
    child = int(mark.read_text())
    until(lambda: not running(child), what="the child is gone too")


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_b110_a_failing_tmux_is_an_error(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    shim(sandbox.home, "exit 1")
    monkeypatch.setenv("PATH", f"{sandbox.home}:{os.environ['PATH']}")
    with pytest.raises(TmuxError, match="ended with 1"):
        Server("/tmp/none").run("list-panes")
    assert Server("/tmp/none").source(["set -g @a 1"])


def test_no_tmux_at_all(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(sandbox.home))
    with pytest.raises(TmuxError, match="cannot be run"):
        Server("/tmp/none").run("list-panes")
