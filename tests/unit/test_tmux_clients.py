"""Which client is moved: named, or the only one that can be meant."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from trailboss.tmux.clients import NoClient, clients, own_server, resolve
from trailboss.tmux.server import Server


def inside(tmux: TmuxServer, pane: str | None, pid: int | None = None) -> dict[str, str]:
    """The environment of a program in that pane (None: of a popup or a key's job)."""
    env = {"TMUX": f"{tmux.socket},{pid or tmux.pid},0"}
    return {**env, "TMUX_PANE": pane} if pane else env


def found(env: dict[str, str], tmux: TmuxServer, wanted: str | None = None) -> str:
    return resolve(env, wanted, [str(tmux.socket)])[1].name


def test_control_mode_is_nobody(tmux: TmuxServer) -> None:
    tmux.new_session("alpha")
    person = tmux.attach("alpha")
    master, slave = pty.openpty()
    control = subprocess.Popen(
        ["tmux", "-u", "-S", str(tmux.socket), "-C", "attach", "-t", "alpha"],
        stdin=slave,
        stdout=subprocess.DEVNULL,
        env=tmux.sandbox.env,
    )
    try:
        until(lambda: len(tmux.tmux("list-clients").splitlines()) == 2, what="both are attached")
        assert [c.name for c in clients(Server(str(tmux.socket)))] == [person.name]
        assert found(inside(tmux, None), tmux) == person.name
    finally:
        control.terminate()
        control.wait(10)
        os.close(master)
        os.close(slave)


def test_the_order_of_what_says_who(tmux: TmuxServer) -> None:
    one, two = tmux.new_session("alpha"), tmux.new_session("beta")
    a, b = tmux.attach("alpha"), tmux.attach("beta")
    assert found(inside(tmux, one), tmux) == a.name
    assert found(inside(tmux, two), tmux) == b.name
    assert found({**inside(tmux, one), "TB_CLIENT": b.name}, tmux) == b.name
    assert found({**inside(tmux, one), "TB_CLIENT": b.name}, tmux, a.name) == a.name


def test_b31_b32_several_that_could_be_meant_are_named_and_none_is_guessed(
    tmux: TmuxServer,
) -> None:
    tmux.new_session("alpha")
    hidden = tmux.new_window("alpha")
    shown = tmux.show("#{pane_id}", "alpha:0")
    a, b = tmux.attach("alpha"), tmux.attach("alpha")
    for pane in (shown, hidden, None, "%99"):
        with pytest.raises(NoClient) as refused:
            found(inside(tmux, pane), tmux)
        assert a.name in str(refused.value)
        assert b.name in str(refused.value)
        assert len(refused.value.candidates) == 2
        assert "--client" in str(refused.value)


def test_the_only_client_is_meant_from_anywhere(tmux: TmuxServer, sandbox: Sandbox) -> None:
    tmux.new_session("alpha")
    hidden = tmux.new_window("alpha")
    client = tmux.attach("alpha")
    for env in (inside(tmux, hidden), inside(tmux, None), {}, {"TMUX_PANE": "%0"}):
        assert found(env, tmux) == client.name


def test_nobody_attached_and_a_name_that_nobody_has(tmux: TmuxServer) -> None:
    tmux.new_session("alpha")
    with pytest.raises(NoClient, match="no tmux client is attached") as nobody:
        found({}, tmux)
    assert nobody.value.candidates == ()
    client = tmux.attach("alpha")
    with pytest.raises(NoClient, match="no tmux client /dev/pts/none.*" + client.name):
        found({}, tmux, "/dev/pts/none")
    with pytest.raises(NoClient, match="/dev/pts/none"):
        found({**inside(tmux, None), "TB_CLIENT": "/dev/pts/none"}, tmux)


def test_a_pane_of_the_server_before_this_one_says_nothing(tmux: TmuxServer) -> None:
    pane = tmux.new_session("alpha")
    tmux.new_session("beta")
    tmux.attach("alpha")
    tmux.attach("beta")
    found(inside(tmux, pane), tmux)
    with pytest.raises(NoClient):
        found(inside(tmux, pane, pid=1), tmux)


def test_two_servers(tmux: TmuxServer, sandbox: Sandbox) -> None:
    other = TmuxServer(sandbox, "other")
    try:
        tmux.new_session("alpha")
        other.new_session("beta")
        both = [str(tmux.socket), str(other.socket)]
        b = other.attach("beta")
        server, client = resolve({}, None, both)
        assert (server.socket, client.name) == (str(other.socket), b.name)
        a = tmux.attach("alpha")
        with pytest.raises(NoClient) as refused:
            resolve({}, None, both)
        assert str(tmux.socket) in str(refused.value)
        assert str(other.socket) in str(refused.value)
        assert resolve({}, a.name, both)[0].socket == str(tmux.socket)
        # Inside one server, the name of the other's client is found there.
        assert resolve(inside(tmux, None), b.name, both)[0].socket == str(other.socket)
    finally:
        other.close()


def test_a_tmux_variable_of_nothing(sandbox: Sandbox) -> None:
    for value in ("", "x", "/nowhere,1,0", ",,"):
        assert own_server({"TMUX": value}) is None
