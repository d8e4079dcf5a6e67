"""A Messages API on loopback that plays scripts (see script.py), for a real CLI without account.

    python -m tests.real.fake_model --log FILE [--raise-loopback]

Prints its address as its first line, then serves until it is ended. The log has one JSON object
a line for each request: `at` (ms), `method`, `path`, and for messages `marker` and `step`. It is
also the CLI's proxy, which refuses everything: a CONNECT in the log is an attempt to get out.
"""

from __future__ import annotations

import argparse
import fcntl
import itertools
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.real.script import Act, Call, Cue, Refuse, Say, Silence, cue

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_number = itertools.count(1)


class FakeModel(ThreadingHTTPServer):
    """The server; `note` writes its log."""

    daemon_threads = True

    def __init__(self, log: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._log = log.open("a", buffering=1)
        self._lock = threading.Lock()

    def note(self, **facts: Any) -> None:
        with self._lock:
            self._log.write(json.dumps({"at": time.time_ns() // 1_000_000, **facts}) + "\n")


class _Handler(BaseHTTPRequestHandler):
    server: FakeModel
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._elsewhere(200)

    def do_GET(self) -> None:
        self._elsewhere(404)

    def do_CONNECT(self) -> None:
        self._elsewhere(403)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            return self._json(200, {"input_tokens": len(body) // 4 + 1})
        if path != "/v1/messages":
            return self._elsewhere(404)
        request = json.loads(body)
        playing = cue(request)
        self.server.note(method="POST", path=self.path, marker=playing.marker, step=playing.step)
        try:
            self._play(request, playing)
        except ConnectionError:
            # The person interrupted: the CLI hangs up in mid-answer.
            self.close_connection = True

    def _elsewhere(self, status: int) -> None:
        self.server.note(method=self.command, path=self.path)
        self._json(status, _error("not_found_error", "only messages are played here"))

    def _play(self, request: dict[str, Any], playing: Cue) -> None:
        acts: list[Act] = []
        for act in playing.turn:
            if isinstance(act, Silence):
                time.sleep(act.seconds)
            elif isinstance(act, Refuse):
                kind = _KINDS.get(act.status, "api_error")
                return self._json(act.status, _error(kind, f"scripted error {act.status}"))
            else:
                acts.append(act)
        if request.get("stream"):
            self._stream(request, acts)
        else:
            content = [_block(act) for act in acts]
            self._json(200, {**_message(request, content), "stop_reason": _stop_reason(acts)})

    def _stream(self, request: dict[str, Any], acts: Sequence[Act]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        self._event("message_start", message=_message(request, []))
        verdicts = {}
        for index, act in enumerate(acts):
            block = _block(act)
            if isinstance(act, Call):
                if act.verdict:
                    verdicts[block["id"]] = _verdict(act.verdict)
                self._event(
                    "content_block_start", index=index, content_block={**block, "input": {}}
                )
                partial = {"type": "input_json_delta", "partial_json": json.dumps(act.input)}
                self._event("content_block_delta", index=index, delta=partial)
            elif isinstance(act, Say):
                empty = {"type": "text", "text": ""}
                self._event("content_block_start", index=index, content_block=empty)
                self._words(index, act)
            self._event("content_block_stop", index=index)
        ending: dict[str, Any] = {"stop_reason": _stop_reason(acts), "stop_sequence": None}
        if request.get("safeguards") and verdicts:
            available = {"type": "available", "tool_uses": verdicts}
            ending["safeguard_results"] = [{"type": "dangerous_tool_use", "status": available}]
        self._event("message_delta", delta=ending, usage={"output_tokens": 20})
        self._event("message_stop")

    def _words(self, index: int, act: Say) -> None:
        words = re.findall(r"\S+\s*", act.words)
        for word in words:
            delta = {"type": "text_delta", "text": word}
            self._event("content_block_delta", index=index, delta=delta)
            time.sleep(act.seconds / len(words))

    def _event(self, kind: str, **fields: Any) -> None:
        data = json.dumps({"type": kind, **fields})
        self.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())
        self.wfile.flush()

    def _json(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _verdict(outcome: str) -> dict[str, str]:
    """Auto mode of newer CLIs has the server judge each call, within the answer itself."""
    return {"type": "evaluated", "outcome": outcome, "explanation": f"scripted: {outcome}"}


def _message(request: dict[str, Any], content: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"msg_{next(_number):024}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "fake"),
        "content": content,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 1},
    }


def _block(act: Act) -> dict[str, Any]:
    if isinstance(act, Call):
        name = f"toolu_{next(_number):024}"
        return {"type": "tool_use", "id": name, "name": act.tool, "input": act.input}
    return {"type": "text", "text": act.words if isinstance(act, Say) else ""}


def _stop_reason(acts: Sequence[Act]) -> str:
    return "tool_use" if any(isinstance(act, Call) for act in acts) else "end_turn"


def raise_loopback() -> None:
    """Bring `lo` up: in a network namespace of one's own it starts down."""
    SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--raise-loopback", action="store_true")
    options = parser.parse_args()
    if options.raise_loopback:
        raise_loopback()
    server = FakeModel(options.log)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
