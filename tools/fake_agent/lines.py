"""The transcript as a file: lines of JSON, the messages among them chained."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from tools.fake_agent.payloads import Subagent
from tools.fake_agent.session import Session, compact


def new_id(kind: str) -> str:
    """An id as the API gives it: `toolu_fake…`, `msg_fake…`, `req_fake_…`."""
    glue = "_fake_" if kind == "req" else "_fake"
    return f"{kind}{glue}{secrets.token_hex(9)}"


class Lines:
    """Appends to `projects/<folder>/<session id>.jsonl`, made at the first line.

    With a subagent it is that agent's own file, every message a sidechain. `leaf` is the newest
    message's uuid, which the next one names as its parent; `count` the messages so far.
    """

    def __init__(
        self, session: Session, enabled: bool = True, agent: Subagent | None = None
    ) -> None:
        self.session = session
        self.agent = agent
        self.enabled = enabled
        self.begin()

    def begin(self) -> None:
        """Start the file of the session's present id."""
        self.leaf: str | None = None
        self.count = 0
        self._path: Path | None = None

    @property
    def path(self) -> Path:
        if self.agent is not None:
            return self.session.agent_transcript(self.agent.id)
        return self.session.transcript

    def append(self, line: dict[str, Any], session_id: bool = True) -> None:
        """One message: chained to the one before, with the facts that every message repeats."""
        session = self.session
        out: dict[str, Any] = {
            "parentUuid": self.leaf,
            "isSidechain": self.agent is not None,
        }
        if self.agent is not None:
            out["agentId"] = self.agent.id
        out.update(line)
        if (
            session.version.modern
            and session_id
            and not isinstance(line.get("message", {}).get("content"), str)
        ):
            out["session_id"] = session.id
        out.update(
            userType="external",
            entrypoint=session.entrypoint,
            cwd=session.cwd,
            sessionId=session.id,
            version=session.version.number,
            gitBranch="main",
        )
        self.leaf = out["uuid"]
        self.count += 1
        self.write(out)

    def write(self, line: dict[str, Any]) -> None:
        """One line as it is."""
        if not self.enabled:
            return
        if self._path is None:
            self._path = self.path
            self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "a", encoding="utf-8", errors="replace") as file:
            file.write(compact(line) + "\n")
