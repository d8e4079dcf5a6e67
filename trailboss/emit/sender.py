"""The way to the broker: a PUSH that never waits and loses nothing to a broker that lives."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import zmq

from trailboss import paths
from trailboss.client import read_pointer

#: ms given to a first connection, which takes about one, and to what is still unsent at the end
#: (without such a linger a short-lived PUSH loses what it sent; with zmq's own it hangs for ever).
CONNECT_MS = 250
LINGER_MS = 1000


class Sender:
    """Sends frames to whichever broker serves this state dir, or says that none takes them."""

    def __init__(self, state: Path, env: Mapping[str, str] = os.environ) -> None:
        self._state = state
        self._env = dict(env)
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._socket: zmq.Socket[bytes] | None = None
        self._path: Path | None = None

    def ready(self) -> bool:
        """Is a broker connected that takes a frame now? Looks for one anew where none is."""
        if self._socket is not None and self._socket.poll(0, zmq.POLLOUT):
            return True
        path = find_events_socket(self._state, self._env)
        if path is None:
            return False
        if path != self._path or self._socket is None:
            self._connect(path)
        assert self._socket is not None
        return bool(self._socket.poll(CONNECT_MS, zmq.POLLOUT))

    def send(self, frame: bytes) -> bool:
        """Hand one frame over; False when no broker takes it now."""
        if self._socket is None:
            return False
        try:
            self._socket.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def close(self) -> None:
        """Give what was sent its moment to leave, and let go."""
        if self._socket is not None:
            self._socket.close(linger=LINGER_MS)
        if self._context is not None:
            self._context.term()
        self._socket = self._context = None

    def _connect(self, path: Path) -> None:
        if self._context is None:
            self._context = zmq.Context(1)
        if self._socket is not None:
            self._socket.close(linger=LINGER_MS)
        push = self._context.socket(zmq.PUSH)
        # Only to a peer that is there: else frames would wait in us for one that never comes.
        push.setsockopt(zmq.IMMEDIATE, 1)
        push.setsockopt(zmq.SNDTIMEO, 0)
        push.setsockopt(zmq.SNDHWM, 10_000)
        push.setsockopt(zmq.LINGER, LINGER_MS)
        push.setsockopt(zmq.RECONNECT_IVL, 50)
        push.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        push.connect(paths.endpoint(path))
        self._socket, self._path = push, path


def find_events_socket(state: Path, env: Mapping[str, str]) -> Path | None:
    """The events socket of our own runtime dir, or of the one the pointer names; None without any.

    The pointer is followed too where our own has a socket that nobody serves any more. A
    directory that is not ours alone is passed over: events hold what agents say (case B52).
    """
    own = paths.runtime_dir(env)
    pointer = read_pointer(state)
    named = Path(pointer["runtime_dir"]) if pointer else None
    for runtime in (own, named) if named is not None and named != own else (own,):
        path = paths.events_socket(runtime)
        try:
            paths.check_private(runtime)
            paths.endpoint(path)
        except (OSError, paths.UnsafeDirectory, paths.PathTooLong):
            continue
        if path.is_socket() and (runtime == named or named is None or _served(path)):
            return path
    return None


def _served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except BlockingIOError:
            return True
        except OSError:
            return False
    return True
