"""Why a pane is not in the queue: the question that an empty row cannot answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trailboss.adapters.claude import PROCESS_NAMES, config_home
from trailboss.broker import processes
from trailboss.broker.fleet import Fleet
from trailboss.broker.headless import OPTIONS
from trailboss.core.board import Board, PaneRef, Session
from trailboss.text import clean, duration
from trailboss.tmux.panes import Pane


def why(board: Board, fleet: Fleet, pane_id: str, socket: str | None, now: int) -> dict[str, Any]:
    """`session_id` (or null), `stuck`, and `why` in words. Blocks: it looks at processes."""
    refs = [
        PaneRef(s, seen.server_pid, pane_id)
        for s, seen in fleet.snapshots.items()
        if pane_id in seen.panes and (socket is None or s == socket)
    ]
    if len(refs) > 1:
        servers = ", ".join(r.socket for r in refs)
        return _answer(None, f"there is a {pane_id} on several tmux servers ({servers})")
    sessions = [s for ref in refs for s in board.at_pane(ref)]
    sessions += [
        s for s in board.sessions.values() if not refs and s.pane and s.pane.pane_id == pane_id
    ]
    live = [s for s in sessions if s.verdict.state != "ended"]
    if live:
        session = max(live, key=lambda s: (s.entry is not None, s.last_event_at))
        return _answer(session, of_session(session, now))
    if not refs:
        return _answer(None, "no tmux server that is looked at has this pane")
    pane = fleet.snapshots[refs[0].socket].panes[pane_id]
    ended = max(sessions, key=lambda s: s.last_event_at, default=None)
    return _answer(ended, _nobody(pane, ended))


def _answer(session: Session | None, text: str) -> dict[str, Any]:
    return {
        "session_id": session.session_id if session else None,
        "stuck": bool(session and session.entry),
        "why": text,
    }


def of_session(session: Session, now: int) -> str:
    """Why a live session is, or is not, in the queue."""
    rule, entry = session.verdict.rule, session.entry
    if entry is not None:
        standing = entry.standing(now)
        if standing == "snoozed":
            return f"it is in the queue, snoozed for {duration(entry.snoozed_until - now)}: {rule}"
        if standing == "cooling":
            why = "its background tasks run on" if entry.grace else "it was skipped"
            left = duration(entry.cooldown_until - now)
            return f"it is in the queue, cooling for {left} since {why}: {rule}"
        return f"it is in the queue: {rule}"
    if session.left_pane and session.pane is None:
        return "another session has taken its pane"
    if session.verdict.state == "going":
        return f"it is working: {rule}"
    if session.verdict.state == "idle":
        return f"it sits at {rule}"
    return rule


def _nobody(pane: Pane, ended: Session | None) -> str:
    """What a pane without a live session holds."""
    if pane.dead:
        return "the pane is dead"
    for process in processes.named(PROCESS_NAMES):
        if pane.pane_pid not in processes.ancestors(process.pid):
            continue
        if OPTIONS["claude"] & set(processes.command_line(process.pid)[1:]):
            return f"a headless run (pid {process.pid}) is there: it asks nobody"
        hooks = "its hooks are installed" if _hooked(process.pid) else "its hooks are not installed"
        return (
            f"an agent (pid {process.pid}) is there of which nothing was heard yet: {hooks}, "
            "and no status file or transcript tells of it"
        )
    runs = clean(pane.command, 40) or "nothing"
    if ended is not None:
        return f"its session is over ({ended.verdict.rule}); the pane runs {runs}"
    return f"no agent is known there; the pane runs {runs}"


def _hooked(pid: int) -> bool:
    """Whether the settings of that process's home name our emitter."""
    env = processes.environment(pid)
    home = config_home(env) or "/.claude"
    try:
        return b"trailboss-emit" in (Path(home) / "settings.json").read_bytes()
    except OSError:
        return False
