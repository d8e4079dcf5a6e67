"""Which sockets are looked at."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.harness.sandbox import Sandbox
from trailboss.tmux.discover import own_socket, same, sockets


def listening(path: Path) -> str:
    """A socket file at that place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    return str(path)


@pytest.fixture
def directory(sandbox: Sandbox) -> Path:
    return sandbox.tmux_tmp / f"tmux-{os.getuid()}"


def test_the_directory_the_config_and_the_events(sandbox: Sandbox, directory: Path) -> None:
    env = {"TMUX_TMPDIR": str(sandbox.tmux_tmp)}
    usual, work = listening(directory / "default"), listening(directory / "w1")
    configured, named = listening(sandbox.root / "c"), listening(sandbox.root / "n")
    (directory / "notes.txt").write_text("no socket")
    assert sockets(env, [configured, "/nowhere"], [named, configured]) == [
        named,
        configured,
        usual,
        work,
    ]


def test_the_variable_is_all_there_is(sandbox: Sandbox, directory: Path) -> None:
    listening(directory / "default")
    one, two = listening(sandbox.root / "1"), listening(sandbox.root / "2")
    env = {
        "TMUX_TMPDIR": str(sandbox.tmux_tmp),
        "TRAILBOSS_TMUX_SOCKETS": f"{one}:/nowhere::{two}",
    }
    assert sockets(env, [str(directory / "default")], []) == [one, two]
    assert sockets({**env, "TRAILBOSS_TMUX_SOCKETS": ""}) == []


def test_one_socket_by_several_names_is_one(sandbox: Sandbox) -> None:
    real = listening(sandbox.root / "real")
    link = sandbox.root / "link"
    link.symlink_to(real)
    env = {"TRAILBOSS_TMUX_SOCKETS": f"{link}:{real}:{sandbox.root}/./real"}
    assert sockets(env) == [real]
    assert same(str(link), real)
    assert not same(None, real)
    assert not same(None, None)


def test_another_users_socket_is_not_looked_at(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = listening(sandbox.root / "theirs")
    assert own_socket(theirs) == theirs
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert own_socket(theirs) is None


def test_a_path_that_cannot_be_one() -> None:
    assert own_socket("a\0b") is None
    assert own_socket("/proc/self/environ") is None
