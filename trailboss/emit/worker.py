"""The worker: drains the journal into the broker's PULL. `python -m trailboss.emit.worker STATE`.

One at a time for a state dir, by `<state>/emit.lock`. It stays for a while after the last hook,
so that the next one need only wake it, with a signal whose default is to be ignored (SIGURG):
`<state>/emit.pid` holds its pid and the descriptor of the lock, by which a front tells it from a
stranger with the same pid. It never removes an entry that it pushed: the broker does, after its
commit, and reads the journal itself once a second, so nothing depends on this process.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time
from pathlib import Path

from trailboss import paths
from trailboss.emit import journal, marks
from trailboss.emit.fronts import Fronts
from trailboss.emit.sender import Sender

#: Seconds without a hook after which the worker ends, and after which it ends all the same, so
#: that a new version of the program gets its turn.
IDLE_S = 30.0
LIFE_S = 3600.0
#: Seconds between two looks when nothing wakes it; a few of these, and a hook that hangs is seen.
TICK_S = 0.2
#: Seconds that another worker is given to end.
LOCK_WAIT_S = 3.0
#: Entries looked at when no broker is there: it will read the journal when it comes.
WITHOUT_BROKER = 200
LOG_MAX = 128 * 1024


def main() -> None:
    """Run until idle. Argument: the state dir."""
    state = Path(sys.argv[1])
    try:
        os.setsid()
    except OSError:
        pass
    os.chdir("/")
    os.umask(0o077)
    # Whatever the agent left open for its hook: somebody may wait for its end.
    os.closerange(3, 1024)
    wakeup = _wake_on_signals()
    lock = _take_lock(state)
    if lock is None:
        return
    try:
        Worker(state, lock, wakeup, IDLE_S).run()
    except Exception as error:
        log(state, f"ended by {journal.describe(error)}")


def _wake_on_signals() -> int:
    """Make SIGURG readable on the descriptor returned."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGURG, lambda *_: None)
    return reader


def _take_lock(state: Path) -> int | None:
    """The lock's descriptor; None when another worker lives, which is woken instead.

    One that is just ending has removed its pid file and is waited for.
    """
    try:
        lock = os.open(state / "emit.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    end = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except OSError:
            pass
        try:
            os.kill(int((state / "emit.pid").read_text().split()[0]), signal.SIGURG)
            (state / "emit.starting").unlink(missing_ok=True)
            return None
        except (OSError, ValueError, IndexError):
            if time.monotonic() > end:
                return None
            time.sleep(0.01)


class Worker:
    """Holds the lock and drains `<state>/journal/`; `run` returns when there is nothing to do."""

    def __init__(self, state: Path, lock: int, wakeup: int, idle_s: float) -> None:
        self._state = state
        self._journal = paths.journal_dir(state)
        self._lock = lock
        self._wakeup = wakeup
        self._idle_s = idle_s
        self._sender = Sender(state)
        self._fronts = Fronts(state)
        #: Entries that are pushed, or bad and the broker's to set aside.
        self._done: set[str] = set()
        #: Entries that mean something and that no broker took so far.
        self._unsent: set[str] = set()
        self._known: set[str] = set()
        #: Is an entry still being written, whose end the directory does not show?
        self._left = False
        self._seen_ns = 0

    def run(self) -> None:
        begun = last = time.monotonic()
        self._announce()
        try:
            while True:
                if self._drain():
                    last = time.monotonic()
                now = time.monotonic()
                if now - last > self._idle_s or now - begun > LIFE_S:
                    # A front that still finds the pid file has its entry in place before our last
                    # look; one that does not starts a new worker.
                    (self._state / "emit.pid").unlink(missing_ok=True)
                    self._seen_ns = 0
                    self._fronts.look()
                    if not self._drain() and not self._fronts:
                        return
                    last = time.monotonic()
                    if now - begun > LIFE_S and not self._fronts:
                        return
                    self._announce()
                if self._fronts.look():
                    last = time.monotonic()
                self._wait()
                if not self._owns_lock():
                    return
        finally:
            self._sender.close()

    def _announce(self) -> None:
        """Write the pid file whole, then free the claim of the front that started us."""
        new = self._state / "emit.pid.new"
        new.write_text(f"{os.getpid()} {self._lock}\n")
        new.replace(self._state / "emit.pid")
        (self._state / "emit.starting").unlink(missing_ok=True)

    def _owns_lock(self) -> bool:
        """False once the state dir was removed under us: another one may be there by now."""
        try:
            named = os.stat(self._state / "emit.lock")
        except OSError:
            return False
        return os.path.samestat(named, os.fstat(self._lock))

    def _wait(self) -> None:
        try:
            if select.select([self._wakeup], [], [], TICK_S)[0]:
                os.read(self._wakeup, 4096)
                self._seen_ns = 0
        except (BlockingIOError, InterruptedError):
            pass

    def _drain(self) -> bool:
        """Handle what is new in the journal, in its order; whether there was anything new."""
        if not self._changed():
            return False
        entries = journal.entries(self._journal)
        names = {entry.name for entry in entries}
        new = not names <= self._known
        self._known = names
        self._done &= names
        self._unsent &= names
        self._left = False
        waiting = [entry for entry in entries if entry.name not in self._done]
        ready = bool(waiting) and self._sender.ready()
        if not ready:
            waiting = [entry for entry in waiting if entry.name not in self._unsent]
            waiting = waiting[-WITHOUT_BROKER:]
        for entry in waiting:
            self._fronts.watch(entry)
            ready = self._handle(entry, ready)
        return new

    def _changed(self) -> bool:
        """Has the directory changed since we listed it, or is something left to do?

        A change within the grain of the file system's clock does not show, so a listing counts
        as seen only when the directory had been at rest for a moment before it.
        """
        try:
            changed = self._journal.stat().st_mtime_ns
        except OSError:
            return False
        if changed == self._seen_ns and not self._left and not self._unsent:
            return False
        self._seen_ns = changed if time.time_ns() - changed > 50_000_000 else 0
        return True

    def _handle(self, entry: journal.Entry, ready: bool) -> bool:
        """Push one entry, or remove it when it means nothing; whether the broker takes more."""
        try:
            events = journal.events_of(entry)
            frames = [event.to_wire() for event in events]
        except journal.Incomplete:
            self._left = True
            return ready
        except Exception as error:
            # The broker sets it aside and counts it; a fault of one entry is not the others'.
            log(self._state, f"{entry.name}: {journal.describe(error)}")
            self._done.add(entry.name)
            return ready
        if not frames:
            self._remove(entry)
            return ready
        if ready:
            ready = all(self._sender.send(frame) for frame in frames)
        if ready:
            self._done.add(entry.name)
            self._unsent.discard(entry.name)
        else:
            self._unsent.add(entry.name)
        return ready

    def _remove(self, entry: journal.Entry) -> None:
        session = journal.env_of(entry).get("CLAUDE_CODE_SESSION_ID")
        if session:
            marks.remove(self._state, session, [entry.name])
        journal.remove(self._journal, entry.name)


def log(state: Path, line: str) -> None:
    """One line into `<state>/emit.log`, which is begun anew when it is full; no agent's text."""
    path = state / "emit.log"
    try:
        if path.stat().st_size > LOG_MAX:
            path.replace(state / "emit.log.old")
    except OSError:
        pass
    try:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as file:
            file.write(f"{stamp} {line[:500]}\n")
    except OSError:
        pass


if __name__ == "__main__":
    main()
