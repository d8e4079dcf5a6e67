"""`load`: sends a seeded stream of events to a broker and says what its queue must hold."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.fake_agent.load_plan import Plan, Waiting, make_plan, truth_of
from tools.fake_agent.session import now_ms

#: ms to let the last frames leave after the run.
LINGER_MS = 10_000
#: Items asked for at once.
PAGE = 500


class Unsendable(Exception):
    """Nothing can be sent; the text says why, and what to do."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="fake_agent load", description=__doc__)
    made.add_argument("--agents", type=int, default=200)
    made.add_argument("--rate", type=_rate, metavar="N[/s]", help="events a second (500; front 20)")
    made.add_argument("--seconds", type=float, default=10.0)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--through-front", action="store_true", help="run trailboss-emit each time")
    made.add_argument("--emit", metavar="PATH", help="trailboss-emit (of the checkout, or in PATH)")
    made.add_argument("--runtime", metavar="DIR", type=Path, help="the broker's runtime dir")
    made.add_argument("--json", action="store_true", help="print all of it as one JSON object")
    made.add_argument(
        "--check", action="store_true", help="compare the queue, exit 1 if it differs"
    )
    made.add_argument("--deadline", type=float, default=30.0, help="seconds the check may take")
    return made


def _rate(text: str) -> float:
    rate = float(text.removesuffix("/s"))
    if not 0 < rate <= 1e6:
        raise ValueError(text)
    return rate


def main(argv: Sequence[str]) -> int:
    """0; 1 when the check found a difference; 3 when there is nobody to send to."""
    options = parser().parse_args(argv)
    rate = options.rate or (20.0 if options.through_front else 500.0)
    if options.agents < 1 or options.seconds <= 0:
        print("fake_agent: --agents and --seconds must be more than 0", file=sys.stderr)
        return 2
    plan = make_plan(
        options.agents,
        rate,
        options.seconds,
        options.seed,
        now_ms(),
        plain=options.through_front,
    )
    began = time.monotonic()
    try:
        if options.through_front:
            from tools.fake_agent.load_front import send_through_front

            truth, sent = send_through_front(plan, options.emit, options.runtime)
        else:
            sent = send(plan, options.runtime)
            truth = plan.truth
    except Unsendable as error:
        print(f"fake_agent: {error}", file=sys.stderr)
        return 3
    took = time.monotonic() - began
    report = summary(options, plan, rate, sent, took, truth)
    if options.check:
        loose = options.through_front
        report["differences"] = check(truth, plan.prefix, options.deadline, options.runtime, loose)
    _print(report, options.json)
    return 1 if report.get("differences") else 0


def summary(
    options: argparse.Namespace,
    plan: Plan,
    rate: float,
    sent: int,
    took: float,
    truth: Sequence[Waiting],
) -> dict[str, Any]:
    """What was sent, and the truth: each item's `session_id`, `since`, `reason`, `message`."""
    return {
        "agents": options.agents,
        "rate": rate,
        "seconds": options.seconds,
        "seed": options.seed,
        "prefix": plan.prefix,
        "frames": sent,
        "events": sum(plan.counts.values()),
        "duplicates": plan.duplicates,
        "late": plan.late,
        "sent": dict(plan.counts),
        "took_s": round(took, 3),
        "per_second": round(sent / took, 1),
        "truth": [item._asdict() for item in truth],
    }


def send(plan: Plan, runtime: Path | None = None) -> int:
    """PUSH the plan's frames at their times; how many. Raises Unsendable.

    Sending never blocks: what a slow broker has not taken yet waits here, for at most LINGER_MS
    after the last.
    """
    import orjson
    import zmq

    from trailboss import client, paths

    path = paths.events_socket(runtime or client.find_runtime())
    if not path.exists():
        raise Unsendable(f"no broker listens at {path} (trailboss start brings it up)")
    context: zmq.Context[Any] = zmq.Context()
    try:
        socket = context.socket(zmq.PUSH)
        socket.setsockopt(zmq.SNDHWM, 0)
        socket.connect(paths.endpoint(path))
        start = time.monotonic()
        for frame in plan.frames:
            ahead = frame.at_ms / 1000 - (time.monotonic() - start)
            if ahead > 0:
                time.sleep(ahead)
            socket.send(orjson.dumps(frame.event))
    finally:
        context.destroy(linger=LINGER_MS)
    return len(plan.frames)


def check(
    truth: Sequence[Waiting],
    prefix: str,
    deadline: float,
    runtime: Path | None = None,
    loose: bool = False,
) -> list[str]:
    """How the broker's queue differs from the truth when `deadline` seconds are over; [] if not.

    Only items whose session id begins with `prefix` are looked at. `loose` takes a message of any
    words, and a `since` up to a second away, as the front stamps its own time.
    """
    from trailboss import client, wire

    end = time.monotonic() + deadline
    found: list[str] = ["the broker was never asked"]
    with client.Client(runtime) as asked:
        while True:
            try:
                found = differences(truth, _queue(asked.call, prefix), loose)
            except (client.Unreachable, wire.ApiError) as error:
                found = [str(error)]
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.1)


def differences(
    truth: Sequence[Waiting], items: Sequence[dict[str, Any]], loose: bool = False
) -> list[str]:
    """How a queue, oldest first, differs from the truth: sentences, at most 20."""
    out = []
    must = {item.session_id: item for item in truth}
    have = {item["session_id"]: item for item in items}
    if len(have) != len(items):
        out.append("a session is listed more than once")
    out += [f"{name} is not in the queue" for name in must if name not in have]
    out += [f"{name} is in the queue and must not be" for name in have if name not in must]
    for name, want in must.items():
        item = have.get(name)
        if item is None:
            continue
        if abs(item["since"] - want.since) > (1000 if loose else 0):
            out.append(f"{name}: since {item['since']}, must be {want.since}")
        if item["reason"] != want.reason:
            out.append(f"{name}: reason {item['reason']}, must be {want.reason}")
        if not loose and item["message"] != want.message:
            out.append(f"{name}: message {item['message']!r}, must be {want.message!r}")
    order = [item["session_id"] for item in items]
    if not out and order != [item.session_id for item in truth]:
        out.append("the order differs")
    return out[:20]


def _queue(call: Callable[..., dict[str, Any]], prefix: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    while True:
        page = call("queue.list", limit=PAGE, offset=len(items))
        items += page["items"]
        if not page["items"] or len(items) >= page["depth"]:
            return [item for item in items if item["session_id"].startswith(prefix)]


def _print(report: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(report))
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report["sent"].items()))
    print(f"sent {report['frames']} frames in {report['took_s']} s ({report['per_second']}/s):")
    print(f"  {kinds}; {report['duplicates']} twice, {report['late']} late")
    print(f"  must be in the queue: {len(report['truth'])}")
    if "differences" in report:
        print("  the queue is as it must be" if not report["differences"] else "  it differs:")
        for line in report["differences"]:
            print(f"    {line}")


__all__ = ["Plan", "Waiting", "check", "differences", "main", "make_plan", "send", "truth_of"]
