"""The tmux servers that the broker knows: what their panes are, and what it shows on them.

Every tmux call runs in this fleet's one thread, never in the event loop's.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from trailboss.core.board import PaneRef, Session
from trailboss.tmux import discover
from trailboss.tmux.options import Publisher, View
from trailboss.tmux.panes import Snapshot, snapshot
from trailboss.tmux.server import NoServer, Server, TmuxError

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two writes of options to one server (case B93).
WRITE_INTERVAL = 0.5
#: A server must be missed this often before its panes count as gone: one failed look is not it.
MISSES = 2


class Fleet:
    """Servers by socket. Snapshots are at most one sweep old; `refresh` takes new ones."""

    def __init__(self, env: Mapping[str, str], config_sockets: Iterable[str]) -> None:
        self._env = dict(env)
        self._config_sockets = list(config_sockets)
        self._named: set[str] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tmux")
        self._publishers: dict[str, Publisher] = {}
        self._misses: dict[str, int] = {}
        self._errors: set[str] = set()
        self._next_write = 0.0
        self.snapshots: dict[str, Snapshot] = {}
        self.taken_at = 0.0

    def name(self, socket: str | None) -> bool:
        """An event named a server; whether it is new to us."""
        if not socket or socket in self._named:
            return False
        if discover.own_socket(socket) is None:
            return False
        self._named.add(socket)
        return True

    async def run(self, work: Callable[[], T]) -> T:
        """Run blocking work with tmux in the fleet's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def refresh(self) -> None:
        """Look at every server once."""
        await self.run(self._refresh)

    def _refresh(self) -> None:
        seen: dict[str, Snapshot] = {}
        for socket in discover.sockets(self._env, self._config_sockets, self._named):
            try:
                seen[socket] = snapshot(self._publisher(socket).server)
                self._misses.pop(socket, None)
                self._errors.discard(socket)
            except NoServer:
                self._missed(socket, seen)
            except TmuxError as error:
                self._missed(socket, seen)
                if socket not in self._errors:
                    self._errors.add(socket)
                    log.warning("tmux %s: %s", socket, error)
        for socket in self.snapshots:
            if socket not in seen:
                self._missed(socket, seen)
        self.snapshots = seen
        self.taken_at = time.monotonic()

    def _missed(self, socket: str, seen: dict[str, Snapshot]) -> None:
        """Keep what was last seen until the server was missed often enough."""
        self._misses[socket] = self._misses.get(socket, 0) + 1
        last = self.snapshots.get(socket)
        if last is None:
            return
        if self._misses[socket] < MISSES:
            seen[socket] = last
        else:
            self._publishers.pop(socket, None)

    def server(self, socket: str) -> Server:
        return self._publisher(socket).server

    def _publisher(self, socket: str) -> Publisher:
        if socket not in self._publishers:
            self._publishers[socket] = Publisher(Server(socket))
        return self._publishers[socket]

    # --- what the snapshots tell --------------------------------------------------

    def of(self, pane: PaneRef) -> Snapshot | None:
        """The snapshot of the server that this pane is on, if that server is the same still."""
        if pane.socket:
            found = self.snapshots.get(pane.socket) or self.snapshots.get(
                os.path.realpath(pane.socket)
            )
            candidates = [found] if found else []
        else:
            candidates = [s for s in self.snapshots.values() if pane.pane_id in s.panes]
            candidates = candidates if len(candidates) == 1 else []
        for seen in candidates:
            if not pane.server_pid or pane.server_pid == seen.server_pid:
                return seen
        return None

    def target(self, pane: PaneRef) -> str | None:
        """`session:window.pane` for people, or None."""
        seen = self.of(pane)
        return seen.target(pane.pane_id) if seen else None

    def is_gone(self, pane: PaneRef) -> bool:
        """Whether that pane is known to exist no more.

        A server that answers under another pid has replaced all its panes; one that does not
        answer proves it once it was missed often enough; one that we may not look at, nothing.
        """
        seen = self.of(pane)
        if seen is not None:
            found = seen.panes.get(pane.pane_id)
            return found is None or found.dead
        if not pane.socket:
            return False
        socket = os.path.realpath(pane.socket)
        if socket in self.snapshots or pane.socket in self.snapshots:
            return True  # another server's pid
        return max(self._misses.get(socket, 0), self._misses.get(pane.socket, 0)) >= MISSES

    def pane_of_process(self, pids: Iterable[int]) -> PaneRef | None:
        """The pane whose own process is one of these (a process and its ancestors)."""
        wanted = set(pids)
        for socket, seen in self.snapshots.items():
            for pane in seen.panes.values():
                if pane.pane_pid in wanted and not pane.dead:
                    return PaneRef(socket, seen.server_pid, pane.pane_id)
        return None

    # --- what it shows --------------------------------------------------------------

    async def publish(self, views: Mapping[str, View]) -> None:
        """Write each server's view. At most one write a WRITE_INTERVAL, the first at once."""
        delay = self._next_write - time.monotonic()
        if delay > 0:
            await asyncio.sleep(delay)
        self._next_write = time.monotonic() + WRITE_INTERVAL
        await self.run(lambda: self._publish(views))

    def _publish(self, views: Mapping[str, View]) -> None:
        for socket, view in views.items():
            try:
                self._publisher(socket).publish(view)
            except TmuxError as error:
                log.debug("options of %s: %s", socket, error)

    async def close(self) -> None:
        """Clear what was shown: a status line must not count what nobody watches any more."""
        await self.run(self._clear)
        self._thread.shutdown()

    def _clear(self) -> None:
        for publisher in self._publishers.values():
            try:
                publisher.clear()
            except TmuxError as error:
                log.debug("options: %s", error)


def on_server(session: Session, socket: str, seen: Snapshot) -> bool:
    """Whether that session's pane is one of this server's."""
    pane = session.pane
    return (
        pane is not None
        and (not pane.socket or discover.same(pane.socket, socket))
        and (not pane.server_pid or pane.server_pid == seen.server_pid)
        and pane.pane_id in seen.panes
    )
