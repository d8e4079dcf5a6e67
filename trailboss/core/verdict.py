"""Is this session stuck? One pure function, and the rule that decided in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from trailboss.core.claims import Claim
from trailboss.core.evidence import SETTLE, Evidence, Request

State = Literal["stuck", "going", "idle", "ended", "unknown"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`since` is Unix ms, when this state began; `rule` is a sentence for people."""

    state: State
    rule: str
    since: int = 0
    reason: str | None = None
    text: str = ""
    cause: str | None = None
    source: str = "hook"
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stuck(self) -> bool:
        return self.state == "stuck"


def decide(evidence: Evidence) -> Verdict:
    """Fold the evidence.

    In this order: what is over is over; an open request waits for a person; a status file that
    says waiting does too; otherwise the newest witness of the turn decides.
    """
    if evidence.gone is not None:
        return _of(evidence.gone, "ended", _GONE.get(evidence.gone.source, "it has ended"))
    if evidence.requests:
        return _asking(evidence)
    shown = evidence.screen
    dialog = shown is not None and shown.says == "stuck" and _is_newest(evidence, shown)
    status = evidence.registry
    if status is not None and status.cause == "dialog open" and shown is not None and dialog:
        return _of(shown, "stuck", f"a dialog opened by itself ({shown.cause}), its screen shows")
    if status is not None and status.says == "stuck" and not _newer_turn(evidence, status):
        return _waiting(evidence, status)
    asked = evidence.transcript
    if asked is not None and asked.reason == "permission" and _is_newest_turn(evidence, asked):
        return _of(asked, "stuck", "its transcript ends with a question that nobody has answered")
    if shown is not None and dialog:
        return _of(shown, "stuck", f"its screen shows a dialog ({shown.cause})")
    return _turn(evidence)


_GONE = {
    "hook": "it has ended, its hook says",
    "process": "its process is gone",
    "pane": "its pane is gone",
    "registry": "its status file is gone with its process",
}


def _asking(evidence: Evidence) -> Verdict:
    requests = open_requests(evidence)
    oldest, newest = requests[0], requests[-1]
    if len(requests) == 1:
        rule = "it has asked and nobody has answered"
    else:
        rule = f"{len(requests)} requests are open"
    return Verdict(
        state="stuck",
        rule=rule,
        since=oldest.opened_at,
        reason="permission",
        text=newest.text or _status_text(evidence),
        cause=newest.cause,
        source=newest.source,
        detail=newest.detail,
    )


def _status_text(evidence: Evidence) -> str:
    """What a wait is about that came without words: the dialog's own lines, else the notice."""
    shown = evidence.screen
    if shown is not None and shown.says == "stuck" and shown.text:
        return shown.text
    if evidence.reminder is not None and evidence.reminder.text:
        return evidence.reminder.text
    return ""


def _waiting(evidence: Evidence, status: Claim) -> Verdict:
    if status.cause == "dialog open":
        notice = evidence.reminder
        if notice is None or notice.reason != "permission" or notice.at < status.at:
            # A menu that the person opened, as far as anybody has said.
            return _of(status, "going", "a menu is open that a person opened")
        return Verdict(
            state="stuck",
            rule="a notice opened by itself and waits",
            since=status.at,
            reason="permission",
            text=notice.text,
            cause=notice.cause,
            source="registry",
            detail=notice.detail,
        )
    return Verdict(
        state="stuck",
        rule=f"its status file says waiting ({status.cause or 'for a person'})",
        since=status.at,
        reason="permission",
        text=status.text or _status_text(evidence) or f"Waiting: {status.cause or 'for you'}",
        cause=status.cause,
        source="registry",
    )


def _newer_turn(evidence: Evidence, status: Claim) -> bool:
    """Whether a hook has said since that it went on (the file was read before that)."""
    turn = evidence.turn
    weight = _weight(status)
    if turn is not None and turn.says == "going" and turn.at > weight:
        return True
    return evidence.settled_at > weight


def _weight(claim: Claim) -> int:
    """The time by which a claim is compared: a state seen to hold counts until shortly ago."""
    return max(claim.at, claim.checked_at - SETTLE) if claim.checked_at else claim.at


def _is_newest(evidence: Evidence, shown: Claim) -> bool:
    """Whether nothing has changed since the screen was seen: a dialog on it beats a status or a
    transcript that is merely silent."""
    others = [c for c in (evidence.turn, evidence.registry, evidence.transcript) if c is not None]
    return all(c.at <= shown.checked_at for c in others) and evidence.settled_at <= shown.checked_at


def _is_newest_turn(evidence: Evidence, asked: Claim) -> bool:
    """Whether nothing has happened since the question; a status that stays busy is no answer
    (case B114)."""
    turn, status = evidence.turn, evidence.registry
    if turn is not None and turn.at > asked.at:
        return False
    if evidence.settled_at > asked.at:
        return False
    return status is None or status.says != "idle" or status.at < asked.at


def _turn(evidence: Evidence) -> Verdict:
    """The newest witness of the main thread's turn."""
    witnesses = [
        c
        for c in (evidence.transcript, evidence.turn, evidence.screen, evidence.registry)
        if c is not None
        and c.says in ("stuck", "going", "idle")
        and not (c is evidence.registry and c.says == "stuck")
    ]
    notice = evidence.reminder
    if not witnesses:
        if notice is not None:
            return _of(notice, "stuck", "a notice says that it waits")
        return Verdict(state="unknown", rule="nothing was heard of its turn yet")
    newest = max(witnesses, key=_weight)
    if newest.says == "going":
        if notice is not None and notice.at > _weight(newest) and evidence.registry is None:
            return _of(notice, "stuck", "a notice says that it waits")
        return _of(newest, "going", _GOING[newest.source])
    if newest.says == "idle" and not _has_run(evidence):
        return _of(newest, "idle", "a fresh prompt: no turn has run yet")
    return _stopped(evidence, witnesses, newest)


_GOING = {
    "hook": "it went on, its hook says",
    "registry": "its status file says busy",
    "transcript": "its transcript goes on",
    "screen": "its screen shows it working",
    "detector": "its pane shows output",
}


def _has_run(evidence: Evidence) -> bool:
    return evidence.ran_at > 0 and evidence.ran_at >= evidence.started_at


def _stopped(evidence: Evidence, witnesses: list[Claim], newest: Claim) -> Verdict:
    """Stopped: since the first witness of this stop, with the text of the one that has any."""
    going = [c.at for c in witnesses if c.says == "going"]
    last_going = max(going, default=0)
    agreeing = sorted(
        (c for c in witnesses if c.says != "going" and c.at >= last_going), key=lambda c: c.at
    ) or [newest]
    spoken = next((c for c in agreeing if c.source == "hook" and c.text), None)
    spoken = spoken or next((c for c in agreeing if c.text), newest)
    rule = {
        "hook": "its turn is over, its hook says",
        "registry": "its status file says idle, and a turn has run",
        "transcript": "its transcript ends with a finished turn",
        "screen": "its screen shows the prompt",
        "detector": "its pane has been quiet",
    }[newest.source]
    detail = spoken.detail
    status = evidence.registry
    if status is not None and status.cause == "idle" and status.at > spoken.at + SETTLE:
        # `shell` has become `idle`: the background tasks have ended without waking it.
        detail = {k: v for k, v in detail.items() if k != "background_tasks"}
    return Verdict(
        state="stuck",
        rule=rule,
        since=agreeing[0].at,
        reason="stopped",
        text=spoken.text,
        cause=spoken.cause,
        source=spoken.source if spoken.source == "hook" else agreeing[0].source,
        detail=detail,
    )


def _of(claim: Claim, state: State, rule: str) -> Verdict:
    return Verdict(
        state=state,
        rule=rule,
        since=claim.at,
        reason=claim.reason if state == "stuck" else None,
        text=claim.text,
        cause=claim.cause,
        source=claim.source,
        detail=claim.detail,
    )


def open_requests(evidence: Evidence) -> list[Request]:
    """The open requests, oldest first."""
    return sorted(evidence.requests.values(), key=lambda r: r.opened_at)
