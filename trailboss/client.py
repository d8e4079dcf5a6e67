"""The broker's clients: `Client` asks (REQ), `Changes` listens (SUB).

Blocking and importing little, since `trailboss queue --json` is to cost hardly more than
starting Python with zmq and orjson.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import zmq

from trailboss import paths, wire

#: ms to wait for an answer; the CLI says within 2 s that nobody is there.
TIMEOUT_MS = 1500


class Unreachable(Exception):
    """No broker answers; the text is a sentence for people."""


def find_runtime(env: Mapping[str, str] = os.environ) -> Path:
    """The runtime dir whose broker to ask: our own, or the one the pointer names.

    A hook, a cron job or a container may see another runtime dir than the broker, so where ours
    has no socket, `<state>/broker.json` is followed while the process it names lives.
    """
    runtime = paths.runtime_dir(env)
    if paths.api_socket(runtime).exists():
        return runtime
    pointer = read_pointer(paths.state_dir(env))
    return Path(pointer["runtime_dir"]) if pointer else runtime


def read_pointer(state: Path) -> dict[str, Any] | None:
    """`<state>/broker.json` if it names a process that lives now, else None.

    `pid`, `start_time` (as `process_start` gives it), `runtime_dir`, `version`.
    """
    try:
        data = orjson.loads(paths.pointer_file(state).read_bytes())
        pid, start = data["pid"], data["start_time"]
        if isinstance(pid, int) and isinstance(data["runtime_dir"], str):
            return data if process_start(pid) == start else None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def process_start(pid: int) -> int | None:
    """When that process started, in clock ticks since boot (Linux) or Unix ms; None if gone.

    Read without psutil where /proc exists: importing that costs more than the whole question.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            facts = stat.read().rpartition(b")")[2].split()
            # A zombie waits for its parent only: nobody serves there any more.
            return None if facts[0] in (b"Z", b"X") else int(facts[19])
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return None
    except (OSError, ValueError, IndexError):
        return None
    import psutil

    try:
        return int(psutil.Process(pid).create_time() * 1000)
    except psutil.Error:
        return None


class Client:
    """Asks the broker. One REQ socket, made anew after a time-out; not for several threads."""

    def __init__(
        self,
        runtime: Path | None = None,
        timeout_ms: int = TIMEOUT_MS,
        context: zmq.Context[Any] | None = None,
    ) -> None:
        self._runtime = runtime
        self._timeout = timeout_ms
        self._context = context or zmq.Context.instance()
        self._socket: zmq.Socket[bytes] | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close(linger=0)
            self._socket = None

    def call(self, op: str, **args: Any) -> dict[str, Any]:
        """The result of one operation.

        Raises wire.ApiError for the broker's refusal and Unreachable when none answers in time.
        """
        reply = self.call_raw(wire.request(op, args))
        try:
            data = orjson.loads(reply)
            if data["ok"]:
                result: dict[str, Any] = data["result"]
                return result
            failure = data["error"]
            raise wire.ApiError(failure["code"], failure["message"])
        except (ValueError, KeyError, TypeError):
            raise wire.ApiError(wire.INTERNAL, "the broker's reply makes no sense") from None

    def call_raw(self, frame: bytes) -> bytes:
        """One frame there, one back. Raises Unreachable."""
        socket = self._connected()
        try:
            socket.send(frame)
            return socket.recv()
        except zmq.Again:
            self.close()
            raise Unreachable("the broker does not answer (trailboss start brings it up)") from None

    def _connected(self) -> zmq.Socket[bytes]:
        if self._socket is None:
            path = paths.api_socket(self._runtime or find_runtime())
            address = paths.endpoint(path)
            if not path.exists():
                raise Unreachable("no broker is running (trailboss start brings it up)")
            socket = self._context.socket(zmq.REQ)
            socket.setsockopt(zmq.LINGER, 0)
            socket.setsockopt(zmq.SNDTIMEO, self._timeout)
            socket.setsockopt(zmq.RCVTIMEO, self._timeout)
            socket.connect(address)
            self._socket = socket
        return self._socket


class Changes:
    """Listens to the broker's announcements.

    `fd` can be given to select; `poll` returns the newest announcement or None.
    """

    def __init__(
        self, runtime: Path | None = None, context: zmq.Context[Any] | None = None
    ) -> None:
        self._socket = (context or zmq.Context.instance()).socket(zmq.SUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.SUBSCRIBE, b"queue")
        self._socket.setsockopt(zmq.RECONNECT_IVL, 100)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        self._socket.connect(paths.endpoint(paths.pub_socket(runtime or find_runtime())))

    def close(self) -> None:
        self._socket.close(linger=0)

    @property
    def fd(self) -> int:
        return int(self._socket.getsockopt(zmq.FD))

    def poll(self, timeout_ms: int = 0) -> dict[str, Any] | None:
        """The newest announcement that has come, all older ones dropped; None when none came.

        `{"v", "rev", "depth", "ready", "head", "head_session"}`.
        """
        newest: dict[str, Any] | None = None
        while self._socket.poll(0 if newest else timeout_ms):
            frames = self._socket.recv_multipart()
            if len(frames) == 2:
                try:
                    newest = orjson.loads(frames[1])
                except ValueError:
                    continue
        return newest
