"""What picker, dashboard and preview share: a full screen that paints lines, takes keys, follows
the clock, and leaves the terminal as it was however it ends.
"""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, UIContent, UIControl, Window

from trailboss import config
from trailboss.ui import keys, theme
from trailboss.ui.view import Line

#: Seconds after an Esc in which the rest of a key's sequence may still come. Above what a slow
#: line puts between two bytes of one write, and well below what people notice (case B87).
ESCAPE_S = 0.07
#: Seconds in which the second key of a pair (`gg`) must come.
PAIR_S = 0.6

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~])")
#: What is no key but known all the same: a cursor report, the mouse, the end of a paste.
_REPORT = re.compile(r"\x1b\[(?:\d+;\d+R|<[\d;]+[mM]|M|201~)")


class Canvas(UIControl):
    """A control that asks for the lines of exactly the size it has."""

    def __init__(self, paint: Callable[[int, int], list[Line]]) -> None:
        self._paint = paint

    def create_content(self, width: int, height: int) -> UIContent:
        lines = self._paint(width, height)
        return UIContent(
            get_line=lambda at: [*lines[at]] if at < len(lines) else [],
            line_count=max(1, len(lines)),
            cursor_position=Point(0, 0),
            show_cursor=False,
        )

    def is_focusable(self) -> bool:
        return True


class Screen:
    """One program. Subclasses give `lines` and the actions of their keys; `run` runs it."""

    def __init__(self, program: str) -> None:
        settings = config.load()
        self.program = program
        self.signs = theme.signs()
        self._table = {
            tuple(names.split()): key.action for key in keys.table(program) for names in key.keys
        }
        self._held = ("", 0.0)
        self._size = (80, 24)
        self._painted: list[Line] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.app: Application[int] = Application(
            layout=Layout(
                Window(Canvas(self._paint), always_hide_cursor=True, style="class:screen")
            ),
            key_bindings=self._bindings(),
            style=theme.style(settings["ui.theme"]),
            color_depth=theme.depth(),
            full_screen=True,
            include_default_pygments_style=False,
        )
        self.app.ttimeoutlen = ESCAPE_S

    def lines(self, columns: int, rows: int) -> list[Line]:
        """What the screen shows now."""
        raise NotImplementedError

    def act(self, action: str, data: str) -> None:
        """A key of the table was pressed; `data` is the character. An unbound one: action ""."""
        raise NotImplementedError

    def opened(self) -> None:
        """The screen is up: start what feeds it."""

    def closed(self) -> None:
        """The screen is gone: stop what fed it."""

    def tick(self) -> None:
        """Once a second."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows at the last painting."""
        return self._size

    def refresh(self) -> None:
        """Paint again if it would look different: an idle screen writes nothing."""
        if self._painted is None or self.lines(*self._size) != self._painted:
            self.app.invalidate()

    def later(self, work: Callable[[], None]) -> None:
        """Do this in the screen's own thread, from any thread; then paint what changed."""
        if self._loop is None:
            return

        def step() -> None:
            if self.app.is_running and not self.app.is_done:
                work()
                self.refresh()

        try:
            self._loop.call_soon_threadsafe(step)
        except RuntimeError:
            pass  # The screen closed meanwhile.

    def close(self, code: int = 0) -> None:
        """End the program with this exit code."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit(result=code)

    def run(self) -> int:
        """Run until a key or a signal ends it; the exit code. The terminal is as before after."""
        try:
            return asyncio.run(self._run())
        except (EOFError, OSError):
            return 128 + signal.SIGHUP  # The terminal itself is gone.

    async def _run(self) -> int:
        loop = self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            # A popup's window closes on 0 alone, and being told to end is no fault.
            loop.add_signal_handler(number, self.close)
        failures: list[BaseException] = []
        loop.set_exception_handler(lambda _, context: self._failed(failures, context))
        _only_known_keys(self.app)
        clock = loop.create_task(self._clock())
        self.opened()
        try:
            code = await self.app.run_async(set_exception_handler=False)
        finally:
            clock.cancel()
            self.closed()
        if failures:
            raise failures[0]
        return code

    def _failed(self, failures: list[BaseException], context: dict[str, Any]) -> None:
        """A fault in a callback ends the program; it is raised when the terminal is back."""
        failure = context.get("exception")
        if isinstance(failure, BaseException):
            failures.append(failure)
            self.close(1)

    async def _clock(self) -> None:
        while True:
            await asyncio.sleep(1)
            self.tick()
            self.refresh()

    def _paint(self, columns: int, rows: int) -> list[Line]:
        self._size = (columns, rows)
        self._painted = self.lines(columns, rows)
        return self._painted

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        for name in {name for names in self._table for name in names}:
            # Eager: an Esc has no longer sequence to wait for, the parser has waited for it.
            bindings.add(name, eager=True)(partial(self._pressed, name))
        bindings.add(Keys.Any)(partial(self._pressed, ""))
        bindings.add(Keys.SIGINT)(partial(self._pressed, "c-c"))
        return bindings

    def _pressed(self, name: str, event: KeyPressEvent) -> None:
        """Find the action of a key, or of the pair that it ends.

        prompt_toolkit could do pairs, but shows the first key on the screen while it waits.
        """
        first, since = self._held
        names = (first, name) if first and time.monotonic() - since < PAIR_S else (name,)
        self._held = ("", 0.0)
        action = self._table.get(names) or self._table.get((name,), "")
        if not action and any(pair[0] == name for pair in self._table):
            self._held = (name, time.monotonic())
            return
        self.act(action, event.data)


def known_keys(data: str) -> str:
    """What was typed without the sequences of keys that prompt_toolkit does not know.

    It would take them apart: an Esc that closes the picker, then digits that move the cursor.
    """

    def known(found: re.Match[str]) -> str:
        whole = found[0]
        return whole if whole in ANSI_SEQUENCES or _REPORT.match(whole) else ""

    return _SEQUENCE.sub(known, data)


def _only_known_keys(app: Application[int]) -> None:
    parser = getattr(app.input, "vt100_parser", None)
    if parser is not None:
        feed = parser.feed
        parser.feed = lambda data: feed(known_keys(data))
