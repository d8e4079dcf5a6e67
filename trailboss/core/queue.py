"""The queue: who is in it, in which order, who is the head (contract, section 3).

Pure functions over an item's `Entry`. Times are Unix ms. FIFO by the moment of getting stuck;
the reason is never a priority.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from trailboss.core.verdict import Verdict

Standing = Literal["ready", "cooling", "snoozed"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A session's place in the queue.

    `since`: stuck at, never changed while it waits. `place`: what the order is by; the moment of
    the last skip, else `since`. `grace`: the cooldown is a grace for background tasks, which
    keeps its own place. `queued_at`: when the broker first saw it stuck, for announcing.
    """

    since: int
    place: int
    queued_at: int
    cooldown_until: int = 0
    snoozed_until: int = 0
    skips: int = 0
    grace: bool = False

    def standing(self, now: int) -> Standing:
        """A cooldown that began later than now holds nothing off: the clock was set back."""
        if self.snoozed_until > now:
            return "snoozed"
        return "cooling" if self.cooldown_until > now >= self.place else "ready"


Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Rules:
    """The configured times, ms."""

    skip_cooldown: int = 60_000
    background_grace: int = 300_000


def follow(
    entry: Entry | None,
    verdict: Verdict,
    now: int,
    rules: Rules,
    *,
    answered: bool = False,
    fresh: bool = False,
) -> Entry | None:
    """The entry after a claim: in, out, a new wait, or the same wait with its place kept.

    `answered` and `fresh` are the evidence's: an answer ends the wait, so what is stuck now is a
    new one; a new question ends cooldown and snooze, a repeat does not.
    """
    if not verdict.stuck:
        return None
    since = min(verdict.since or now, now)
    grace = _grace(verdict, since, rules)
    if entry is None or answered:
        return Entry(
            since=since, place=since, queued_at=now, cooldown_until=grace, grace=grace > now
        )
    if fresh:
        # The skip's place stays: who was moved to the tail asked before all those who came since.
        return replace(entry, cooldown_until=grace, snoozed_until=0, grace=grace > now)
    if entry.grace and not grace:
        return replace(entry, cooldown_until=0, grace=False)
    return entry


def _grace(verdict: Verdict, since: int, rules: Rules) -> int:
    """Until when a stop with live background tasks cools (rule 5), else 0."""
    tasks = verdict.detail.get("background_tasks")
    if verdict.reason != "stopped" or not isinstance(tasks, list) or not tasks:
        return 0
    over = {"completed", "failed", "stopped", "killed", "cancelled", "done", "exited"}
    live = [t for t in tasks if not (isinstance(t, dict) and t.get("status") in over)]
    return since + rules.background_grace if live else 0


def skip(entry: Entry, now: int, rules: Rules) -> Entry:
    """To the tail, cooling; `since` stays."""
    return replace(
        entry,
        place=max(now, entry.place),
        cooldown_until=now + rules.skip_cooldown,
        skips=entry.skips + 1,
        grace=False,
    )


def snooze(entry: Entry, until: int) -> Entry:
    """Hidden until that time; 0 wakes it."""
    return replace(entry, snoozed_until=until)


def ordered(entries: Iterable[tuple[Key, Entry]], now: int) -> list[tuple[Key, Entry]]:
    """Ready ones in order, then cooling ones by when they are ready, then snoozed ones."""
    rank = {"ready": 0, "cooling": 1, "snoozed": 2}

    def key(item: tuple[Key, Entry]) -> tuple[int, int, int, str]:
        entry = item[1]
        standing = entry.standing(now)
        when = {
            "ready": entry.place,
            "cooling": entry.cooldown_until,
            "snoozed": entry.snoozed_until,
        }[standing]
        return rank[standing], when, entry.since, str(item[0])

    return sorted(entries, key=key)


def next_change(entries: Iterable[Entry], now: int) -> int | None:
    """The next moment at which a cooling or snoozed entry becomes ready, or None."""
    times = [t for e in entries for t in (e.cooldown_until, e.snoozed_until) if t > now]
    return min(times, default=None)
