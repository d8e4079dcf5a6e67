"""The broker's place: its directories, its locks, its socket files, its pointer.

Exactly one broker serves a runtime dir, and one a state dir. ZeroMQ's bind takes over a path
that another process serves, and replaces even a plain file, without a word (cases B49, B50): so
the locks come first.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import orjson

from trailboss import __version__, paths
from trailboss.client import process_start


class Taken(Exception):
    """Another broker holds the place; the text names its pid."""


class Place:
    """The directories of one broker, locked until `leave`."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        """Make and lock the directories.

        Raises Taken, paths.UnsafeDirectory, paths.PathTooLong or OSError, each with a sentence.
        """
        os.umask(0o077)
        self.runtime = paths.ensure_private(paths.runtime_dir(env))
        self.state = paths.ensure_private(paths.state_dir(env), tighten=True)
        for socket in self._sockets():
            paths.endpoint(socket)
        self._locks = [_lock(directory) for directory in {self.runtime, self.state}]
        self._inodes: dict[Path, int] = {}
        for directory in (paths.journal_dir(self.state), paths.marks_dir(self.state)):
            paths.ensure_private(directory, tighten=True)
        self._clear_sockets()

    def _sockets(self) -> tuple[Path, ...]:
        return (
            paths.events_socket(self.runtime),
            paths.api_socket(self.runtime),
            paths.pub_socket(self.runtime),
        )

    def _clear_sockets(self) -> None:
        """Remove what a killed broker has left; never a file that is no socket."""
        for path in self._sockets():
            try:
                facts = os.lstat(path)
            except FileNotFoundError:
                continue
            if not stat.S_ISSOCK(facts.st_mode):
                raise Taken(f"{path} is not a socket: it is in the way, and not ours to remove")
            os.unlink(path)

    def bound(self) -> None:
        """Remember which socket files are this broker's own."""
        self._inodes = {path: os.lstat(path).st_ino for path in self._sockets()}

    def write_pointer(self) -> None:
        """`<state>/broker.json`: where clients with another runtime dir find this broker."""
        pointer = {
            "pid": os.getpid(),
            "start_time": process_start(os.getpid()),
            "runtime_dir": str(self.runtime),
            "version": __version__,
        }
        path = paths.pointer_file(self.state)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_bytes(orjson.dumps(pointer))
        temporary.replace(path)

    def leave(self) -> None:
        """Remove our socket files and pointer, not those of a newer broker; unlock."""
        for path, inode in self._inodes.items():
            try:
                if os.lstat(path).st_ino == inode:
                    os.unlink(path)
            except FileNotFoundError:
                continue
        pointer = paths.pointer_file(self.state)
        try:
            if orjson.loads(pointer.read_bytes()).get("pid") == os.getpid():
                pointer.unlink()
        except (OSError, ValueError, AttributeError):
            pass
        for lock in self._locks:
            os.close(lock)


def _lock(directory: Path) -> int:
    """The directory's lock, held by the open file. Raises Taken naming the holder."""
    path = paths.lock_file(directory)
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.read(lock, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(lock)
        raise Taken(f"a broker runs already for {directory} (pid {pid})") from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock
