"""Plays a captured scenario of the real CLI through adapter and core, without any process.

`tests/data/captures/claude-<version>.jsonl` holds the hooks, status files, transcript lines and
actions of every scenario, in the order in which they happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from trailboss.adapters import Ancestor, Payload, claude_registry, find
from trailboss.adapters.claude_registry import Status
from trailboss.adapters.claude_transcript import Reader
from trailboss.core.board import Board, Session
from trailboss.core.claims import Claim

DATA = Path(__file__).parents[1] / "data" / "captures"


@cache
def scenarios(version: str) -> dict[str, list[dict[str, Any]]]:
    """The lines of each scenario of that version."""
    found: dict[str, list[dict[str, Any]]] = {}
    with open(DATA / f"claude-{version}.jsonl", "rb") as file:
        for line in file:
            entry = orjson.loads(line)
            found.setdefault(entry["case"], []).append(entry)
    return found


class Replay:
    """One scenario on a board of its own. Without `hooks`, `registry` or `transcript` that
    source is not heard; `drop` leaves out the hooks of these names."""

    def __init__(
        self,
        version: str,
        case: str,
        *,
        hooks: bool = True,
        registry: bool = True,
        transcript: bool = True,
        drop: frozenset[str] = frozenset(),
    ) -> None:
        self.entries = scenarios(version)[case]
        self.case = case
        self.board = Board()
        self._hooks, self._registry, self._transcript = hooks, registry, transcript
        self._drop = drop
        self._live: dict[str, Status] = {}
        self._readers: dict[str, Reader] = {}

    def run(self) -> Iterator[tuple[int, str, list[Session]]]:
        """After each line: its time, what it was (an action as `>> …`), and the queue."""
        for number, entry in enumerate(self.entries):
            now = entry["t"]
            if "do" in entry:
                yield now, f">> {entry['do']}", self.board.queue(now)
                continue
            label = self._take(number, entry, now)
            self._look_again(now)
            yield now, label, self.board.queue(now)

    def _take(self, number: int, entry: dict[str, Any], now: int) -> str:
        if "hook" in entry:
            if self._hooks and entry["hook"] not in self._drop:
                self._hook(number, entry, now)
            return str(entry["hook"])
        if "registry" in entry:
            if self._registry:
                self._status(entry, now)
            return "registry"
        if self._transcript:
            line = entry["transcript"]
            reader = self._readers.setdefault(line["sessionId"], Reader())
            for claim in reader.feed([orjson.dumps(line)]):
                self.board.claim(line["sessionId"], claim, now)
        return "transcript"

    def _hook(self, number: int, entry: dict[str, Any], now: int) -> None:
        payload = Payload(
            name=f"{self.case}-{number}",
            harness="claude",
            timestamp=now,
            data=entry["stdin"],
            event=entry["hook"],
            env=entry["env"],
            ancestors=[Ancestor(pid, 1, comm) for pid, comm in entry["chain"]],
        )
        adapter = find("claude")
        assert adapter is not None
        for event in adapter.events(payload):
            self.board.apply(event, now)

    def _status(self, entry: dict[str, Any], now: int) -> None:
        if entry["content"] is None:
            gone = self._live.pop(entry["registry"], None)
            for session in list(self.board.sessions.values()):
                if gone is not None and session.session_id == gone.session_id:
                    claim = Claim(source="process", at=now, says="gone")
                    self.board.claim(session.session_id, claim, now)
            return
        status = claude_registry.read(orjson.dumps(entry["content"]))
        assert status is not None
        self._live[entry["registry"]] = status

    def _look_again(self, now: int) -> None:
        """What the broker's looks at the live status files would say at this moment."""
        for status in self._live.values():
            if not status.is_session or status.status is None or status.parked_job_id:
                continue
            if status.session_id not in self.board.sessions:
                self.board.put(Session(session_id=status.session_id, harness="claude"))
            claim = claude_registry.claim(status, now)
            if claim is not None:
                self.board.claim(status.session_id, claim, now)


def story(replay: Replay, settle: int = 500) -> list[str]:
    """What a person would have seen: the queue's reasons before each action and at each change
    that lasted longer than `settle` ms, repetitions left out; `-` when it was empty."""
    states: list[tuple[int, str]] = []
    end = 0
    for now, label, queue in replay.run():
        end = now
        shown = "+".join(sorted(str(s.verdict.reason) for s in queue)) or "-"
        if label.startswith(">> end of scenario"):
            break
        if not states or states[-1][1] != shown:
            states.append((now, shown))
    out: list[str] = []
    for (begun, shown), (until, _) in zip(states, [*states[1:], (end + settle, "")], strict=True):
        if until - begun >= settle and (not out or out[-1] != shown):
            out.append(shown)
    return out
