"""`trailboss start`: from any shell everything is up, and the client is in the dashboard."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import orjson
import pytest

from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import holds, until
from trailboss.client import Client, Unreachable

ROLES = {"dashboard", "preview", "broker"}


@pytest.fixture(autouse=True)
def _ends_its_broker(sandbox: Sandbox, tmux: TmuxServer) -> Iterator[None]:
    yield
    tmux.tmux("kill-server", check=False)
    until(lambda: broker_pid(sandbox) is None, what="the broker ended with its window")


def start(sandbox: Sandbox, *argv: str, **more: object) -> str:
    """Run it without a terminal; what it printed."""
    done = sandbox.trailboss("start", *argv, timeout=60, **more)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode()


def panes(tmux: TmuxServer) -> dict[str, str]:
    """role: pane id, of every pane that has a role."""
    rows = tmux.tmux(
        "list-panes", "-a", "-F", "#{pane_id} #{pane_dead} #{@trailboss_role}", check=False
    )
    split = [row.split(" ") for row in rows.splitlines()]
    return {role: pane for pane, dead, role in split if role and dead == "0"}


def broker_pid(sandbox: Sandbox) -> int | None:
    try:
        with Client(sandbox.runtime, timeout_ms=1000) as client:
            return int(client.call("ping")["pid"])
    except Unreachable:
        return None


@contextmanager
def on_a_terminal(sandbox: Sandbox, *argv: str) -> Iterator[int]:
    """`trailboss start` as a person runs it; its pid, which is the attached client's in the end."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(sandbox.home)
        command = [sys.executable, "-m", "trailboss", "start", *argv]
        os.execve(sys.executable, command, sandbox.env)
    threading.Thread(target=_drain, args=(fd,), daemon=True).start()
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        os.close(fd)


def _drain(fd: int) -> None:
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass


def shown(tmux: TmuxServer, pid: int) -> str | None:
    """The pane that the client with that pid shows."""
    rows = tmux.tmux("list-clients", "-F", "#{client_pid} #{pane_id}", check=False)
    return dict(row.split() for row in rows.splitlines()).get(str(pid))


def test_detached_it_brings_everything_up_and_says_how_to_see_it(
    sandbox: Sandbox, tmux: TmuxServer
) -> None:
    said = start(sandbox)
    assert f"tmux -S {tmux.socket} attach -t trail-boss" in said
    found = panes(tmux)
    assert set(found) == ROLES
    assert broker_pid(sandbox) == int(tmux.show("#{pane_pid}", found["broker"]))
    place = "#{session_name}:#{window_name}"
    assert tmux.show(place, found["dashboard"]) == "trail-boss:dashboard"
    assert tmux.show(place, found["preview"]) == "trail-boss:dashboard"
    assert tmux.show(place, found["broker"]) == "trail-boss:broker"
    top, bottom = (
        int(tmux.show("#{pane_height}", found[role])) for role in ("dashboard", "preview")
    )
    assert int(tmux.show("#{pane_top}", found["dashboard"])) == 0
    assert 0.3 < bottom / (top + bottom) < 0.45


def test_a_second_start_changes_nothing(sandbox: Sandbox, tmux: TmuxServer) -> None:
    start(sandbox)
    before = panes(tmux), broker_pid(sandbox)
    start(sandbox)
    assert (panes(tmux), broker_pid(sandbox)) == before


@pytest.mark.parametrize("gone", [("preview",), ("dashboard",), ("dashboard", "preview")])
def test_a_closed_pane_comes_back_and_the_others_stay(
    sandbox: Sandbox, tmux: TmuxServer, gone: tuple[str, ...]
) -> None:
    start(sandbox)
    before = panes(tmux)
    for role in gone:
        tmux.tmux("kill-pane", "-t", before[role])
    start(sandbox)
    after = panes(tmux)
    assert set(after) == ROLES
    assert {role for role in ROLES if after[role] != before[role]} == set(gone)
    assert int(tmux.show("#{pane_top}", after["dashboard"])) == 0
    assert int(tmux.show("#{pane_top}", after["preview"])) > 0
    assert tmux.show("#{window_id}", after["dashboard"]) == tmux.show(
        "#{window_id}", after["preview"]
    )


def test_dead_panes_that_tmux_keeps_are_started_again(sandbox: Sandbox, tmux: TmuxServer) -> None:
    (sandbox.home / ".tmux.conf").write_text("set -g remain-on-exit on\n")
    start(sandbox)
    before = panes(tmux)
    for role in ROLES:
        pid = int(tmux.show("#{pane_pid}", before[role]))
        os.kill(pid, signal.SIGKILL)
    until(lambda: not panes(tmux), what="tmux shows them as dead")
    start(sandbox)
    assert panes(tmux) == before
    assert broker_pid(sandbox) is not None


def test_a_killed_broker_is_started_again(sandbox: Sandbox, tmux: TmuxServer) -> None:
    start(sandbox)
    killed = broker_pid(sandbox)
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    until(lambda: "broker" not in panes(tmux))
    start(sandbox)
    assert broker_pid(sandbox) not in (None, killed)


def test_a_broker_of_another_kind_is_left_alone(sandbox: Sandbox, tmux: TmuxServer) -> None:
    broker = sandbox.spawn(sys.executable, "-m", "trailboss", "broker")
    until(lambda: broker_pid(sandbox), what="the broker answers")
    start(sandbox)
    assert broker_pid(sandbox) == broker.pid
    assert set(panes(tmux)) == {"dashboard", "preview"}
    broker.terminate()
    broker.wait(20)


def test_a_broker_that_hangs_is_named(sandbox: Sandbox, tmux: TmuxServer) -> None:
    # Not one in a window: tmux lets no program of its own stay stopped.
    broker = sandbox.spawn(sys.executable, "-m", "trailboss", "broker")
    until(lambda: broker_pid(sandbox), what="the broker answers")
    broker.send_signal(signal.SIGSTOP)
    done = sandbox.trailboss("start", timeout=60)
    broker.send_signal(signal.SIGCONT)
    assert done.returncode == 3
    assert f"pid {broker.pid}" in done.stderr.decode()
    assert "trailboss stop" in done.stderr.decode()
    broker.terminate()
    broker.wait(20)


def test_a_broker_that_cannot_run_is_told_with_its_last_words(
    sandbox: Sandbox, tmux: TmuxServer
) -> None:
    sandbox.runtime.mkdir(mode=0o700)
    (sandbox.runtime / "events.sock").write_text("somebody's notes")
    done = sandbox.trailboss("start", timeout=60)
    assert done.returncode == 3
    said = done.stderr.decode()
    assert said.startswith("trailboss: the broker ended at once: ")
    assert f"(see {sandbox.state}/broker.log)" in said
    assert said.count("\n") == 1


def test_two_starts_at_once_make_one_of_each(sandbox: Sandbox, tmux: TmuxServer) -> None:
    command = (sys.executable, "-m", "trailboss", "start")
    both = [
        sandbox.spawn(*command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [process.wait(60) for process in both] == [0, 0]
    roles = tmux.tmux("list-panes", "-a", "-F", "#{@trailboss_role}").split()
    assert sorted(roles) == sorted(ROLES)


def test_on_a_terminal_it_attaches_to_the_dashboards_top_pane(
    sandbox: Sandbox, tmux: TmuxServer
) -> None:
    with on_a_terminal(sandbox) as pid:
        until(lambda: shown(tmux, pid), what="the terminal is attached")
        assert shown(tmux, pid) == panes(tmux)["dashboard"]
        # Again, from elsewhere, while the one in front is looking at something else.
        tmux.tmux("select-pane", "-t", panes(tmux)["preview"])
        with on_a_terminal(sandbox) as second:
            until(lambda: shown(tmux, second) == panes(tmux)["dashboard"])


def test_inside_tmux_it_moves_the_client_it_was_typed_in_and_no_other(
    sandbox: Sandbox, tmux: TmuxServer
) -> None:
    tmux.new_session("work")
    elsewhere = tmux.new_session("other")
    bystander = tmux.attach("other")
    person = tmux.attach("work")
    person.type(f"{sys.executable} -m trailboss start\r")
    until(lambda: person.pane() == panes(tmux).get("dashboard"), what="it landed")
    assert person.session() == "trail-boss"
    # What was typed is done, and the other terminal has not been touched.
    holds(lambda: bystander.pane() == elsewhere, 0.3)


def test_without_a_terminal_inside_tmux_nobody_is_moved(sandbox: Sandbox, tmux: TmuxServer) -> None:
    pane = tmux.new_session("work")
    client = tmux.attach("work")
    socket = f"{tmux.socket},{tmux.pid},0"
    said = start(sandbox, env={"TMUX": socket, "TMUX_PANE": pane})
    assert "attach -t trail-boss" in said
    assert client.pane() == pane


def test_a_named_client_is_moved_without_a_terminal(sandbox: Sandbox, tmux: TmuxServer) -> None:
    tmux.new_session("work")
    client, other = tmux.attach("work"), tmux.attach("work")
    start(sandbox, "--client", client.name)
    until(lambda: client.pane() == panes(tmux)["dashboard"])
    assert other.session() == "work"
    done = sandbox.trailboss("start", "--client", "/dev/nowhere")
    assert done.returncode == 1
    assert "/dev/nowhere" in done.stderr.decode()


def test_a_tmux_of_another_server_does_not_count_as_inside(
    sandbox: Sandbox, tmux: TmuxServer
) -> None:
    """$TMUX outlives its server, in a shell started by it and in what that shell starts."""
    sandbox.env["TMUX"] = f"{tmux.socket},999999,0"
    sandbox.env["TMUX_PANE"] = "%0"
    with on_a_terminal(sandbox) as pid:
        until(lambda: shown(tmux, pid) == panes(tmux).get("dashboard"))


def test_the_users_configuration_may_be_unusual(sandbox: Sandbox, tmux: TmuxServer) -> None:
    (sandbox.home / ".tmux.conf").write_text(
        "set -g base-index 1\n"
        "setw -g pane-base-index 1\n"
        "set -g destroy-unattached on\n"
        "set -g default-command 'exit 1'\n"
        "set -g renumber-windows on\n"
    )
    start(sandbox)
    found = panes(tmux)
    assert set(found) == ROLES
    with on_a_terminal(sandbox) as pid:
        until(lambda: shown(tmux, pid) == found["dashboard"])
    until(lambda: shown(tmux, pid) is None)
    start(sandbox)
    assert panes(tmux) == found


def test_the_windows_live_in_our_environment_not_in_the_tmux_servers(
    sandbox: Sandbox, tmux: TmuxServer
) -> None:
    """Its own may be of another day, another shell, or another Trail Boss."""
    other = sandbox.root / "other;"
    settings = {
        name: str(other)
        for name in ("TRAILBOSS_STATE_DIR", "TRAILBOSS_RUNTIME_DIR", "XDG_RUNTIME_DIR")
    }
    tmux.tmux("new-session", "-d", "-s", "work", env=settings)
    start(sandbox, env={"XDG_STATE_HOME": f"{sandbox.root}/a b;"})
    assert broker_pid(sandbox) is not None
    assert not other.exists()


def test_the_directory_one_stands_in_does_not_matter(sandbox: Sandbox, tmux: TmuxServer) -> None:
    """A project may have its own modules of the names that Python or we use."""
    project = sandbox.root / "project"
    project.mkdir()
    (project / "signal.py").write_text("raise SystemExit('the wrong signal')\n")
    (project / "trailboss").mkdir()
    (project / "trailboss" / "__init__.py").write_text("raise SystemExit('the wrong one')\n")
    done = sandbox.run(sys.executable, "-P", "-m", "trailboss", "start", cwd=project, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    assert set(panes(tmux)) == ROLES
    where = tmux.show("#{pane_current_path}", panes(tmux)["broker"])
    assert os.path.realpath(where) == os.path.realpath(sandbox.home)


def test_outside_tmux_it_lives_on_the_default_server(sandbox: Sandbox) -> None:
    del sandbox.env["TRAILBOSS_TMUX_SOCKETS"]
    server = TmuxServer(sandbox, "default")
    server.socket.parent.rmdir()
    try:
        assert start(sandbox) == "Trail Boss is up. To see it: tmux attach -t trail-boss\n"
        assert set(panes(server)) == ROLES
    finally:
        server.close()


def test_a_socket_directory_that_is_not_ours_alone_is_refused(
    sandbox: Sandbox, tmux: TmuxServer
) -> None:
    """Who made it could put a server of his own there."""
    del sandbox.env["TRAILBOSS_TMUX_SOCKETS"]
    directory = tmux.socket.parent
    directory.rename(f"{directory}.moved")
    directory.symlink_to(f"{directory}.moved")
    done = sandbox.trailboss("start")
    assert done.returncode == 1
    assert str(directory) in done.stderr.decode()


def test_directories_may_be_named_from_where_one_stands(sandbox: Sandbox, tmux: TmuxServer) -> None:
    places = {"TRAILBOSS_RUNTIME_DIR": "run", "TRAILBOSS_STATE_DIR": "state"}
    done = sandbox.run(
        *(sys.executable, "-P", "-m", "trailboss", "start"),
        cwd=sandbox.root,
        env=places,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert broker_pid(sandbox) is not None


def test_it_needs_no_terminal_description(sandbox: Sandbox, tmux: TmuxServer) -> None:
    """As from cron: hardly an environment at all."""
    keep = ("PATH", "PYTHONPATH", "HOME")
    env = {name: value for name, value in sandbox.env.items() if name in keep or "TRAIL" in name}
    done = subprocess.run(
        [sys.executable, "-m", "trailboss", "start"],
        env=env,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert set(panes(tmux)) == ROLES
    assert orjson.loads((sandbox.state / "broker.json").read_bytes())["pid"] == broker_pid(sandbox)
