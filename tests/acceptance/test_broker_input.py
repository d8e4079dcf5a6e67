"""Bad input: everything gets its reply or its line in the log, and the broker goes on."""

from __future__ import annotations

import os
import time

import orjson
import pytest
import zmq

from tests.harness.broker import BrokerProcess
from tests.harness.sandbox import REPO
from tests.harness.wait import until
from trailboss import paths

NOW = time.time_ns() // 1_000_000
GOOD = {
    "v": 1, "id": "x1", "type": "stuck", "harness": "claude", "session_id": "s1",
    "timestamp": NOW, "reason": "stopped", "message": "hi",
}  # fmt: skip


def bad(**changes: object) -> bytes:
    return orjson.dumps({**GOOD, **changes})


BAD_EVENTS = {
    "empty": b"",
    "not json": b"\x00\xff\xfe",
    "half": b'{"v":1,',
    "a list": b"[1]",
    "a number": b"7",
    "deep": b"[" * 100_000,
    "deep object": b'{"detail":' * 5000 + b"1" + b"}" * 5000,
    "large": b'{"message":"' + b"x" * 5_000_000 + b'"}',
    "huge int": bad()[:-1] + b',"tmux_pid":1' + b"0" * 400 + b"}",
    "lone surrogate": bad()[:-1] + rb',"cwd":"\ud800"}',
    "no session": bad(session_id=""),
    "session not text": bad(session_id=5),
    "no id": bad(id=None),
    "other version": bad(v=2),
    "version as text": bad(v="1"),
    "version true": bad(v=True),
    "unknown type": bad(type="explode"),
    "reason": bad(reason="angry"),
    "no message": bad(message=None),
    "timestamp text": bad(timestamp="now"),
    "timestamp float": bad(timestamp=1.5),
    "timestamp negative": bad(timestamp=-1),
    "timestamp true": bad(timestamp=True),
    "pid text": bad(pid="x"),
    "detail list": bad(detail=[1]),
    "pane a number": bad(pane_id=17),
    "truncated text": bad(truncated="yes"),
}  # fmt: skip


def test_events(broker: BrokerProcess) -> None:
    for frame in BAD_EVENTS.values():
        broker.push(frame)
    broker.push(b"", b"")
    broker.push(bad(), b"second frame")
    broker.event("stuck", "good")
    broker.wait_queue("good")
    counted = broker.call("status")["events"]
    assert counted["rejected"] == len(BAD_EVENTS) + 2
    assert counted["received"] == len(BAD_EVENTS) + 3
    assert broker.log.count("event set aside") == counted["rejected"]


def test_events_that_look_bad_and_are_taken(broker: BrokerProcess) -> None:
    broker.push(bad(id="a", session_id="nul", message="a\x00b", unknown={"x": 1}))
    broker.push(bad(id="b", session_id="long", message="é" * 100_000, timestamp=NOW + 1))
    broker.push(bad(id="c", session_id="pane", pane_id="%x; kill-server", timestamp=NOW + 2))
    broker.push(bad(id="d", session_id="big", detail={"a": "x" * 700_000}, timestamp=NOW + 3))
    nul, long, pane, big = broker.wait_queue("nul", "long", "pane", "big")
    assert nul["message"] == "a�b"
    assert len(long["message"].encode()) <= 64 * 1024
    assert set(long["message"]) == {"é"}
    assert pane["pane_id"] is None
    assert len(orjson.dumps(big["detail"])) <= 256 * 1024


BAD_REQUESTS = {
    "empty": (b"", "bad_request"),
    "not json": (b"\xff", "bad_request"),
    "a list": (b"[]", "bad_request"),
    "deep": (b"[" * 100_000, "bad_request"),
    "no version": (b'{"op":"ping"}', "bad_request"),
    "version text": (b'{"v":"1","op":"ping"}', "bad_request"),
    "version true": (b'{"v":true,"op":"ping"}', "bad_request"),
    "version 2": (b'{"v":2,"op":"ping"}', "unsupported_version"),
    "no op": (b'{"v":1}', "bad_request"),
    "op a number": (b'{"v":1,"op":3}', "bad_request"),
    "unknown op": (b'{"v":1,"op":"queue.explode"}', "unknown_op"),
    "not specified yet": (b'{"v":1,"op":"stats.summary"}', "unknown_op"),
    "args a list": (b'{"v":1,"op":"ping","args":[]}', "bad_request"),
    "large": (b'{"v":1,"op":"' + b"x" * 2_000_000 + b'"}', "bad_request"),
    "surrogate": (rb'{"v":1,"op":"\ud800"}', "bad_request"),
    "no such session": (b'{"v":1,"op":"session.get","args":{"session_id":"nobody"}}', "not_found"),
    "session a number": (b'{"v":1,"op":"session.get","args":{"session_id":5}}', "bad_request"),
    "skip nobody": (b'{"v":1,"op":"queue.skip","args":{"session_id":"nobody"}}', "not_found"),
    "limit text": (b'{"v":1,"op":"queue.list","args":{"limit":"x"}}', "bad_request"),
    "limit negative": (b'{"v":1,"op":"queue.list","args":{"limit":-1}}', "bad_request"),
    "snooze text": (
        b'{"v":1,"op":"queue.snooze","args":{"session_id":"s1","for_s":"x"}}', "bad_request"),
    "snooze huge": (
        b'{"v":1,"op":"queue.snooze","args":{"session_id":"s1","for_s":1e300}}', "bad_request"),
    "snooze nothing": (b'{"v":1,"op":"queue.snooze","args":{"session_id":"s1"}}', "bad_request"),
}  # fmt: skip


def test_requests(broker: BrokerProcess) -> None:
    broker.event("stuck", "s1")
    broker.wait_queue("s1")
    for name, (frame, code) in BAD_REQUESTS.items():
        reply = orjson.loads(broker.raw(frame))
        assert (reply["v"], reply["ok"], reply["error"]["code"]) == (1, False, code), name
        assert reply["error"]["message"], name
    assert orjson.loads(broker.raw(b'{"v":1,"op":"ping"}', b"more"))["ok"] is False
    assert broker.queue() == ["s1"]


def test_a_client_that_never_reads(broker: BrokerProcess) -> None:
    context = zmq.Context()
    deaf = context.socket(zmq.DEALER)
    deaf.setsockopt(zmq.RCVHWM, 1)
    deaf.setsockopt(zmq.LINGER, 0)
    deaf.connect(paths.endpoint(paths.api_socket(broker.sandbox.runtime)))
    for n in range(50):
        broker.event("stuck", f"s{n}", message="x" * 10_000)
    for _ in range(300):
        deaf.send_multipart([b"", b'{"v":1,"op":"queue.list"}'])
    assert len(until(lambda: broker.queue() or [])) > 0
    deaf.close()
    context.destroy(linger=0)


@pytest.mark.parametrize("frames", [[b"x"], [b"", b"", b"", b""], [b"a", b"b", b"c"]])
def test_envelopes_of_any_shape(broker: BrokerProcess, frames: list[bytes]) -> None:
    context = zmq.Context()
    odd = context.socket(zmq.DEALER)
    odd.setsockopt(zmq.LINGER, 0)
    odd.connect(paths.endpoint(paths.api_socket(broker.sandbox.runtime)))
    odd.send_multipart(frames)
    assert odd.poll(10_000)
    assert orjson.loads(odd.recv_multipart()[-1])["error"]["code"] == "bad_request"
    odd.close()
    context.destroy(linger=0)
    assert broker.call("ping")["pid"]


def test_private(broker: BrokerProcess) -> None:
    """Case B52."""
    box = broker.sandbox
    broker.event("stuck", "s1")
    broker.wait_queue("s1")
    until(lambda: paths.database(box.state).exists())
    for directory in (box.runtime, box.state):
        assert os.stat(directory).st_mode & 0o777 == 0o700
    for path in [*box.runtime.iterdir(), *(p for p in box.state.rglob("*") if p.is_file())]:
        assert os.stat(path).st_mode & 0o077 == 0, path


def test_what_a_hook_made_is_checked_like_any_event(broker: BrokerProcess) -> None:
    """A payload without a session, and a pane that is none, by the journal's way in."""
    emit = str(REPO / "bin" / "trailboss-emit")
    leaked = {"TMUX": "/tmp/x,1,0", "TMUX_PANE": "%1; kill-server"}
    nobody = {"hook_event_name": "Stop", "last_assistant_message": "x"}
    broker.sandbox.run(emit, "--event", "Stop", env=leaked, input=orjson.dumps(nobody))
    known = {**nobody, "session_id": "s1"}
    broker.sandbox.run(emit, "--event", "Stop", env=leaked, input=orjson.dumps(known))
    (item,) = broker.wait_queue("s1")
    assert item["pane_id"] is None
    until(lambda: broker.call("status")["events"]["rejected"] == 1, what="set aside and counted")
    assert "no session_id" in broker.log
