"""The clients of a server, and which of them to move: always a named one (cases B31, B32)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trailboss.tmux.discover import own_socket
from trailboss.tmux.rows import read_rows, row_format
from trailboss.tmux.server import Server, TmuxError

_FIXED = (
    "client_pid",
    "pid",
    "client_control_mode",
    "client_width",
    "client_height",
    "session_id",
    "window_id",
    "pane_id",
)
_FREE = ("client_name", "session_name")


@dataclass(frozen=True, slots=True)
class Client:
    """An attached terminal and what it shows. `pid` is the client's, unique while it lives."""

    name: str
    pid: int
    server_pid: int
    width: int
    height: int
    session_id: str
    session_name: str
    window_id: str
    pane_id: str


class NoClient(Exception):
    """No client, or no single one, can be meant; the text says so and what to do.

    `candidates` are the clients there are: none means that nobody is attached.
    """

    def __init__(self, text: str, candidates: tuple[Client, ...] = ()) -> None:
        super().__init__(text)
        self.candidates = candidates


def clients(server: Server) -> list[Client]:
    """The people's clients of a server; control-mode ones (`tmux -C`) are left out.

    Raises NoServer, TmuxTimeout, TmuxError.
    """
    output = server.run("list-clients", "-F", row_format(_FIXED, _FREE))
    rows, _ = read_rows(output, len(_FIXED), len(_FREE), first="[0-9]+")
    out = []
    for row in rows:
        pid, server_pid, control, width, height, session_id, window_id, pane_id = row.fixed
        if control == "1":
            continue
        out.append(
            Client(
                name=row.free[0],
                pid=int(pid),
                server_pid=int(server_pid),
                width=int(width),
                height=int(height),
                session_id=session_id,
                session_name=row.free[1],
                window_id=window_id,
                pane_id=pane_id,
            )
        )
    return out


def own_server(env: Mapping[str, str]) -> Server | None:
    """The server that this process runs in, by $TMUX; None outside tmux or when it is no more."""
    socket, _, _ = env.get("TMUX", "").rpartition(",")[0].rpartition(",")
    real = own_socket(socket) if socket else None
    return Server(real) if real else None


def resolve(
    env: Mapping[str, str], wanted: str | None, sockets: Iterable[str]
) -> tuple[Server, Client]:
    """The client to move and its server.

    In order: `wanted` (--client), $TB_CLIENT (set by our key bindings), the client that shows
    the current pane ($TMUX with $TMUX_PANE), the only client there is. Outside tmux the servers
    of `sockets` are asked. Raises NoClient rather than guess: tmux's own idea of the current
    client is another terminal when asked from a popup.
    """
    name = wanted or env.get("TB_CLIENT") or None
    here = own_server(env)
    if here is not None:
        found = _ask([here.socket])
        if not (name and not any(client.name == name for _, client in found)):
            return _choose(found, name, _own_pane(env, found))
    return _choose(_ask(sockets), name, None)


def _ask(sockets: Iterable[str]) -> list[tuple[Server, Client]]:
    found: list[tuple[Server, Client]] = []
    for socket in sockets:
        server = Server(socket)
        try:
            found += [(server, client) for client in clients(server)]
        except TmuxError:
            continue
    return found


def _own_pane(env: Mapping[str, str], found: list[tuple[Server, Client]]) -> str | None:
    """$TMUX_PANE, if $TMUX is of the server that answers now and not of one before it."""
    pane = env.get("TMUX_PANE")
    pid = env.get("TMUX", "").split(",")[-2]
    return pane if pane and any(str(c.server_pid) == pid for _, c in found) else None


def _choose(
    found: list[tuple[Server, Client]], name: str | None, pane: str | None
) -> tuple[Server, Client]:
    everyone = tuple(client for _, client in found)
    if name is not None:
        matches = [pair for pair in found if pair[1].name == name]
        if len(matches) == 1:
            return matches[0]
        raise NoClient(f"there is no tmux client {name}; {_listed(found)}", everyone)
    showing = [pair for pair in found if pair[1].pane_id == pane] if pane else []
    if len(showing) == 1:
        return showing[0]
    if len(found) == 1 and not showing:
        return found[0]
    if not found:
        raise NoClient("no tmux client is attached (tmux attach, then try again)")
    which = showing or found
    raise NoClient(f"which client? {_listed(which)}; say it with --client NAME", everyone)


def _listed(found: list[tuple[Server, Client]]) -> str:
    """The candidates, for people."""
    if not found:
        return "none is attached"
    several = len({server.socket for server, _ in found}) > 1
    return "attached: " + ", ".join(
        f"{client.name} (session {client.session_name}{f' on {server.socket}' if several else ''})"
        for server, client in found
    )
