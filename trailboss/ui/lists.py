"""The list on a screen: what picker and dashboard have in common."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from trailboss.ui import model, view
from trailboss.ui.feed import Feed
from trailboss.ui.model import Item
from trailboss.ui.screen import Screen
from trailboss.ui.view import Line


@dataclass(frozen=True, slots=True)
class Landing:
    """How a jump went: the client is there, or why not. `leave`: nothing can come of staying."""

    there: bool
    message: str = ""
    leave: bool = False


#: Moves the client to an item's pane, told how many ready ones are left; blocking, called in a
#: thread of its own.
Jump = Callable[[Item, int], Landing]


class ListScreen(Screen):
    """The queue, a cursor, and the actions on its item. What a landing means is the subclass's."""

    #: A line for the terminal after the screen has closed.
    parting = ""

    def __init__(self, program: str, jump: Jump) -> None:
        super().__init__(program)
        self.state = model.State()
        self.feed = Feed(self._listed, self._down)
        self._jump = jump
        self._worker = ThreadPoolExecutor(1, "jump")
        self._jumping = False
        self._actions: dict[str, Callable[[], None]] = {
            "": lambda: None,
            "jump": self._start_jump,
            "skip": self._skip,
            "refresh": self._reconcile,
            "close": self.leave,
            "down": lambda: self._move(1),
            "up": lambda: self._move(-1),
            "page_down": lambda: self._move(self._half()),
            "page_up": lambda: self._move(-self._half()),
            "first": lambda: self._move(-len(self.state.items)),
            "last": lambda: self._move(len(self.state.items)),
        }

    def landed(self, item: Item) -> None:
        """The client is at the item's pane."""
        raise NotImplementedError

    def leave(self) -> None:
        """The user wants to close the screen."""
        raise NotImplementedError

    def opened(self) -> None:
        self.feed.start()

    def closed(self) -> None:
        self.feed.stop()
        self._worker.shutdown(wait=False, cancel_futures=True)

    def lines(self, columns: int, rows: int) -> list[Line]:
        self.state = model.fit(self.state, view.layout(columns, rows).body)
        return view.render(self.state, self.program, columns, rows, model.now_ms(), self.signs)

    def act(self, action: str, data: str) -> None:
        asked = self.state.question
        self.state = model.hush(self.state)
        if action == "number":
            self.state = model.numbered(self.state, int(data))
        elif asked and action == asked:
            self.close()
        else:
            self._actions[action]()
        self.refresh()

    def say(self, message: str) -> None:
        self.state = model.say(self.state, message)

    def _listed(self, items: tuple[Item, ...], rev: int | None) -> None:
        def take() -> None:
            self.state = model.listed(self.state, items, model.now_ms(), rev)

        self.later(take)

    def _down(self, sentence: str) -> None:
        def take() -> None:
            self.state = model.unreachable(self.state, sentence)

        self.later(take)

    def _half(self) -> int:
        return max(1, view.layout(*self.size).body // 2)

    def _move(self, by: int) -> None:
        self.state = model.move(self.state, by)

    def _start_jump(self) -> None:
        item = self.state.current
        if self._jumping:
            return
        if item is None:
            self.say("nobody to go to")
        elif model.surprised(self.state, model.now_ms()):
            self.say("the list has just changed under the cursor: look, then Enter again")
        else:
            self._jumping = True
            self._worker.submit(self._jump_to, item, self.state.ready - item.ready)

    def _jump_to(self, item: Item, left: int) -> None:
        try:
            landing = self._jump(item, left)
        except Exception as error:
            # Whatever tmux or the system came up with: the list stays, with the reason in sight.
            landing = Landing(False, f"the jump failed: {error}")

        def take() -> None:
            self._jumping = False
            if landing.there:
                self.landed(item)
            elif landing.leave:
                self.parting = landing.message
                self.close(1)
            else:
                self.say(landing.message)
            self.feed.ask()

        self.later(take)

    def _skip(self) -> None:
        item = self.state.current
        if item is None:
            self.say("nothing to skip")
            return
        self.state = model.passed(self.state)
        name = view.session_name(item)

        def done(result: dict[str, Any] | None, trouble: str) -> None:
            if result is None:
                message = f"not skipped: {trouble}"
            elif result.get("skipped"):
                message = f"skipped {name}"
            else:
                message = f"{name} cannot be skipped now"
            self.later(lambda: self.say(message))

        self.feed.command(done, "queue.skip", session_id=item.session_id)

    def _reconcile(self) -> None:
        self.say("looking at every source")

        def done(result: dict[str, Any] | None, trouble: str) -> None:
            if result is None:
                message = f"not refreshed: {trouble}"
            else:
                parts = (("checked", "checked"), ("enqueued", "in"), ("dequeued", "out"))
                message = ", ".join(f"{result.get(key, 0)} {word}" for key, word in parts)
            self.later(lambda: self.say(message))

        self.feed.command(done, "reconcile.run")
