"""`trailboss preview`: a read-only live picture of the pane that the head of the queue is in.

It looks with capture-pane and takes no key but the one that closes it, so nothing typed here
reaches the pane.
"""

from __future__ import annotations

import asyncio
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from trailboss.tmux.clients import own_server
from trailboss.tmux.discover import own_socket
from trailboss.tmux.server import Server, TmuxError
from trailboss.ui import cells, keys, model, picture, view
from trailboss.ui.feed import Feed
from trailboss.ui.model import Item
from trailboss.ui.screen import Screen
from trailboss.ui.view import Line

#: Seconds between two looks at the pane.
EVERY = 0.5

_PANE = re.compile(r"%[0-9]+")
_PLACE = "#{session_name}:#{window_index}.#{pane_index}"


@dataclass(frozen=True, slots=True)
class Shot:
    """What a pane showed: where it is for people, and its screen; or why there is none."""

    place: str = ""
    screen: str = ""
    trouble: str = ""


def shoot(item: Item) -> Shot:
    """Look at an item's pane once."""
    pane = item.pane_id or ""
    if not _PANE.fullmatch(pane):
        return Shot(trouble=f"{view.session_name(item)} has no pane")
    socket = own_socket(item.tmux_socket) if item.tmux_socket else None
    server = Server(socket) if socket else None if item.tmux_socket else own_server(os.environ)
    if server is None:
        return Shot(view.place(item), trouble="its tmux server is gone")
    try:
        said = server.run(
            "display-message", "-p", "-t", pane, _PLACE, ";", "capture-pane", "-p", "-e", "-t", pane
        )
    except TmuxError:
        return Shot(view.place(item), trouble="its pane is gone")
    place, _, screen = said.partition("\n")
    return Shot(place, screen)


class Preview(Screen):
    """Follows the head of the queue."""

    def __init__(self) -> None:
        super().__init__(keys.PREVIEW)
        self.state = model.State()
        self.shot = Shot()
        self.feed = Feed(self._listed, self._down)
        self._changed = asyncio.Event()
        self._worker = ThreadPoolExecutor(1, "capture")
        self._watch: asyncio.Task[None] | None = None

    @property
    def item(self) -> Item | None:
        """The item in the picture: the first ready one that has a pane, else the first with one."""
        placed = [item for item in self.state.items if item.pane_id]
        return next((item for item in placed if item.ready), placed[0] if placed else None)

    def opened(self) -> None:
        self.feed.start()
        self._watch = asyncio.get_running_loop().create_task(self._look())

    def closed(self) -> None:
        self.feed.stop()
        if self._watch is not None:
            self._watch.cancel()
        self._worker.shutdown(wait=False, cancel_futures=True)

    def act(self, action: str, data: str) -> None:
        if action == "close":
            self.close()

    def lines(self, columns: int, rows: int) -> list[Line]:
        dash = self.signs.line
        place = view.plain(self.shot.place, 200)
        head = f"{dash * 3} {place} {dash * 3}" if place else dash * 3
        out: list[Line] = [[("class:place", cells.clip(head, columns, self.signs.cut))]]
        if trouble := self._trouble():
            return [*out, [("class:later", cells.clip(f" {trouble}", columns, self.signs.cut))]]
        return out + picture.lines(self.shot.screen, columns, rows - 1) if rows > 1 else out

    def _trouble(self) -> str:
        if self.shot.trouble:
            return self.shot.trouble
        if self.item is not None:
            return ""
        if self.state.broker == model.UNREACHABLE:
            return view.plain(self.state.trouble)
        return "no stuck session to show" if self.state.broker == model.OK else ""

    def _listed(self, items: tuple[Item, ...], rev: int | None) -> None:
        def take() -> None:
            self.state = model.listed(self.state, items, model.now_ms(), rev)
            self._changed.set()

        self.later(take)

    def _down(self, sentence: str) -> None:
        def take() -> None:
            self.state = model.unreachable(self.state, sentence)

        self.later(take)

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            item = self.item
            shot = Shot()
            if item is not None:
                shot = await loop.run_in_executor(self._worker, shoot, item)
            self.shot = shot
            self.refresh()
            try:
                await asyncio.wait_for(self._changed.wait(), EVERY)
            except TimeoutError:
                pass
