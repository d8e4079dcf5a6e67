"""What a source says about a session.

A source is a hook, the harness's own status file (registry), its transcript, the screen, a
process, a pane or the detector. It never decides: it says what it saw and when that became true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from trailboss.events import Event

Source = Literal["hook", "registry", "transcript", "screen", "detector", "process", "pane"]

#: `stuck`: waits for a person. `going`: works, or was answered. `idle`: sits at its prompt, which
#: is stuck only once a turn has run. `gone`: over. `here`: exists, nothing more.
Says = Literal["stuck", "going", "idle", "gone", "here"]

#: What a `going` claim settles: everything; the main thread's turn and requests, by the person's
#: word (`main`) or by its tools' end (`tools`); the turn alone; one agent's requests; one request.
Scope = Literal["all", "main", "tools", "turn", "agent", "request"]

#: Tools whose dialog is a question to the person; a harness may go on saying `busy` beside them
#: (captures fact 5, case B114).
QUESTION_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode", "elicitation"})


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement. `at` is Unix ms, when it became true; `checked_at` when it was last seen to
    hold (0 for sources that tell of moments, not of states)."""

    source: Source
    at: int
    says: Says
    scope: Scope = "all"
    reason: str | None = None
    text: str = ""
    cause: str | None = None
    request: str | None = None
    agent_id: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    reminder: bool = False
    checked_at: int = 0


_NARROW = frozenset({"main", "tools", "turn"})


def from_event(event: Event) -> Claim:
    """The claim that a hook's event makes.

    `detail.scope` (`main`, `tools`, `turn`) narrows an `unstuck`, as do `detail.agent_id` and
    `request`; `detail.reminder` marks a stuck event that only repeats what another one has said.
    """
    agent = event.agent_id
    if event.type == "stuck":
        return Claim(
            source="detector" if event.harness == "tmux" else "hook",
            at=event.timestamp,
            says="stuck",
            scope="main" if event.reason == "stopped" else "request",
            reason=event.reason,
            text=event.message or "",
            cause=event.cause,
            request=event.request,
            agent_id=agent,
            detail=event.detail,
            reminder=bool(event.detail.get("reminder")),
        )
    if event.type == "unstuck":
        scope: Scope = "all"
        if event.request is not None:
            scope = "request"
        elif agent is not None:
            scope = "agent"
        elif event.detail.get("scope") in _NARROW:
            scope = event.detail["scope"]
        return Claim(
            source="detector" if event.harness == "tmux" else "hook",
            at=event.timestamp,
            says="going",
            scope=scope,
            cause=event.cause,
            request=event.request,
            agent_id=agent,
            text=event.message or "",
        )
    return Claim(
        source="hook",
        at=event.timestamp,
        says="gone" if event.type == "ended" else "here",
        cause=event.cause,
    )
