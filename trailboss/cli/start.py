"""`trailboss start`: everything up, from any shell, and the client in the dashboard."""

from __future__ import annotations

import argparse
import fcntl
import os
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trailboss import paths
from trailboss.cli import DONE, NOTHING, UNREACHABLE
from trailboss.cli.need_tmux import NoTmux, ensure_tmux
from trailboss.client import Client, Unreachable, read_pointer
from trailboss.text import clean, clip
from trailboss.tmux import home, navigate
from trailboss.tmux.clients import NoClient, own_server, resolve
from trailboss.tmux.discover import socket_directory
from trailboss.tmux.server import NoServer, Server, TmuxError
from trailboss.wire import ApiError

#: Seconds a broker may take from its start to its first answer.
PATIENCE_S = 15.0
#: Seconds until one that was there before us, and may only just have begun, counts as hanging.
BEGUN_S = 2.0


class Silent(Exception):
    """The broker did not come up, or is there and does not answer; the text is for the user."""


def run(verb: str, argv: list[str]) -> int:
    """Bring up what is missing and land the client in the dashboard; the exit code."""
    args = _parser().parse_args(argv)
    env = os.environ
    try:
        tmux = ensure_tmux()
        server = choose_server(env)
        with _one_at_a_time(paths.ensure_private(paths.state_dir(env), tighten=True)):
            dashboard = home.ensure_dashboard(server, env, _terminal_size())
            if not _answers():
                _start_broker(server, env)
    except NoTmux as missing:
        print(f"trailboss: {missing}", file=sys.stderr)
        return NOTHING
    except TmuxError as error:
        print(f"trailboss: tmux refused: {error}", file=sys.stderr)
        return NOTHING
    except Silent as silent:
        print(f"trailboss: {silent}", file=sys.stderr)
        return UNREACHABLE
    return _land(server, dashboard, tmux, args, env)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trailboss start",
        description="Start the broker if none answers, make the dashboard window "
        f"({home.SESSION}:{home.DASHBOARD}) and go there. Safe to repeat: what is there is left "
        "alone, what is missing is mended.",
    )
    parser.add_argument("--client", metavar="NAME", help="the tmux client to move")
    parser.add_argument("--detach", action="store_true", help="start everything, move no client")
    return parser


def choose_server(env: Mapping[str, str]) -> Server:
    """The tmux server to live on: ours by $TMUX, else the first of TRAILBOSS_TMUX_SOCKETS, else
    tmux's default. It need not run yet. Raises UnsafeDirectory."""
    here = own_server(env)
    if here is not None:
        return here
    named = [path for path in env.get("TRAILBOSS_TMUX_SOCKETS", "").split(":") if path]
    if named:
        return Server(named[0])
    # tmux itself makes and checks that directory, but not for a socket given by its path.
    directory = paths.ensure_private(socket_directory(env), tighten=True)
    return Server(os.path.realpath(directory / "default"))


@contextmanager
def _one_at_a_time(state: Path) -> Iterator[None]:
    """Two starts at once would make two dashboards."""
    with (state / "start.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _terminal_size() -> tuple[int, int] | None:
    """(columns, rows), None without a terminal or where it says nothing (a bare pty is 0 × 0)."""
    try:
        columns, rows = os.get_terminal_size(1)
    except OSError:
        return None
    return (columns, rows) if columns and rows else None


def _answers() -> dict[str, Any] | None:
    try:
        with Client() as client:
            return client.call("ping")
    except (Unreachable, ApiError):
        return None


def _start_broker(server: Server, env: Mapping[str, str]) -> None:
    """A broker in its own window, answering. Raises Silent."""
    state = paths.state_dir(env)
    log = paths.log_file(state)
    if _comes_to_answer(state):
        return
    before = log.stat().st_size if log.exists() else 0
    home.ensure_broker_window(server, env)
    end = time.monotonic() + PATIENCE_S
    while not _answers():
        pane = home.home_panes(server).get(home.BROKER)
        if pane is None or pane.dead:
            raise Silent(f"the broker ended at once{_last_words(log, before)} (see {log})")
        if time.monotonic() > end:
            raise Silent(f"the broker does not answer after {PATIENCE_S:.0f} s (see {log})")
        time.sleep(0.03)


def _last_words(log: Path, before: int) -> str:
    """`: ` and the last line that the log has got since it was `before` bytes long, if any."""
    try:
        with log.open("rb") as file:
            file.seek(max(before, file.seek(0, os.SEEK_END) - 4096))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    line = next((line for line in reversed(lines) if line.strip()), "")
    return f": {clip(clean(line), 200)}" if line else ""


def _comes_to_answer(state: Path) -> bool:
    """Whether a broker that lives, and may only just have begun, answers; False without one.

    Raises Silent when it lives on and says nothing.
    """
    end = time.monotonic() + BEGUN_S
    while (pointer := read_pointer(state)) is not None:
        if _answers():
            return True
        if time.monotonic() > end:
            raise Silent(
                f"the broker (pid {pointer['pid']}) is there but does not answer: "
                "`trailboss stop` ends it, then start again"
            )
        time.sleep(0.05)
    return False


def _land(
    server: Server,
    dashboard: home.HomePane,
    tmux: str,
    args: argparse.Namespace,
    env: Mapping[str, str],
) -> int:
    person = os.isatty(0) and os.isatty(1)
    if args.client or (person and not args.detach and _inside(server, env)):
        try:
            _, client = resolve(env, args.client, [server.socket])
            navigate.go(server, client, dashboard.pane_id)
        except (NoClient, navigate.StaleClient, navigate.StalePane, TmuxError) as error:
            print(f"trailboss: everything is up, but {error}", file=sys.stderr)
            return NOTHING
        return DONE
    if person and not args.detach:
        # $TMUX of a server that is gone would make tmux refuse to nest.
        left = {name: value for name, value in env.items() if name not in ("TMUX", "TMUX_PANE")}
        os.execve(tmux, [tmux, "-u", "-S", server.socket, "attach", "-t", dashboard.target], left)
    print(f"Trail Boss is up. To see it: {attach_command(server, env)}")
    return DONE


def _inside(server: Server, env: Mapping[str, str]) -> bool:
    """Whether we run in a pane of this very server, not of one that had its socket before."""
    try:
        return env.get("TMUX", "").split(",")[-2:-1] == [
            server.run("display-message", "-p", "#{pid}")
        ]
    except NoServer:
        return False


def attach_command(server: Server, env: Mapping[str, str]) -> str:
    """What to type to get to the home session."""
    default = os.path.realpath(socket_directory(env) / "default")
    where = [] if server.socket == default else ["-S", server.socket]
    return shlex.join(["tmux", *where, "attach", "-t", home.SESSION])
