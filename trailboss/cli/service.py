"""`broker` and `stop`: the broker's own life."""

from __future__ import annotations

import argparse
import logging
import logging.handlers
import os
import signal
import sys
import time

from trailboss import paths
from trailboss.cli import DONE, NOTHING
from trailboss.client import process_start, read_pointer

#: Seconds that a broker gets to stop by itself before it is killed.
GRACE = 5.0


def run(verb: str, argv: list[str]) -> int:
    return _broker(argv) if verb == "broker" else _stop(argv)


def _broker(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="trailboss broker", description="Run the broker in the foreground."
    )
    parser.add_argument("--verbose", action="store_true", help="log more, to standard error too")
    options = parser.parse_args(argv)
    from trailboss.broker.place import Place, Taken
    from trailboss.broker.store import StoreError

    try:
        place = Place()
    except (Taken, OSError) as error:
        print(f"trailboss: {error}", file=sys.stderr)
        return NOTHING
    _log_to(place, options.verbose)
    import asyncio

    from trailboss.broker.server import Broker

    async def serve() -> None:
        await Broker(place).run()

    try:
        asyncio.run(serve())
    except (StoreError, OSError) as error:
        logging.getLogger(__name__).error("%s", error)
        print(f"trailboss: {error}", file=sys.stderr)
        return NOTHING
    return DONE


def _log_to(place: object, verbose: bool) -> None:
    state = place.state  # type: ignore[attr-defined]
    handlers: list[logging.Handler] = []
    try:
        handlers.append(
            logging.handlers.RotatingFileHandler(
                paths.log_file(state), maxBytes=1_000_000, backupCount=2, encoding="utf-8"
            )
        )
    except OSError as error:
        print(f"trailboss: no log file: {error}", file=sys.stderr)
    if verbose or not handlers:
        handlers.append(logging.StreamHandler())
    logging.raiseExceptions = False  # a full disk must not print into the broker's window
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        handlers=handlers,
    )
    for noisy in ("peewee", "watchfiles", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _stop(argv: list[str]) -> int:
    argparse.ArgumentParser(
        prog="trailboss stop", description="Stop the broker; the queue is kept."
    ).parse_args(argv)
    pid, start = _running()
    if pid is None:
        print("trailboss: no broker is running", file=sys.stderr)
        return NOTHING
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
        try:
            os.kill(pid, number)
            os.kill(pid, signal.SIGCONT)  # a stopped one must wake to end
        except ProcessLookupError:
            break
        end = time.monotonic() + patience
        while process_start(pid) == start and time.monotonic() < end:
            time.sleep(0.02)
        if process_start(pid) != start:
            break
    print("trailboss: the broker is stopped; the queue is kept")
    return DONE


def _running() -> tuple[int | None, int | None]:
    """The broker's pid and start: by the pointer, else by the lock that it holds."""
    pointer = read_pointer(paths.state_dir())
    if pointer is not None:
        return pointer["pid"], pointer["start_time"]
    import fcntl

    for directory in (paths.runtime_dir(), paths.state_dir()):
        try:
            with open(paths.lock_file(directory), "r+") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    pid = int(lock.read().strip() or 0)
                    if pid:
                        return pid, process_start(pid)
        except (OSError, ValueError):
            continue
    return None, None
