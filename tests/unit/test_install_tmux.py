"""Our line in tmux.conf, and what a tmux.conf binds itself, as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from trailboss import config
from trailboss.install.tmux_conf import keys_text
from trailboss.install.tmux_lines import bound_keys, our_line, source_line, with_line, without_line
from trailboss.tmux import bindings

LINE = source_line(Path("/home/u/.config/trailboss/tmux.conf"))

CONFS = {
    "usual": "set -g mouse on\nbind r source-file ~/.tmux.conf\n",
    "no last newline": "set -g mouse on",
    "CRLF": "set -g mouse on\r\nset -g base-index 1\r\n",
    "CRLF without the last": "set -g mouse on\r\nset -g base-index 1",
    "blank lines at the end": "set -g mouse on\n\n\n",
    "a newline": "\n",
    "not UTF-8": b"set -g status-left '\xff'\n".decode("utf-8", "surrogateescape"),
    "separators that are no lines": "set -g status-left 'a\u2028b\x0cc'\n",
}


@pytest.mark.parametrize("text", CONFS.values(), ids=CONFS)
def test_the_bytes_come_back(text: str) -> None:
    made = with_line(text, LINE)
    assert made != text
    assert made.startswith(text)
    assert our_line(made) == LINE
    assert with_line(made, LINE) == made
    assert without_line(made) == text if text.endswith("\n") else without_line(made, text) == text
    assert text.count("\r\n") == 0 or made.count("\n") == made.count("\r\n")


@given(st.text(alphabet="ab\\ #\r\n'\"{}", max_size=12))
def test_any_text_comes_back(text: str) -> None:
    made = with_line(text, LINE)
    assert with_line(made, LINE) == made
    assert without_line(made, text) == text
    assert our_line(without_line(made)) is None


def test_a_line_of_another_place_is_exchanged_and_a_second_one_goes() -> None:
    old = source_line(Path("/elsewhere/tmux.conf"))
    assert with_line(f"a\n{old}\nb\n{old}\n", LINE) == f"a\n{LINE}\nb\n"
    assert without_line(f"a\n{LINE}\nb") == "a\nb"


def test_a_line_of_the_users_own_is_not_ours() -> None:
    own = "source-file -q ~/.config/trailboss/tmux.conf\n# trailboss: keys\n"
    assert our_line(own) is None
    assert without_line(own) == own


@pytest.mark.parametrize(
    "name",
    ["plain", "two words", "it's", 'say "$HOME"', "[a]*?", "a\\b", "#{pid}", "~", "öß", "a;b"],
)
@pytest.mark.parametrize("before", ["", "set -g @one 1", "set -g @one \\", "set -g @one 1\\\\"])
def test_tmux_reads_the_file_that_the_line_names(tmux: TmuxServer, name: str, before: str) -> None:
    home = tmux.sandbox.home
    keys = home / name / "tmux.conf"
    keys.parent.mkdir()
    keys.write_text("set-option -g @sourced yes\n")
    conf = home / ".tmux.conf"
    conf.write_text(with_line(before, source_line(keys)))
    tmux.new_session("one")
    # `before` may be half a command, of which tmux complains; the line after it is read.
    tmux.tmux("source-file", str(conf), check=False)
    assert tmux.option("@sourced") == "yes"


def test_keys_that_a_conf_binds_are_seen() -> None:
    text = "\n".join(
        [
            "bind S choose-session",
            "  bind-key -r  -N 'a note; S' B 'split-window -h'",
            "bind -T prefix Tab last-window",
            "bind -n F1 next-window",
            "bind -T copy-mode-vi b send -X word-left",
            "bind-key \\; last-pane",
            "# bind g nothing",
            "bind 'unclosed",
            "bind",
        ]
    )
    assert bound_keys(text) == {
        "S": "choose-session",
        "B": "split-window -h",
        "Tab": "last-window",
        ";": "last-pane",
        "'unclosed": "",
    }


def test_a_verb_without_a_key_has_no_line() -> None:
    settings = config.load({"HOME": "/nonexistent"})
    whole = keys_text("/opt/two words/trailboss", settings).splitlines()
    fewer = keys_text("/opt/two words/trailboss", settings, ["skip", "back"]).splitlines()
    assert len(whole) == len(bindings.KEYS) + 1
    assert [line for line in whole if line not in fewer] == [
        line for line in whole if " S " in line or " b " in line or "'S'" in line or "'b'" in line
    ]
    assert len(fewer) == len(whole) - 2


def test_a_key_finds_the_program_whatever_the_servers_path_is(tmux: TmuxServer) -> None:
    """Case B43: the command is a child of the tmux server, which has another PATH."""
    root = tmux.sandbox.root
    program = root / "it's a $dir" / "trailboss"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >{root}/writing\nmv {root}/writing {root}/said\n')
    program.chmod(0o755)
    (root / "keys").write_text(keys_text(str(program), config.load({"HOME": "/nonexistent"})))
    tmux.tmux("new-session", "-d", "-s", "one", env={"PATH": "/usr/bin:/bin"})
    tmux.tmux("source-file", str(root / "keys"))
    client = tmux.attach("one")
    client.type("\x02S")
    until((root / "said").exists, what="the key ran the program")
    assert (root / "said").read_text().split()[0] == "skip"
