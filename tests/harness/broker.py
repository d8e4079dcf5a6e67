"""A real broker of the test's own, and plain ZeroMQ to talk to it."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from typing import Any

import orjson
import zmq

from tests.harness.sandbox import Sandbox
from tests.harness.wait import until
from trailboss import paths
from trailboss.client import Client, Unreachable

_ids = itertools.count()


class BrokerProcess:
    """`trailboss broker` in the sandbox. `start` waits until it answers."""

    def __init__(self, sandbox: Sandbox, **env: str) -> None:
        self.sandbox = sandbox
        self.env = {"TRAILBOSS_RECONCILE_SWEEP_S": "1", **env}
        self.process: subprocess.Popen[bytes] | None = None
        self._push: zmq.Socket[bytes] | None = None
        self._context = zmq.Context()

    def start(self) -> BrokerProcess:
        with open(self.sandbox.root / "broker.stderr", "ab") as stderr:
            self.process = self.sandbox.spawn(
                sys.executable, "-m", "trailboss", "broker", env=self.env, stderr=stderr
            )
        until(self._answers, what=f"the broker answers ({self.sandbox.root})")
        return self

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            log = (self.sandbox.root / "broker.stderr").read_text()
            raise AssertionError(f"the broker ended with {self.process.returncode}: {log}")
        try:
            with Client(self.sandbox.runtime, timeout_ms=500, context=self._context) as client:
                return bool(client.call("ping")["pid"] == self.process.pid)
        except Unreachable:
            return False

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(10)

    def pause(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    def close(self) -> None:
        if self._push is not None:
            self._push.close(linger=0)
        if self.process is not None and self.process.poll() is None:
            self.resume()
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self._context.destroy(linger=0)

    # --- talking to it ------------------------------------------------------------

    def call(self, op: str, **args: Any) -> dict[str, Any]:
        with Client(self.sandbox.runtime, timeout_ms=10_000, context=self._context) as client:
            return client.call(op, **args)

    def raw(self, *frames: bytes) -> bytes:
        """Frames from a DEALER with a REQ's envelope; the reply's last frame."""
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(paths.endpoint(paths.api_socket(self.sandbox.runtime)))
        socket.send_multipart([b"", *frames])
        try:
            assert socket.poll(10_000), "no reply"
            return socket.recv_multipart()[-1]
        finally:
            socket.close()

    def push(self, *frames: bytes) -> None:
        """One message to the events socket."""
        if self._push is None:
            self._push = self._context.socket(zmq.PUSH)
            self._push.setsockopt(zmq.LINGER, 5000)
            self._push.connect(paths.endpoint(paths.events_socket(self.sandbox.runtime)))
        self._push.send_multipart(frames)

    def event(self, kind: str, session: str = "s1", **fields: Any) -> str:
        """PUSH a valid event, stamped now unless told; its id."""
        if kind == "stuck":
            fields = {"reason": "stopped", "message": "done", **fields}
        given = {
            "v": 1, "id": f"t{os.getpid()}-{next(_ids)}", "type": kind, "harness": "claude",
            "session_id": session, "timestamp": time.time_ns() // 1_000_000, **fields,
        }  # fmt: skip
        self.push(orjson.dumps(given))
        return str(given["id"])

    def items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.call("queue.list")["items"]
        return items

    def queue(self) -> list[str]:
        """The session ids, in order."""
        return [item["session_id"] for item in self.items()]

    def wait_queue(self, *sessions: str, seconds: float = 20) -> list[dict[str, Any]]:
        """Until the queue is exactly these sessions in this order; its items."""

        def right() -> list[dict[str, Any]] | bool:
            items = self.items()
            return [i["session_id"] for i in items] == list(sessions) and (items or True)

        found = until(right, seconds, what=f"the queue is {sessions}, not {self.queue()}")
        return found if isinstance(found, list) else []

    @property
    def log(self) -> str:
        try:
            return paths.log_file(self.sandbox.state).read_text()
        except FileNotFoundError:
            return ""
