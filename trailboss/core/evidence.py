"""Everything that is known of one session, and how a new claim joins it.

`add` is pure: evidence and a claim in, evidence out. It keeps the newest claim of each kind and
the open requests; whether the session is stuck is `verdict.decide`'s to say. What was heard late
changes nothing newer: each kind is ordered by the time of the claims, not by their arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trailboss.core.claims import QUESTION_TOOLS, Claim

#: A status that leaves `waiting` answers the requests that were open then. A request that the
#: status file never showed is believed answered only when the status is this much newer, ms:
#: hook and file are stamped by different code a few ms apart.
EDGE_SLACK = 250
#: ms after which a status that is still the same outweighs an older hook.
SETTLE = 1000
#: ms of `busy` that a local command may take without being a turn.
SHORT_BUSY = 2000
#: A notice of a dialog comes 6 s after it or later (captures fact 1): one that comes within this
#: many ms of a prompt is about a dialog of before it.
NOTICE = 4000
#: Claims kept for `explain`, and characters of text kept with each.
HISTORY = 40
HISTORY_TEXT = 200
#: Settled request keys remembered, so that a late twin does not open them again.
SETTLED = 64


@dataclass(frozen=True, slots=True)
class Request:
    """An open question to the person; `witnessed`: the status file showed it too, `on_screen`:
    its dialog was seen."""

    key: str
    opened_at: int
    agent_id: str | None = None
    text: str = ""
    cause: str | None = None
    source: str = "hook"
    detail: Mapping[str, Any] = field(default_factory=dict)
    witnessed: bool = False
    on_screen: bool = False

    @property
    def question(self) -> bool:
        return self.detail.get("tool_name") in QUESTION_TOOLS


@dataclass(frozen=True, slots=True)
class Evidence:
    """The newest claim of each kind.

    `turn` is the main thread's: stuck (stopped) or going, from hooks. `prompted_at` is when the
    person last spoke, `settled_at` when a request was last answered, `ran_at` when a turn was
    last known to run (0: never).
    """

    requests: Mapping[str, Request] = field(default_factory=dict)
    settled: Mapping[str, int] = field(default_factory=dict)
    cleared_at: int = 0
    cleared_main_at: int = 0
    cleared_agents: Mapping[str, int] = field(default_factory=dict)
    turn: Claim | None = None
    registry: Claim | None = None
    transcript: Claim | None = None
    screen: Claim | None = None
    reminder: Claim | None = None
    gone: Claim | None = None
    life_at: int = 0
    started_at: int = 0
    prompted_at: int = 0
    settled_at: int = 0
    ran_at: int = 0
    history: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """What a claim did: the new evidence; whether it answered something that was open; whether
    it asks something new (a further request, another turn), not a mere repeat."""

    evidence: Evidence
    answered: bool = False
    fresh: bool = False


def add(old: Evidence, claim: Claim) -> Step:
    """Take one claim in."""
    if claim.says == "gone":
        step = _gone(old, claim)
    elif claim.source == "registry":
        step = _registry(old, claim)
    elif claim.source == "screen":
        step = _screen(old, claim)
    elif claim.source == "transcript":
        step = _transcript(old, claim)
    elif claim.says == "here":
        step = Step(_alive(old, claim.at))
    elif claim.reminder:
        step = _reminder(old, claim)
    elif claim.says == "stuck":
        step = _asked(old, claim) if claim.scope == "request" else _stopped(old, claim)
    else:
        step = _going(old, claim)
    new = _cross_check(step.evidence)
    settled = len(new.requests) < len(step.evidence.requests)
    return replace(step, evidence=_remember(new, claim), answered=step.answered or settled)


def _alive(old: Evidence, at: int) -> Evidence:
    """It lives at that time; if it was over, it has started anew."""
    if old.gone is None or at < old.gone.at:
        return replace(old, life_at=max(old.life_at, at))
    return replace(old, gone=None, life_at=max(old.life_at, at), started_at=max(old.started_at, at))


def _gone(old: Evidence, claim: Claim) -> Step:
    if claim.at < old.life_at:
        return Step(old)
    return Step(
        replace(
            old,
            gone=claim,
            requests={},
            turn=None,
            registry=None,
            screen=None,
            reminder=None,
            transcript=None,
            cleared_at=max(old.cleared_at, claim.at),
        ),
        answered=True,
    )


def _asked(old: Evidence, claim: Claim) -> Step:
    key = claim.request or ""
    if claim.at <= old.settled.get(key, -1) or claim.at < _cleared(old, claim.agent_id):
        return Step(_alive(old, claim.at) if claim.at >= old.life_at else old)
    if old.gone is not None and claim.at < old.gone.at:
        return Step(old)
    known = old.requests.get(key)
    if known is not None and claim.at < known.opened_at:
        return Step(old)
    request = Request(
        key=key,
        # Asked again it is the same wait; those without a key are one slot.
        opened_at=known.opened_at if known else claim.at,
        agent_id=claim.agent_id,
        text=claim.text,
        cause=claim.cause,
        source=claim.source,
        detail=claim.detail,
        witnessed=known.witnessed if known else False,
    )
    new = replace(_alive(old, claim.at), requests={**old.requests, key: request})
    fresh = known is None or (not key and known.text != claim.text)
    return Step(replace(new, ran_at=max(new.ran_at, claim.at)), fresh=fresh)


def _stopped(old: Evidence, claim: Claim) -> Step:
    if _too_late(old, claim):
        return Step(old)
    turn = old.turn
    stopped_already = turn is not None and turn.says == "stuck"
    if stopped_already and turn is not None and claim.detail.get("error") and turn.at <= claim.at:
        # Helpers of the harness fail on their own after the turn is over (case B13).
        return Step(_alive(old, claim.at))
    if stopped_already and turn is not None:
        fresh = _turn_id(turn) != _turn_id(claim) or turn.text != claim.text
    else:
        fresh = True
    requests = {
        k: r for k, r in old.requests.items() if r.agent_id is not None or r.opened_at > claim.at
    }
    new = replace(
        _alive(old, claim.at),
        turn=claim,
        requests=requests,
        cleared_main_at=max(old.cleared_main_at, claim.at),
        ran_at=max(old.ran_at, claim.at),
    )
    return Step(new, fresh=fresh)


def _turn_id(claim: Claim) -> object:
    return claim.detail.get("turn")


def _going(old: Evidence, claim: Claim) -> Step:
    """An `unstuck`: settles what its scope names, if that is not newer than the claim."""
    settled = dict(old.settled)
    keep: dict[str, Request] = {}
    answered = False
    for key, request in old.requests.items():
        if request.opened_at <= claim.at and _names(claim, request):
            settled[key] = claim.at
            answered = True
        else:
            keep[key] = request
    changes: dict[str, Any] = {"requests": keep}
    if claim.scope == "request":
        key = claim.request or ""
        settled[key] = max(settled.get(key, 0), claim.at)
    elif claim.scope == "all":
        changes["cleared_at"] = max(old.cleared_at, claim.at)
    elif claim.scope in ("main", "tools"):
        changes["cleared_main_at"] = max(old.cleared_main_at, claim.at)
    elif claim.scope == "agent" and claim.agent_id:
        known = old.cleared_agents
        changes["cleared_agents"] = _bounded(
            {**known, claim.agent_id: max(known.get(claim.agent_id, 0), claim.at)}
        )
    if answered:
        changes["settled_at"] = max(old.settled_at, claim.at)
    if claim.scope not in ("agent", "request") and not _too_late(old, claim):
        answered = answered or (old.turn is not None and old.turn.says == "stuck")
        changes["turn"] = claim
        changes["ran_at"] = max(old.ran_at, claim.at)
        changes["reminder"] = None
        if claim.scope in ("all", "main"):
            changes["prompted_at"] = max(old.prompted_at, claim.at)
    changes["settled"] = _bounded(settled)
    if old.gone is not None and claim.at < old.gone.at:
        return Step(replace(old, settled=changes["settled"]))
    return Step(replace(_alive(old, claim.at), **changes), answered=answered)


def _names(claim: Claim, request: Request) -> bool:
    if claim.scope == "all":
        return True
    if claim.scope in ("main", "tools"):
        return request.agent_id is None
    if claim.scope == "agent":
        return request.agent_id == claim.agent_id
    return claim.scope == "request" and request.key == (claim.request or "")


def _too_late(old: Evidence, claim: Claim) -> bool:
    if old.gone is not None and claim.at < old.gone.at:
        return True
    return old.turn is not None and claim.at < old.turn.at


def _cleared(old: Evidence, agent_id: str | None) -> int:
    if agent_id is None:
        return max(old.cleared_at, old.cleared_main_at)
    return max(old.cleared_at, old.cleared_agents.get(agent_id, 0))


def _bounded(times: Mapping[str, int]) -> dict[str, int]:
    if len(times) <= SETTLED:
        return dict(times)
    return dict(sorted(times.items(), key=lambda item: item[1])[-SETTLED:])


def _reminder(old: Evidence, claim: Claim) -> Step:
    """A notification that repeats, seconds later, what a hook has said or should have said."""
    if old.gone is not None and claim.at < old.gone.at:
        return Step(old)
    if old.reminder is not None and claim.at < old.reminder.at:
        return Step(old)
    if claim.reason == "permission":
        # Sent also when the dialog is long answered (case B05): it counts as a way in only while
        # no request was asked and answered since the person last spoke.
        if old.requests or old.settled_at > old.prompted_at:
            return Step(old)
        if claim.detail.get("notification_type") == "permission_prompt" and (
            0 < old.prompted_at <= claim.at < old.prompted_at + NOTICE
        ):
            return Step(old)  # too soon to be of a dialog that has opened since the prompt
    elif old.turn is not None and old.turn.says == "going" and claim.at - old.turn.at < 50_000:
        return Step(old)  # idle for a minute, says a notice of a turn that ran meanwhile
    return Step(replace(_alive(old, claim.at), reminder=claim))


def _registry(old: Evidence, claim: Claim) -> Step:
    known = old.registry
    if known is not None and claim.at < known.at:
        return Step(old)
    if old.gone is not None and old.gone.source == "hook" and claim.at <= old.gone.at:
        return Step(old)
    if known is not None and known.at == claim.at and known.says == claim.says:
        return Step(replace(old, registry=claim))
    started = claim.detail.get("started_at")
    new = replace(_alive(old, claim.at), registry=claim)
    if isinstance(started, int):
        new = replace(new, started_at=max(new.started_at, started))
    if _ran(known, claim):
        new = replace(new, ran_at=max(new.ran_at, claim.at))
    fresh = claim.says == "stuck" and not old.requests
    return Step(new, fresh=fresh)


def _ran(known: Claim | None, claim: Claim) -> bool:
    """Whether the status file shows that a turn ran: it asked, or was busy for a while.

    A menu that is open, and the blink of `busy` that /clear makes under the new id, are none.
    """
    if claim.says == "stuck":
        return claim.cause != "dialog open"
    busy_before = known is not None and known.says == "going"
    return busy_before and known is not None and claim.at - known.at > SHORT_BUSY


def _transcript(old: Evidence, claim: Claim) -> Step:
    """The newest of its claims; an answer in it settles the requests it is for."""
    known = old.transcript
    if known is not None and claim.at < known.at:
        return Step(old)
    if old.gone is not None and claim.at <= old.gone.at:
        return Step(old)
    if claim.scope == "request":
        return _going(old, claim) if claim.says == "going" else Step(old)
    new = replace(old, transcript=claim)
    if claim.says in ("going", "stuck"):
        new = replace(new, ran_at=max(new.ran_at, claim.at))
    if claim.scope != "main":
        return Step(new)
    # A prompt, a finished or an interrupted turn: the main thread has nothing open any more.
    over = [
        r for r in new.requests.values()
        if r.agent_id is None and r.opened_at + EDGE_SLACK < claim.at
    ]  # fmt: skip
    return _settle(new, over, claim.at)


def _screen(old: Evidence, claim: Claim) -> Step:
    """What the screen shows now. The same state seen again keeps the time it was first seen.

    A dialog that was seen and is there no longer was answered; what was never seen may hide
    behind whatever is drawn, so its absence proves nothing.
    """
    known = old.screen
    if known is not None and claim.checked_at < known.checked_at:
        return Step(old)
    if old.gone is not None and claim.at <= old.gone.at:
        return Step(old)
    same = known is not None and (known.says, known.cause) == (claim.says, claim.cause)
    if (
        same
        and known is not None
        and known.at >= max(old.settled_at, old.turn.at if old.turn else 0)
    ):
        claim = replace(claim, at=known.at)
    new = replace(old, screen=claim)
    if claim.says == "going" and claim.checked_at - claim.at > SHORT_BUSY:
        new = replace(new, ran_at=max(new.ran_at, claim.checked_at))
    if claim.says == "stuck":
        alone = len(old.requests) == 1
        seen = {
            k: replace(r, on_screen=True)
            if r.opened_at <= claim.checked_at and (alone or _shows(claim, r))
            else r
            for k, r in old.requests.items()
        }
        new = replace(new, requests=seen, ran_at=max(new.ran_at, claim.at))
        return Step(new, fresh=not same and not old.requests)
    gone = [r for r in old.requests.values() if r.on_screen and r.opened_at < claim.checked_at]
    return _settle(new, gone, claim.checked_at)


def _shows(claim: Claim, request: Request) -> bool:
    """Whether the dialog on the screen is that request's: of several open, one is shown."""
    asked = request.text.partition(": ")[2] or request.text
    return bool(asked) and " ".join(asked.split()) in " ".join(claim.text.split())


def _settle(evidence: Evidence, over: list[Request], at: int) -> Step:
    """The evidence without these requests, answered at that time."""
    if not over:
        return Step(evidence)
    keys = {r.key for r in over}
    new = replace(
        evidence,
        requests={k: r for k, r in evidence.requests.items() if k not in keys},
        settled=_bounded({**evidence.settled, **dict.fromkeys(keys, at)}),
        settled_at=max(evidence.settled_at, at),
    )
    return Step(new, answered=True)


def _cross_check(evidence: Evidence) -> Evidence:
    """Let the status file settle, or witness, the requests that hooks have opened.

    Runs after every claim, so that it does not matter which of the two was heard first.
    """
    status = evidence.registry
    if status is None or not evidence.requests:
        return evidence
    keep: dict[str, Request] = {}
    settled = dict(evidence.settled)
    for key, request in evidence.requests.items():
        if status.says == "stuck":
            seen = status.at + EDGE_SLACK >= request.opened_at
            keep[key] = (
                replace(request, witnessed=True) if seen and not request.witnessed else request
            )
        elif _answered_by(status, request):
            settled[key] = status.at
        else:
            keep[key] = request
    if len(keep) == len(evidence.requests):
        return replace(evidence, requests=keep)
    return replace(
        evidence,
        requests=keep,
        settled=_bounded(settled),
        settled_at=max(evidence.settled_at, status.at),
    )


def _answered_by(status: Claim, request: Request) -> bool:
    if request.witnessed:
        return status.at > request.opened_at
    if status.says == "going" and request.question:
        return False  # some versions stay busy beside an open question or form
    if status.at > request.opened_at + EDGE_SLACK:
        return True
    # Answered too soon for anybody to see it wait: still the same a good while after.
    return status.at >= request.opened_at and status.checked_at > request.opened_at + SETTLE


def _remember(new: Evidence, claim: Claim) -> Evidence:
    told = (claim.source, claim.at, claim.says, claim.cause, claim.request)
    for known in new.history:
        if (known.source, known.at, known.says, known.cause, known.request) == told:
            return new
    kept = replace(claim, text=claim.text[:HISTORY_TEXT], detail={})
    return replace(new, history=(*new.history, kept)[-HISTORY:])
