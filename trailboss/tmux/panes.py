"""Every pane of a server, from one `list-panes -a`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trailboss.tmux.rows import Row, read_rows, row_format
from trailboss.tmux.server import Server, TmuxError

_FIXED = (
    "pane_id",
    "pid",
    "start_time",
    "pane_pid",
    "pane_dead",
    "pane_active",
    "session_id",
    "window_id",
    "window_index",
    "pane_index",
)
_FREE = (
    "session_name",
    "window_name",
    "pane_current_command",
    "pane_title",
    # Last, and the only one that holds raw newlines.
    "pane_current_path",
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pane is seen: a window linked or grouped into several sessions has several."""

    session_id: str
    session_name: str
    window_id: str
    window_index: int
    window_name: str
    pane_index: int

    @property
    def text(self) -> str:
        """`session:window.pane`, for people."""
        return f"{self.session_name}:{self.window_index}.{self.pane_index}"


@dataclass(frozen=True, slots=True)
class Pane:
    """One pane. `pane_pid` is the process it was started with (0 if tmux gives none).

    `dead` is a pane kept by remain-on-exit (its `command` still names the old program and its
    `path` is empty); `active` is about its own window. Title, path and command are whatever
    programs chose: put them through `trailboss.text.clean` before a person sees them.
    """

    pane_id: str
    pane_pid: int
    dead: bool
    command: str
    title: str
    path: str
    active: bool
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The panes of one server at one moment. `start_time` is in Unix seconds (tmux's grain).

    (`socket`, `server_pid`, pane id) is what identifies a pane: ids repeat on other servers and
    after a restart. `bad_lines` counts output that made no sense.
    """

    socket: str
    server_pid: int
    start_time: int
    panes: dict[str, Pane] = field(default_factory=dict)
    bad_lines: int = 0

    def target(self, pane_id: str) -> str | None:
        """`session:window.pane` for people; None when the pane is not there."""
        pane = self.panes.get(pane_id)
        return pane.places[0].text if pane else None


def snapshot(server: Server) -> Snapshot:
    """Ask a server for all its panes.

    Raises NoServer, TmuxTimeout, and TmuxError, also when nothing of the output can be read:
    that must never look like a server whose panes are all gone.
    """
    try:
        output = server.run("list-panes", "-a", "-F", row_format(_FIXED, _FREE))
    except TmuxError as error:
        # What tmux says when it has no session at all (exit-empty off).
        if "no current" not in str(error):
            raise
        output = ""
    taken = parse(output, server.socket)
    if not taken.panes:
        if taken.bad_lines:
            raise TmuxError(f"the output of list-panes on {server.socket} cannot be read")
        pid, started = server.run("display-message", "-p", "#{pid} #{start_time}").split()
        return replace(taken, server_pid=int(pid), start_time=int(started))
    return taken


def parse(output: str, socket: str) -> Snapshot:
    """The output of `list-panes -a` in this module's format. Never raises."""
    rows, bad = read_rows(output, len(_FIXED), len(_FREE), first="%[0-9]+")
    panes: dict[str, Pane] = {}
    pid = started = 0
    for row in rows:
        try:
            pane, pid, started = _pane(row)
        except ValueError:
            bad += 1
            continue
        known = panes.get(pane.pane_id)
        # One row for each session that the window is in.
        panes[pane.pane_id] = replace(known, places=known.places + pane.places) if known else pane
    return Snapshot(socket, pid, started, panes, bad)


def _pane(row: Row) -> tuple[Pane, int, int]:
    pane_id, pid, started, pane_pid, dead, active, session_id, window_id, window, index = row.fixed
    session_name, window_name, command, title, path = row.free
    place = Place(session_id, session_name, window_id, int(window), window_name, int(index))
    pane = Pane(
        pane_id=pane_id,
        pane_pid=int(pane_pid),
        dead=dead == "1",
        command=command,
        title=title,
        path=path,
        active=active == "1",
        places=(place,),
    )
    return pane, int(pid), int(started)
