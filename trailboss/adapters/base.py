"""What an adapter is given and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from trailboss.events import Event


class Ancestor(NamedTuple):
    """A process above the hook: pid, start time in clock ticks since boot (0 = unknown), name."""

    pid: int
    start: int
    comm: str


@dataclass(frozen=True, slots=True)
class Payload:
    """One call of a hook, as the emitter's front journalled it.

    `name` is the journal entry's name (unique), `data` the hook's JSON object, `event` the
    `--event` given on the command line or None, `env` the wanted variables of the hook's
    environment, `ancestors` its parents from the nearest upward, `timestamp` Unix ms at the
    front's very start.
    """

    name: str
    harness: str
    timestamp: int
    data: Mapping[str, Any]
    event: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    ancestors: Sequence[Ancestor] = ()


class Adapter(Protocol):
    """One harness. Pure: it reads what it is given and asks nobody."""

    name: str

    def events(self, payload: Payload) -> list[Event]:
        """The events one hook call means; often one, none when it means nothing.

        Their ids are derived from `payload.name`, so that the same journal entry read twice
        gives the same ids.
        """
        ...
