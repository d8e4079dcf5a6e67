"""The status file `sessions/<pid>.json`, as each version keeps it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from tools.fake_agent.payloads import messaging_socket
from tools.fake_agent.session import Session, compact, now_ms, process_start, tmux_address


class Registry:
    """Writes the file at each change of status; removed at a clean exit, left by kill -9.

    `status` is `busy`, `waiting`, `idle` or `shell` (the turn is over and a background shell still
    runs); the file is written once without one. A headless run of 2.1.197 never has a status.
    """

    def __init__(self, session: Session, enabled: bool = True) -> None:
        self._session = session
        self._enabled = enabled
        self._tmux = tmux_address() if session.version.modern and session.job is None else None
        self._name = f"{os.path.basename(session.cwd) or 'root'}-{secrets.token_hex(1)}"
        self._key = self.path.with_name(f"{session.pid}.{secrets.token_hex(32)}.key")
        self._start = process_start(session.pid)
        self.status: str | None = None
        self.waiting_for: str | None = None
        self._changed_at = 0

    @property
    def path(self) -> Path:
        return self._session.config / "sessions" / f"{self._session.pid}.json"

    def open(self) -> None:
        """Write the file for the first time, without a status."""
        if not self._enabled:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._session.version.modern:
            self._key.write_text(secrets.token_hex(32))
        self._write()

    def set(self, status: str, waiting_for: str | None = None) -> None:
        """The agent's new status; the file changes only when the status did."""
        if (status, waiting_for) == (self.status, self.waiting_for):
            return
        self.status, self.waiting_for = status, waiting_for
        self._changed_at = now_ms()
        self._write()

    def rewrite(self) -> None:
        """The same status for a new session id or name."""
        self._write()

    def close(self) -> None:
        if self._enabled:
            self.path.unlink(missing_ok=True)
            self._key.unlink(missing_ok=True)

    def content(self) -> dict[str, Any]:
        """The file's object, keys in the captured order."""
        session = self._session
        out: dict[str, Any] = {
            "pid": session.pid,
            "sessionId": session.id,
            "cwd": session.cwd,
            "startedAt": session.started_at,
            "procStart": self._start,
            "version": session.version.number,
            "peerProtocol": 1,
        }
        if session.version.modern:
            out["peerFeatures"] = ["notify_idle", "reply_across_default_dirs", "artifact_yield"]
        out["kind"] = "interactive" if session.job is None else "bg"
        out["entrypoint"] = session.entrypoint
        if session.version.modern:
            out["pidDomain"] = _pid_domain()
            out["asksForConvertedSkills"] = None
            if self._tmux:
                out["tmux"] = self._tmux
            out["messagingSocketPath"] = messaging_socket(session.pid)
        out["name"] = session.title if session.named else self._name
        if session.job is None:
            out["nameSource"] = "user" if session.named else "derived"
        if session.version.modern:
            out["nameSince"] = session.started_at
        if session.job is not None:
            out["jobId"] = session.job
        if self.status is not None and self._has_status():
            out["status"] = self.status
            out["updatedAt"] = out["statusUpdatedAt"] = self._changed_at
            if self.waiting_for:
                out["waitingFor"] = self.waiting_for
        return out

    def _has_status(self) -> bool:
        return self._session.version.modern or self._session.entrypoint == "cli"

    def _write(self) -> None:
        if not self._enabled:
            return
        part = self.path.with_name(f"{self.path.name}.tmp.{secrets.token_hex(4)}")
        part.write_text(compact(self.content()))
        os.replace(part, self.path)


def _pid_domain() -> str:
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = "pid:[0]"
    return f"linux:{'0123456789abcdef' * 2}:{space}"
