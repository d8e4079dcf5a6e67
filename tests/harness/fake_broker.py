"""A broker of the screens' tests: real sockets, a list that the test writes.

It answers what the screens ask and announces what the test changes, so that a screen can be put
into any state (a thousand items, a message that nobody should have to see, silence) without an
agent. What the true broker does is tested with the true broker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

import orjson
import zmq

from tests.harness.sandbox import Sandbox
from trailboss import paths, wire


def item(session_id: str, **fields: Any) -> dict[str, Any]:
    """An item of the API with every field, ready unless said otherwise."""
    return {
        "session_id": session_id,
        "harness": "claude",
        "reason": "stopped",
        "message": f"message of {session_id}",
        "detail": {},
        "cause": "Stop",
        "pane_id": None,
        "tmux_socket": None,
        "target": None,
        "cwd": f"/home/dev/{session_id}",
        "transcript_path": None,
        "title": None,
        "since": time.time_ns() // 1_000_000 - 60_000,
        "stuck_ms": 60_000,
        "ready": True,
        "cooldown_until": None,
        "snoozed_until": None,
        "skips": 0,
        "position": None,
        "source": "hook",
        "host": "local",
        "note": None,
        **fields,
    }


class FakeBroker:
    """Serves the sandbox's runtime dir from a thread; `put` changes the list and announces it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.runtime = sandbox.runtime
        self.items: list[dict[str, Any]] = []
        self.rev = 1
        #: Every request that came, as (op, args).
        self.seen: list[tuple[str, dict[str, Any]]] = []
        #: Announce changes; off, the screens must find out by asking.
        self.announce = True
        #: Answer requests; off, the broker hangs.
        self.answer = True
        self._lock = threading.Lock()
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self.start()

    def start(self) -> None:
        paths.ensure_private(self.runtime)
        self._ending.clear()
        self._context = zmq.Context()
        router = self._context.socket(zmq.ROUTER)
        self._pub = self._context.socket(zmq.PUB)
        for socket, path in (
            (router, paths.api_socket(self.runtime)),
            (self._pub, paths.pub_socket(self.runtime)),
        ):
            path.unlink(missing_ok=True)
            socket.setsockopt(zmq.LINGER, 0)
            socket.bind(paths.endpoint(path))
        self._thread = threading.Thread(target=self._serve, args=(router,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it as a broker ends: its sockets are gone."""
        if self._thread is None or self._context is None:
            return
        self._ending.set()
        self._thread.join(10)
        self._thread = None
        self._context.term()
        for path in (paths.api_socket(self.runtime), paths.pub_socket(self.runtime)):
            path.unlink(missing_ok=True)

    def put(self, items: Iterable[dict[str, Any]]) -> None:
        """The queue is now this."""
        with self._lock:
            self.items = list(items)
            self.rev += 1

    def asked(self, op: str) -> list[dict[str, Any]]:
        """The arguments of every request of that name."""
        return [args for name, args in self.seen if name == op]

    def _serve(self, router: zmq.Socket[bytes]) -> None:
        announced = self.rev
        while not self._ending.is_set():
            if self.announce and announced != self.rev:
                announced = self.rev
                self._publish()
            if not self.answer or not router.poll(10):
                self._ending.wait(0 if self.answer else 0.01)
                continue
            identity, _, frame = router.recv_multipart()
            op, args = wire.read_request(frame)
            self.seen.append((op, args))
            try:
                reply = wire.ok(self._do(op, args))
            except wire.ApiError as error:
                reply = wire.error(error.code, error.message)
            router.send_multipart([identity, b"", reply])
        router.close(linger=0)
        self._pub.close(linger=0)

    def _publish(self) -> None:
        ready = [one for one in self.items if one["ready"]]
        head = ready[0] if ready else {"pane_id": None, "session_id": None}
        news = {
            "v": 1,
            "rev": self.rev,
            "depth": len(self.items),
            "ready": len(ready),
            "head": head["pane_id"],
            "head_session": head["session_id"],
        }
        self._pub.send_multipart([b"queue", orjson.dumps(news)])

    def _do(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            ready = [one for one in self.items if one["ready"]]
            if op == "ping":
                return {"pid": 1, "version": "fake"}
            if op == "queue.list":
                return {
                    "items": self.items,
                    "depth": len(self.items),
                    "ready": len(ready),
                    "rev": self.rev,
                }
            if op == "reconcile.run":
                return {"checked": len(self.items), "enqueued": 0, "dequeued": 0}
            if op == "queue.skip":
                return self._skip(args.get("session_id"), ready)
        raise wire.ApiError(wire.UNKNOWN_OP, f"no operation {op}")

    def _skip(self, session: str | None, ready: list[dict[str, Any]]) -> dict[str, Any]:
        found = [one for one in ready if session in (None, one["session_id"])]
        if not found:
            return {"skipped": None, "item": None}
        until = time.time_ns() // 1_000_000 + 60_000
        rest = [one for one in self.items if one is not found[0]]
        self.items = [*rest, {**found[0], "ready": False, "cooldown_until": until}]
        self.rev += 1
        return {"skipped": found[0]["session_id"], "item": None}
