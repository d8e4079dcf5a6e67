"""The load generator: reproducible, valid, and its truth is that of the queue's rules."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import zmq

from tests.harness.sandbox import Sandbox
from tools.fake_agent import load, load_front
from tools.fake_agent.load_plan import Waiting, fold_by_arrival, fold_by_time, make_plan
from trailboss import paths, wire
from trailboss.events import Event

START = 1_800_000_000_000


def simple_queue(events: list[dict[str, Any]]) -> list[Waiting]:
    """The contract's rules 1–3 for events alone, in their order of arrival."""
    waiting: dict[str, Waiting] = {}
    newest: dict[str, int] = {}
    seen: set[str] = set()
    for event in events:
        name, at = event["session_id"], event["timestamp"]
        if event["id"] in seen or at < newest.get(name, 0):
            continue
        seen.add(event["id"])
        newest[name] = at
        if event["type"] == "stuck":
            since = waiting[name].since if name in waiting else at
            waiting[name] = Waiting(name, since, event["reason"], event["message"])
        elif event["type"] in ("unstuck", "ended"):
            waiting.pop(name, None)
    return sorted(waiting.values(), key=lambda item: item.since)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rate", [40, 500, 4000])
def test_truth_is_what_a_simple_queue_holds(seed: int, rate: float) -> None:
    plan = make_plan(60, rate, 2, seed, START)
    assert plan.truth == simple_queue([sent.event for sent in plan.frames])
    assert plan.truth


def test_the_same_seed_gives_the_same_stream() -> None:
    first, again, other = (make_plan(200, 500, 10, seed, START) for seed in (1, 1, 2))
    assert first == again
    assert first.frames != other.frames
    assert len(first.frames) == 5000 + first.duplicates
    assert first.duplicates > 20
    assert first.late > 20
    assert set(first.counts) == {"registered", "stuck", "unstuck", "ended"}


def test_another_start_only_moves_the_stream() -> None:
    first, later = make_plan(9, 50, 2, 3, START), make_plan(9, 50, 2, 3, START + 7000)
    moved = [item.since - 7000 for item in later.truth]
    assert [item.since for item in first.truth] == moved
    assert first.prefix != later.prefix


@pytest.mark.parametrize("rate", [100, 5000])
def test_events_are_valid_and_their_times_unique_and_never_ahead(rate: float) -> None:
    plan = make_plan(20, rate, 1, 1, START)
    once = {sent.event["id"]: sent for sent in plan.frames}
    for sent in once.values():
        assert Event.from_wire(orjson.dumps(sent.event)).session_id == sent.event["session_id"]
        assert sent.event["timestamp"] <= START + sent.at_ms + 1e-6
    assert len({sent.event["timestamp"] for sent in once.values()}) == len(once) == rate


def test_late_events_are_harmless_whether_dropped_or_sorted() -> None:
    plan = make_plan(40, 500, 4, 5, START)
    by_session: dict[str, list[dict[str, Any]]] = {}
    for sent in plan.frames:
        by_session.setdefault(sent.event["session_id"], []).append(sent.event)
    assert plan.late
    for events in by_session.values():
        assert fold_by_arrival(events) == fold_by_time(events)


def test_a_plain_stream_has_neither_twins_nor_late_ones_nor_repeats() -> None:
    plan = make_plan(10, 100, 3, 1, START, plain=True)
    assert (plan.late, plan.duplicates) == (0, 0)
    stuck: set[str] = set()
    for event in (sent.event for sent in plan.frames):
        if event["type"] == "stuck":
            assert event["session_id"] not in stuck
            stuck.add(event["session_id"])
        elif event["type"] != "registered":
            stuck.discard(event["session_id"])


def test_differences_name_what_is_wrong() -> None:
    truth = [Waiting("a", 1, "stopped", "x"), Waiting("b", 2, "permission", "y")]
    items = [item._asdict() for item in truth]
    assert load.differences(truth, items) == []
    assert load.differences(truth, items[::-1]) == ["the order differs"]
    assert load.differences(truth, items[:1]) == ["b is not in the queue"]
    assert "listed more than once" in load.differences(truth, [*items, items[0]])[0]
    extra = {**items[0], "session_id": "c"}
    assert load.differences(truth, [*items, extra]) == ["c is in the queue and must not be"]
    wrong = [{**items[0], "since": 500, "reason": "permission", "message": "z"}, items[1]]
    assert len(load.differences(truth, wrong)) == 3
    assert len(load.differences(truth, wrong, loose=True)) == 1


def test_front_payloads_pair_a_permission_with_its_answer() -> None:
    plan = make_plan(5, 100, 3, 2, START, plain=True)
    commands: dict[str, str] = {}
    open_calls: dict[str, Any] = {}
    seen = set()
    for sent in plan.frames:
        made = load_front.as_payload(sent.event, commands)
        name, session = made["hook_event_name"], made["session_id"]
        seen.add(name)
        if name == "PermissionRequest":
            open_calls[session] = made["tool_input"]
        elif name == "PostToolUse":
            assert made["tool_input"] == open_calls.pop(session)
    assert seen >= {"SessionStart", "PermissionRequest", "PostToolUse", "Stop", "UserPromptSubmit"}


@pytest.fixture
def runtime(sandbox: Sandbox) -> Path:
    sandbox.runtime.mkdir(mode=0o700)
    return sandbox.runtime


@pytest.fixture
def collector(runtime: Path) -> Iterator[zmq.Socket[bytes]]:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    pull = context.socket(zmq.PULL)
    pull.setsockopt(zmq.RCVTIMEO, 20_000)
    pull.bind(paths.endpoint(paths.events_socket(runtime)))
    yield pull
    context.destroy(linger=0)


def _run(sandbox: Sandbox, *argv: str) -> subprocess.CompletedProcess[bytes]:
    return sandbox.run(sys.executable, "-m", "tools.fake_agent", *argv, timeout=60)


def test_the_issues_spelling_sends_what_it_says(
    sandbox: Sandbox, collector: zmq.Socket[bytes]
) -> None:
    options = ["--agents", "20", "--rate", "200/s", "--seconds", "1", "--seed", "4", "--json"]
    done = _run(sandbox, *options)
    assert done.returncode == 0, done.stderr
    report = orjson.loads(done.stdout)
    events = [orjson.loads(collector.recv()) for _ in range(report["frames"])]
    assert len({event["id"] for event in events}) == report["events"] == 200
    truth = [Waiting(**item) for item in report["truth"]]
    assert simple_queue(events) == truth
    assert sum(report["sent"].values()) == 200


def test_no_broker_is_said_in_one_line(sandbox: Sandbox) -> None:
    done = _run(sandbox, "load", "--agents", "1", "--seconds", "0.1")
    assert done.returncode == 3
    assert re.fullmatch(rb"fake_agent: no broker listens at .*\n", done.stderr)


@pytest.mark.parametrize("spoil", [False, True])
def test_check_compares_the_queue_page_by_page(
    runtime: Path, spoil: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "PAGE", 7)
    plan = make_plan(60, 200, 1, 6, START)
    assert len(plan.truth) > load.PAGE
    items = [item._asdict() for item in plan.truth]
    items.insert(3, {**items[0], "session_id": "somebody-else"})
    if spoil:
        del items[5]
    stop = threading.Event()
    thread = threading.Thread(target=_answer_lists, args=(runtime, items, stop))
    thread.start()
    try:
        found = load.check(plan.truth, plan.prefix, 0.3 if spoil else 20, runtime)
    finally:
        stop.set()
        thread.join(20)
    assert bool(found) is spoil


def _answer_lists(runtime: Path, items: list[dict[str, Any]], stop: threading.Event) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.bind(paths.endpoint(paths.api_socket(runtime)))
    while not stop.is_set():
        if router.poll(50):
            *envelope, frame = router.recv_multipart()
            _, args = wire.read_request(frame)
            page = items[args["offset"] : args["offset"] + args["limit"]]
            router.send_multipart([*envelope, wire.ok({"items": page, "depth": len(items)})])
    context.destroy(linger=0)
