"""Claude Code's own status files, `<config dir>/sessions/<pid>.json` (captures fact 5).

Undocumented, changed within about 100 ms in every case where hooks are silent, and left behind by
kill -9: one claim among others. Secret `.key` files lie beside them, so only names that are a
number and `.json` are ever opened.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import orjson

from trailboss.core.claims import Claim
from trailboss.events import pane_id_or_none

#: The only names to open in `sessions/`.
FILE_NAME = re.compile(r"[0-9]{1,10}\.json\Z")

_TICKS = re.compile(r"[0-9]{1,18}\Z")
_PLACE = re.compile(r"(?P<session>.*):(?P<window>@[0-9]+)\.(?P<pane>%[0-9]+)\Z", re.S)


@dataclass(frozen=True, slots=True)
class Status:
    """One status file. `proc_start` is in clock ticks since boot on Linux; `place` is
    (tmux session name, window id, pane id) where the version writes it."""

    pid: int
    session_id: str
    status: str | None
    waiting_for: str | None
    updated_at: int
    started_at: int
    proc_start: int | None
    cwd: str | None
    name: str | None
    kind: str | None
    entrypoint: str | None
    place: tuple[str, str, str] | None
    job_id: str | None
    parked_job_id: str | None
    spare: bool

    @property
    def is_session(self) -> bool:
        """Whether a person may be wanted there: no headless run, no warm spare."""
        return not (self.entrypoint or "").startswith("sdk-") and not self.spare


def read(raw: bytes) -> Status | None:
    """The status in a file's bytes; None for what is half written, foreign or of another shape."""
    try:
        data = orjson.loads(raw)
    except (orjson.JSONDecodeError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    pid, session_id = data.get("pid"), data.get("sessionId")
    if not isinstance(pid, int) or isinstance(pid, bool):
        return None
    if not isinstance(session_id, str) or not session_id:
        return None
    updated = data.get("statusUpdatedAt") or data.get("updatedAt") or data.get("startedAt") or 0
    start = data.get("procStart")
    return Status(
        pid=pid,
        session_id=session_id,
        status=_text(data.get("status")),
        waiting_for=_text(data.get("waitingFor")),
        updated_at=updated if _is_int(updated) else 0,
        started_at=data["startedAt"] if _is_int(data.get("startedAt")) else 0,
        proc_start=int(start) if isinstance(start, str) and _TICKS.match(start) else None,
        cwd=_text(data.get("cwd")),
        name=_text(data.get("name")) if data.get("nameSource") in ("user", "auto") else None,
        kind=_text(data.get("kind")),
        entrypoint=_text(data.get("entrypoint")),
        place=_place(data.get("tmux")),
        job_id=_text(data.get("jobId")),
        parked_job_id=_text(data.get("parkedJobId")),
        spare=bool(data.get("spare")),
    )


def claim(status: Status, checked_at: int, text: str = "") -> Claim | None:
    """What the status says; None for a word that nobody knows, or none yet.

    `text` is what it waits for in words, where something else has told.
    """
    says = {"busy": "going", "waiting": "stuck", "idle": "idle", "shell": "idle"}.get(
        status.status or ""
    )
    if says is None:
        return None
    return Claim(
        source="registry",
        at=status.updated_at,
        says=says,  # type: ignore[arg-type]
        reason={"stuck": "permission", "idle": "stopped"}.get(says),
        text=text if says == "stuck" else "",
        cause=status.waiting_for if says == "stuck" else status.status,
        detail={"started_at": status.started_at},
        checked_at=checked_at,
    )


def _place(value: Any) -> tuple[str, str, str] | None:
    found = _PLACE.match(value) if isinstance(value, str) else None
    if found is None or pane_id_or_none(found["pane"]) is None:
        return None
    return found["session"], found["window"], found["pane"]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
