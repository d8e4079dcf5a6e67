"""Our keys in tmux servers that run already."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from trailboss.client import read_pointer
from trailboss.config import Config
from trailboss.install.tmux_lines import source_line
from trailboss.tmux import bindings
from trailboss.tmux.discover import sockets
from trailboss.tmux.options import Publisher
from trailboss.tmux.server import NoServer, Server, TmuxError


def running(env: Mapping[str, str], config: Config) -> list[Server]:
    """The user's tmux servers that answer."""
    named = [env["TMUX"].partition(",")[0]] if env.get("TMUX") else []
    out = []
    for socket in sockets(env, config["tmux.sockets"], named):
        server = Server(socket)
        with contextlib.suppress(TmuxError):
            server.run("list-sessions")
            out.append(server)
    return out


def taken(servers: Iterable[Server], config: Config) -> dict[str, tuple[str, str]]:
    """verb: (its key, what the user has it bound to), in any of the servers."""
    out: dict[str, tuple[str, str]] = {}
    for server in servers:
        with contextlib.suppress(TmuxError):
            for each in bindings.taken(server, config):
                out.setdefault(each.verb, (each.key, each.bound_to))
    return out


def has_keys(server: Server, count: int) -> bool:
    """Whether the server has that many bindings of ours."""
    try:
        bound = server.run("list-keys", "-T", "prefix").splitlines()
    except TmuxError:
        return True
    return sum(map(bindings.ours, bound)) >= count


def load(server: Server, keys_file: Path) -> list[str]:
    """Bind the keys as they are in the file now; what went wrong, for the person."""
    try:
        # Keys that the configuration no longer names would stay bound.
        said = server.source([*bindings.unbind_lines(server), source_line(keys_file)])
    except NoServer:
        return []
    except TmuxError as error:
        said = [str(error)]
    return _told(server, said)


def has_ours(server: Server) -> bool:
    """Whether a binding of ours is in the server."""
    try:
        return bool(bindings.unbind_lines(server))
    except TmuxError:
        return False


def unload(server: Server, state: Path) -> list[str]:
    """Give the keys back, and the options too if no broker keeps them; what went wrong."""
    said: list[str] = []
    try:
        said = server.source(bindings.unbind_lines(server))
        if read_pointer(state) is None:
            Publisher(server).clear()
    except NoServer:
        return []
    except TmuxError as error:
        said = [str(error)]
    return _told(server, said)


def _told(server: Server, said: list[str]) -> list[str]:
    return [f"the tmux server on {server.socket} said: {each}" for each in said]
