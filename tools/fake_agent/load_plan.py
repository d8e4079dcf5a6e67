"""A seeded stream of events over many agents, and what the queue must hold after it.

Pure: the same arguments give the same stream, and nothing here looks at a clock.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

#: What may follow in a session's life, with weights: (type, reason).
_NEXT: dict[str, tuple[tuple[str, str | None, int], ...]] = {
    "new": (("registered", None, 1),),
    "going": (
        ("stuck", "permission", 5),
        ("stuck", "stopped", 4),
        ("unstuck", None, 2),
        ("registered", None, 1),
        ("ended", None, 1),
    ),
    "stuck": (
        ("unstuck", None, 8),
        ("stuck", "permission", 1),
        ("stuck", "stopped", 2),
        ("registered", None, 1),
        ("ended", None, 1),
    ),
    "ended": (("stuck", "stopped", 1), ("registered", None, 2)),
}
_AFTER = {"stuck": "stuck", "unstuck": "going", "ended": "ended"}
#: Shares of the frames that are sent a second time, and of the events that arrive out of order.
DUPLICATES = 0.02
LATE = 0.04
#: The causes as the hooks name them.
_CAUSES = {
    ("stuck", "permission"): "PermissionRequest",
    ("stuck", "stopped"): "Stop",
    ("unstuck", None): "UserPromptSubmit",
    ("registered", None): "SessionStart",
    ("ended", None): "SessionEnd",
}
_COMMANDS = ("make test", "rm -rf build", "git push", "curl localhost", "touch made", "pytest -x")
_WORDS = ("The tests pass.", "Which way, fast or safe?", "All done.", "I need the file's name.")


@dataclass(frozen=True, slots=True)
class Sent:
    """One frame: when it goes out (ms after the start) and the event it carries."""

    at_ms: float
    event: dict[str, Any]


class Waiting(NamedTuple):
    """An item the queue must hold; `since` in Unix ms."""

    session_id: str
    since: int
    reason: str
    message: str


@dataclass(slots=True)
class Plan:
    """The frames in the order they are sent, and the queue after them, oldest first."""

    frames: list[Sent]
    truth: list[Waiting]
    duplicates: int = 0
    late: int = 0
    prefix: str = ""
    counts: Counter[str] = field(default_factory=Counter)


def make_plan(
    agents: int,
    rate: float,
    seconds: float,
    seed: int,
    start_ms: int,
    *,
    harness: str = "claude",
    plain: bool = False,
) -> Plan:
    """The stream of one run that begins at Unix ms `start_ms`.

    `rate` events a second over `agents` sessions, some sent twice (same id) and some after their
    successor; `plain` has neither, and no second `stuck` of a session that waits. Timestamps are
    unique over the run and never later than their sending, so that the order of the queue is
    decided. Session ids hold seed and start, so that runs do not mix.

    An event is late only where it makes no difference whether a broker drops what is older than
    the session's newest event or sorts by time: that is left to its design.
    """
    rng = random.Random(f"{seed}/{agents}/{rate}/{seconds}/{plain}")
    total = max(1, round(rate * seconds))
    prefix = f"load-{seed}-{start_ms:x}-"
    names = [f"{prefix}{number:04d}" for number in range(agents)]
    states = dict.fromkeys(names, "new")
    rng.shuffle(names)
    frames = []
    for number in range(total):
        name = names[number] if number < len(names) else rng.choice(names)
        kind, reason = _pick(rng, states[name], plain)
        if kind != "registered":
            states[name] = _AFTER[kind]
        elif states[name] != "stuck":
            states[name] = "going"
        stamp = start_ms + _offset(number, total, rate, seconds)
        event = _event(rng, f"{prefix}e{number}", name, kind, reason, stamp, harness)
        frames.append(Sent(number * 1000.0 / rate, event))
    late = 0
    if not plain:
        frames, late = _delay_some(rng, frames)
    twice = [
        replace(sent, at_ms=sent.at_ms + rng.uniform(0, 200))
        for sent in frames
        if not plain and rng.random() < DUPLICATES
    ]
    return Plan(
        frames=sorted([*frames, *twice], key=lambda sent: sent.at_ms),
        truth=truth_of([sent.event for sent in frames]),
        duplicates=len(twice),
        late=late,
        prefix=prefix,
        counts=Counter(sent.event["type"] for sent in frames),
    )


def fold_by_arrival(events: Sequence[dict[str, Any]]) -> Waiting | None:
    """One session's item after its events in this order, what is older than the newest dropped."""
    item: Waiting | None = None
    newest = 0
    for event in events:
        if event["timestamp"] < newest:
            continue
        newest = event["timestamp"]
        item = _step(item, event)
    return item


def fold_by_time(events: Sequence[dict[str, Any]]) -> Waiting | None:
    """One session's item after its events in the order in which they happened."""
    item: Waiting | None = None
    for event in sorted(events, key=lambda event: int(event["timestamp"])):
        item = _step(item, event)
    return item


def truth_of(events: Sequence[dict[str, Any]]) -> list[Waiting]:
    """The queue after these events in order of arrival, oldest first."""
    by_session: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        by_session.setdefault(event["session_id"], []).append(event)
    items = [fold_by_arrival(own) for own in by_session.values()]
    return sorted((item for item in items if item), key=lambda item: item.since)


def _step(item: Waiting | None, event: dict[str, Any]) -> Waiting | None:
    if event["type"] == "registered":
        return item
    if event["type"] != "stuck":
        return None
    since = item.since if item else event["timestamp"]
    return Waiting(event["session_id"], since, event["reason"], event["message"])


def _pick(rng: random.Random, state: str, plain: bool) -> tuple[str, str | None]:
    choices = _NEXT[state]
    if plain and state == "stuck":
        choices = tuple(choice for choice in choices if choice[0] != "stuck")
    kind, reason, _ = rng.choices(choices, [weight for *_, weight in choices])[0]
    return kind, reason


def _offset(number: int, total: int, rate: float, seconds: float) -> int:
    """ms after the start, one of its own for each event: above 1000/s the early ones lie before."""
    if rate <= 1000:
        return int(number * 1000.0 / rate)
    return int(seconds * 1000) - (total - number)


def _event(
    rng: random.Random,
    event_id: str,
    session_id: str,
    kind: str,
    reason: str | None,
    timestamp: int,
    harness: str,
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "v": 1,
        "id": event_id,
        "type": kind,
        "harness": harness,
        "session_id": session_id,
        "timestamp": timestamp,
        "cause": _CAUSES[kind, reason],
        "cwd": f"/home/dev/{session_id[-4:]}",
    }
    if kind == "stuck":
        event["reason"] = reason
        words = _COMMANDS if reason == "permission" else _WORDS
        event["message"] = rng.choice(words)
        if reason == "permission":
            tool = {"command": event["message"]}
            event["detail"] = {"tool_name": "Bash", "tool_input": tool}
            event["message"] = f"Bash: {event['message']}"
    return event


def _delay_some(rng: random.Random, frames: list[Sent]) -> tuple[list[Sent], int]:
    """Some events sent just after their session's next one, where that is harmless; how many."""
    own: dict[str, list[int]] = {}
    for place, sent in enumerate(frames):
        own.setdefault(sent.event["session_id"], []).append(place)
    frames, late = list(frames), 0
    for places in own.values():
        for first, second in itertools.pairwise(places):
            if rng.random() >= LATE:
                continue
            kept = frames[first]
            frames[first] = replace(kept, at_ms=frames[second].at_ms + 0.01)
            mine = sorted((frames[place] for place in places), key=lambda sent: sent.at_ms)
            events = [sent.event for sent in mine]
            if fold_by_arrival(events) == fold_by_time(events):
                late += 1
            else:
                frames[first] = kept
    return sorted(frames, key=lambda sent: sent.at_ms), late
