"""The broker's news, read in a thread of its own and handed to the screen as they come.

The thread sleeps on the PUB socket and a pipe. It asks for the list at once when a change is
announced or when the screen wants it, and after three seconds of silence on suspicion: a PUB that
is dead must not freeze the picture. Every failure is a state to show, never the end of the thread.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trailboss.client import Changes, Client, Unreachable, find_runtime
from trailboss.paths import PathTooLong, api_socket
from trailboss.ui.model import Item, read_items
from trailboss.wire import ApiError

#: Seconds without an announcement after which the broker is asked anyway.
SILENCE = 3.0
#: Seconds between two attempts at a broker that does not answer.
RETRY = 0.5
#: ms that a command (a skip, a sweep) may take.
COMMAND_MS = 15_000

Listed = Callable[[tuple[Item, ...], int | None], None]
Down = Callable[[str], None]
Done = Callable[[dict[str, Any] | None, str], None]


class Feed:
    """Follows the queue from `start` to `stop`.

    `on_list(items, rev)` and `on_down(sentence)` are called in the feed's thread; so is what
    `command` is given. No ZeroMQ object and no thread exists before `start`.
    """

    def __init__(self, on_list: Listed, on_down: Down) -> None:
        self._on_list = on_list
        self._on_down = on_down
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._ending = False
        self._wanted = False
        self._broker: tuple[Path, int] | None = None
        self._client: Client | None = None
        self._changes: Changes | None = None
        self._rev: int | None = None
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; it is not waited for, it may sit in a request for a second."""
        self._ending = True
        self._wake()

    def ask(self) -> None:
        """Ask for the list now, whatever was announced."""
        self._wanted = True
        self._wake()

    def command(self, done: Done, op: str, **args: Any) -> None:
        """One request beside the feed, in a thread of its own; then the list is asked for.

        `done(result, "")` or `done(None, sentence)` is called in that thread.
        """

        def work() -> None:
            try:
                with Client(timeout_ms=COMMAND_MS) as client:
                    result = client.call(op, **args)
            except (Unreachable, ApiError, PathTooLong, OSError) as error:
                done(None, str(error))
            else:
                done(result, "")
            self.ask()

        threading.Thread(target=work, name=op, daemon=True).start()

    def _wake(self) -> None:
        try:
            os.write(self._wake_write, b"!")
        except BlockingIOError:
            pass

    def _run(self) -> None:
        wait = 0.0
        while not self._ending:
            if not self._news(wait):
                continue
            began = time.monotonic()
            wait = SILENCE if self._ask() else RETRY
            # A list of thousands takes its time; a burst of changes must not keep a core busy.
            self._pause(min(time.monotonic() - began, 0.5))
        self._disconnect()

    def _news(self, wait: float) -> bool:
        """Is it time to ask? Sleeps until there is a reason, at most `wait` seconds."""
        end = time.monotonic() + wait
        while not self._ending:
            if self._wanted:
                self._wanted = False
                return True
            # ZeroMQ's descriptor tells edges: it is silent until the socket was read to its end.
            announced = self._changes.poll() if self._changes else None
            if isinstance(announced, dict) and announced.get("rev") != self._rev:
                return True
            left = end - time.monotonic()
            if left <= 0:
                return True
            sources = [self._wake_read]
            if self._changes:
                sources.append(self._changes.fd)
            ready, _, _ = select.select(sources, [], [], left)
            if self._wake_read in ready:
                self._drain()
        return False

    def _drain(self) -> None:
        try:
            while os.read(self._wake_read, 1024):
                pass
        except BlockingIOError:
            pass

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._ending and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))

    def _ask(self) -> bool:
        """Fetch the list; whether the broker answered."""
        try:
            self._connect()
            assert self._client is not None
            result = self._client.call("queue.list")
            items, rev = read_items(result), result.get("rev")
        except (Unreachable, PathTooLong, OSError, ApiError) as error:
            self._down(str(error))
            return False
        except Exception as error:
            # Whatever a broker of another version sends, the screen stays and says so.
            self._down(f"the broker's answer makes no sense ({type(error).__name__})")
            return False
        self._rev = rev if isinstance(rev, int) else None
        if not self._ending:
            self._on_list(items, self._rev)
        return True

    def _down(self, sentence: str) -> None:
        self._rev = None
        if not self._ending:
            self._on_down(sentence)

    def _connect(self) -> None:
        """Sockets to the broker that is there now.

        It may live in another runtime dir than the last one, or have made its socket anew: a
        request sent to the old one would be lost and be missed for seconds.
        """
        runtime = find_runtime()
        try:
            made = api_socket(runtime).stat().st_ino
        except OSError:
            made = 0
        if (runtime, made) == self._broker and self._client and self._changes:
            return
        self._disconnect()
        self._client = Client(runtime)
        self._changes = Changes(runtime)
        self._broker = (runtime, made)

    def _disconnect(self) -> None:
        if self._client:
            self._client.close()
        if self._changes:
            self._changes.close()
        self._client = self._changes = None
