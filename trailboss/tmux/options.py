"""The answers that the broker keeps in each tmux server's user options (contract, section 5).

tmux redraws every client when any option is set, so only differences are written, in one batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trailboss.events import pane_id_or_none
from trailboss.text import clean, clip, tmux_literal
from trailboss.tmux.panes import Pane, Snapshot, snapshot
from trailboss.tmux.server import NoServer, Server, TmuxError, quote

#: Cells of a landing text; a status message has one line, and the client cuts it again.
LANDING_CELLS = 160
ELSEWHERE_CELLS = 80

GLOBAL = (
    "@trailboss_status",
    "@trailboss_depth",
    "@trailboss_ready",
    "@trailboss_head",
    "@trailboss_next",
    "@trailboss_shared",
    "@trailboss_elsewhere",
)
OF_PANE = (
    "@trailboss_state",
    "@trailboss_since",
    "@trailboss_next",
    "@trailboss_shared",
    "@trailboss_landing",
)

#: (pane id, or "" for a global option; name)
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Stop:
    """A queued session's pane on this server.

    `state` is `permission` or `stopped`, `since_ms` Unix ms, `landing` the question alone (the
    key binding adds state, wait and what is left). Not `ready`: cooling or snoozed.
    """

    pane_id: str
    state: str
    since_ms: int
    landing: str = ""
    ready: bool = True


@dataclass(frozen=True, slots=True)
class View:
    """What one server is to show.

    `ring` is in the queue's order, head first, and holds only panes of this server. `depth`
    counts all items of the whole queue, `ready` those that are ready. `elsewhere` says where the
    head is when it is not on this server, and is empty otherwise.
    """

    status: str = ""
    depth: int = 0
    ready: int = 0
    elsewhere: str = ""
    ring: tuple[Stop, ...] = ()


def status_text(ready: int) -> str:
    """The status segment: `⚠ 3 stuck`, empty at 0; at most 13 cells (case B93)."""
    if ready <= 0:
        return ""
    return f"⚠ {ready} stuck" if ready < 10000 else "⚠ 9999+ stuck"


def option_text(text: str, cells: int) -> str:
    """Hostile text as the value of an option that a status line or a message draws.

    `#{@name}` does not expand the value again, but drawing reads `#[…]` as a style and `##` as
    one `#`, and a single `#` at the end would join with whatever follows.
    """
    return tmux_literal(clip(clean(text), cells))


def desired(view: View, panes: Mapping[str, Pane]) -> dict[_Key, str]:
    """The options of a view, those of panes that are not among `panes` left out.

    `@trailboss_shared` goes with `@trailboss_next` and says that the window of that pane is in
    several sessions (groups, linked windows), so that the key must choose one.
    """
    stops: dict[str, Stop] = {}
    for stop in view.ring:
        if pane_id_or_none(stop.pane_id) and stop.pane_id in panes:
            stops.setdefault(stop.pane_id, stop)
    ring = [pane for pane, stop in stops.items() if stop.ready]
    head = ring[0] if ring else ""

    def shared(pane: str) -> str:
        return "1" if pane and len(panes[pane].places) > 1 else ""

    out: dict[_Key, str] = {
        ("", "@trailboss_status"): option_text(view.status, ELSEWHERE_CELLS),
        ("", "@trailboss_depth"): str(view.depth),
        ("", "@trailboss_ready"): str(view.ready),
        ("", "@trailboss_head"): head,
        ("", "@trailboss_next"): head,
        ("", "@trailboss_shared"): shared(head),
        ("", "@trailboss_elsewhere"): option_text(view.elsewhere, ELSEWHERE_CELLS),
    }
    for pane, stop in stops.items():
        out[pane, "@trailboss_state"] = option_text(stop.state, 20)
        out[pane, "@trailboss_since"] = str(stop.since_ms)
    for index, pane in enumerate(ring):
        following = ring[(index + 1) % len(ring)]
        out[pane, "@trailboss_next"] = following
        # Also when it is empty: without a value of its own the pane would have the global one.
        out[pane, "@trailboss_shared"] = shared(following)
        out[pane, "@trailboss_landing"] = option_text(stops[pane].landing, LANDING_CELLS)
    return out


class Publisher:
    """Writes views to one server. Blocks while tmux answers: not for an event loop's thread.

    Remembers what it wrote, for the server's pid and start: a server that was restarted gets
    everything anew, and what an earlier broker left on panes goes.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self._written: dict[_Key, str] = {}
        self._identity: tuple[int, int] | None = None

    def publish(self, view: View) -> None:
        """Make the server show the view; nothing is written when it shows it already.

        A pane that vanished meanwhile costs its own options only. Raises NoServer, TmuxTimeout,
        TmuxError; the next call then writes everything.
        """
        try:
            self._write(view)
        except TmuxError:
            self._forget()
            raise

    def clear(self) -> None:
        """Take every option of ours away, on all panes. A server that is gone is no error."""
        try:
            lines = [_unset("", name) for name in GLOBAL]
            lines += [_unset(pane, name) for pane in self._marked() for name in OF_PANE]
            self.server.source(lines)
        except NoServer:
            pass
        finally:
            self._forget()

    def _write(self, view: View) -> None:
        seen = snapshot(self.server)
        identity = (seen.server_pid, seen.start_time)
        lines: list[str] = []
        if identity != self._identity:
            self._forget()
            lines += [_unset(pane, name) for pane in self._marked() for name in OF_PANE]
        wanted = desired(view, seen.panes)
        lines += self._differences(wanted, seen)
        if self.server.source(lines):
            # Some line was refused although its pane was there a moment ago: be sure next time.
            self._forget()
            return
        self._written, self._identity = wanted, identity

    def _differences(self, wanted: dict[_Key, str], seen: Snapshot) -> list[str]:
        gone = [
            _unset(pane, name)
            for pane, name in self._written
            if (pane, name) not in wanted and (not pane or pane in seen.panes)
        ]
        return gone + [
            _set(pane, name, value)
            for (pane, name), value in wanted.items()
            if self._written.get((pane, name)) != value
        ]

    def _marked(self) -> list[str]:
        """The panes that hold options of ours, whoever wrote them."""
        rows = self.server.run("list-panes", "-a", "-f", "#{@trailboss_state}", "-F", "#{pane_id}")
        return [pane for pane in dict.fromkeys(rows.split()) if pane_id_or_none(pane)]

    def _forget(self) -> None:
        self._written, self._identity = {}, None


def _set(pane: str, name: str, value: str) -> str:
    # -q: a pane that vanished since the snapshot is no error.
    return f"set-option {_where(pane)} -- {name} {quote(value)}"


def _unset(pane: str, name: str) -> str:
    return f"set-option -u {_where(pane)} {name}"


def _where(pane: str) -> str:
    return f"-pq -t {pane}" if pane else "-gq"
