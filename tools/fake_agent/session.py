"""Who the agent is: ids, places and the facts that every payload and line repeats."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.fake_agent.versions import Version


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def iso(ms: int | None = None) -> str:
    """Unix ms (now without) as the transcript writes it: `2026-11-30T20:44:06.460Z`."""
    ms = now_ms() if ms is None else ms
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"


def compact(value: Any) -> str:
    """One line of JSON as the CLI writes it, characters outside ASCII as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def config_dir(env: Mapping[str, str] = os.environ) -> Path:
    """Where settings, transcripts and status files lie."""
    if named := env.get("CLAUDE_CONFIG_DIR"):
        return Path(named)
    return Path(env.get("HOME") or os.path.expanduser("~")) / ".claude"


def folder_name(cwd: str) -> str:
    """The folder of `projects/` for a working directory: everything but A–Z, a–z, 0–9 is `-`."""
    return re.sub(r"[^A-Za-z0-9]", "-", cwd)


@dataclass(slots=True)
class Session:
    """One agent process and the session it shows; `/clear` gives it a new `id`."""

    version: Version
    config: Path
    cwd: str
    id: str
    pid: int = field(default_factory=os.getpid)
    entrypoint: str = "cli"
    job: str | None = None
    permission_mode: str = "default"
    prompt_id: str | None = None
    title: str | None = None
    named: bool = False
    started_at: int = field(default_factory=now_ms)

    @property
    def attended(self) -> bool:
        """Whether a person sits at it: neither headless nor a background session."""
        return self.entrypoint == "cli" and self.job is None

    @property
    def project(self) -> Path:
        return self.config / "projects" / folder_name(self.cwd)

    @property
    def transcript(self) -> Path:
        return self.project / f"{self.id}.jsonl"

    def agent_transcript(self, agent_id: str) -> Path:
        return self.project / self.id / "subagents" / f"agent-{agent_id}.jsonl"

    def renew(self) -> None:
        """A new session in the same process, as `/clear` makes it."""
        self.id = str(uuid.uuid4())


def process_start(pid: int) -> str:
    """Field 22 of /proc/PID/stat as the status file's `procStart` has it; "0" without /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        return stat.rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return "0"


def tmux_address(env: Mapping[str, str] = os.environ) -> str | None:
    """`session:@window.%pane` of the terminal we run in, as the status file has it."""
    socket, pane = env.get("TMUX", "").split(",")[0], env.get("TMUX_PANE", "")
    if not socket or not pane:
        return None
    ask = ["tmux", "-u", "-S", socket, "display-message", "-p", "-t", pane]
    try:
        done = subprocess.run(
            [*ask, "#{session_name}:#{window_id}.#{pane_id}"], capture_output=True, timeout=5
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() or None
