"""Comparing the board with the world: what hooks have not told, other witnesses do.

A sweep looks at everything; in between, watchfiles points at what has changed. All reading is
done by `survey` in a thread, so that no request waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from trailboss.adapters import claude_registry
from trailboss.broker import processes
from trailboss.broker.fleet import Fleet
from trailboss.broker.screens import STALE, Screens, Stranger, is_stranger
from trailboss.broker.survey import Findings, Known, Live, Survey, Unclaimed, homes_of
from trailboss.core.board import Board, Session
from trailboss.core.claims import Claim

log = logging.getLogger(__name__)

#: ms: how often the file system is asked, and how long a burst of changes is gathered. The
#: library's own 1.6 s would make a status file no faster than a sweep.
WATCH_STEP = 50
WATCH_DEBOUNCE = 100
#: Sessions that are over are looked at no more, and forgotten after this many ms.
FORGET = 7 * 24 * 3600 * 1000


class Reconciler:
    """Feeds the board with claims of status files, transcripts, processes and panes."""

    def __init__(
        self, board: Board, fleet: Fleet, now: Callable[[], int], env: Mapping[str, str]
    ) -> None:
        self._board = board
        self._fleet = fleet
        self._now = now
        self._env = dict(env)
        self._survey = Survey()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="survey")
        self._running = asyncio.Lock()
        self._watch_changed = asyncio.Event()
        self._watch_failed = False
        self.screens = Screens(board, fleet, now)
        self._new_server = False
        self._unplaced = False
        self._sought: set[int] = set()
        self.last_sweep: int | None = None

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)

    # --- looking -------------------------------------------------------------------

    async def sweep(self) -> dict[str, int]:
        """Look at everything once: how many sessions were checked, and who came and went."""
        async with self._running:
            before = self._queued()
            begun = self._now()
            await self._fleet.refresh()
            self._panes(begun)
            await self._look(only=None, whole=True)
            if self._new_server:
                # A server that only an agent's environment has named: its panes count at once.
                self._new_server = False
                await self._fleet.refresh()
                await self._look(only=frozenset(), whole=True)
            await self.screens.look(whole=True)
            self._forget(begun)
            self.last_sweep = self._now()
            after = self._queued()
            return {
                "checked": len(self._board.sessions),
                "enqueued": len(after - before),
                "dequeued": len(before - after),
            }

    async def glance(self, paths: frozenset[str] = frozenset()) -> None:
        """Look at the status files, and at these transcripts."""
        async with self._running:
            await self._look(only=paths, whole=False)
            if self._unplaced:
                # A session in a pane that is newer than the last look at tmux.
                self._unplaced = False
                await self._fleet.refresh()
                await self._look(only=frozenset(), whole=False)

    async def _look(self, only: frozenset[str] | None, whole: bool) -> None:
        known, homes = self._known(), self._homes()
        loop = asyncio.get_running_loop()
        while True:
            now = self._now()
            found = await loop.run_in_executor(
                self._thread, self._survey.look, known, homes, now, only, whole
            )
            self._take(found, now, whole)
            if not found.more:
                break
            whole = False
        self._watch_changed.set()

    def _queued(self) -> set[str]:
        return {s.session_id for s in self._board.sessions.values() if s.entry is not None}

    def _known(self) -> list[Known]:
        return [
            Known(
                s.session_id,
                s.pid,
                s.pid_start,
                s.transcript_path,
                s.home,
                s.cwd,
                is_stranger(s.session_id),
            )
            for s in self._board.sessions.values()
            if s.verdict.state != "ended" and s.harness == "claude"
        ]

    def _homes(self) -> list[str]:
        return homes_of(self._env, (s.home for s in self._board.sessions.values()))

    def _forget(self, now: int) -> None:
        for session in list(self._board.sessions.values()):
            if session.verdict.state == "ended" and session.evidence.life_at < now - FORGET:
                self._board.forget(session.session_id)

    # --- what was found ---------------------------------------------------------------

    def _panes(self, begun: int) -> None:
        """Panes that are gone, by snapshots that are newer than what named them."""
        for session in list(self._board.sessions.values()):
            if session.pane is None or session.verdict.state == "ended":
                continue
            if session.placed_at <= begun and self._fleet.is_gone(session.pane):
                if self._lives_elsewhere(session):
                    continue
                claim = Claim(source="pane", at=self._now(), says="gone", cause="pane gone")
                self._board.claim(session.session_id, claim, self._now())

    def _lives_elsewhere(self, session: Session) -> bool:
        """Whether the pane that is gone was never its own: its process lives, in another pane or
        under a live status file. It is then placed by the process."""
        if session.pid is None or not processes.alive(session.pid, session.pid_start):
            return False
        proved = self._fleet.pane_of_process(processes.ancestors(session.pid))
        status = session.evidence.registry
        if proved is None and (status is None or self._now() - status.checked_at > STALE):
            return False
        self._board.update(session.session_id, pane=proved)
        return True

    def _take(self, found: Findings, begun: int, whole: bool) -> None:
        now = self._now()
        for session_id, start in found.started.items():
            if session_id in self._board.sessions:
                self._board.update(session_id, pid_start=start)
        for unclaimed in found.unclaimed:
            self._adopt(unclaimed, now)
        if whole:
            self._meet(found.strangers)
        for socket in found.sockets:
            self._new_server = self._fleet.name(socket) or self._new_server
        for session_id, chain in found.chains.items():
            self._process(session_id, chain, session_id in found.suspended, begun)
        parked = {live.status.parked_job_id: live for live in found.live}
        for live in found.live:
            self._status(live, parked, now)
        for session_id in found.dead:
            session = self._board.sessions.get(session_id)
            if session is not None and session.last_event_at <= begun:
                claim = Claim(source="process", at=now, says="gone", cause="process gone")
                self._board.claim(session_id, claim, now)
        for session_id, path in found.transcripts.items():
            if session_id in self._board.sessions:
                self._board.update(session_id, transcript_path=path)
        for session_id, claim in found.claims:
            self._board.claim(session_id, claim, now)
        for session_id, title in found.titles.items():
            if session_id in self._board.sessions:
                self._board.update(session_id, title=title)

    def _process(
        self, session_id: str, chain: tuple[int, ...], suspended: bool, begun: int
    ) -> None:
        """A live process of a known session: whether it is stopped, and whether it can be in the
        pane that its hooks have named. An environment leaks: from the session that started a tmux
        server, from whoever started a daemon (case B26, captures 51b)."""
        session = self._board.sessions.get(session_id)
        if session is None:
            return
        if session.suspended != suspended:
            session = self._board.update(session_id, suspended=suspended)
        if session.pane is None or session.placed_at > begun or 1 not in _with_parents(chain):
            return
        seen = self._fleet.of(session.pane)
        pane = seen.panes.get(session.pane.pane_id) if seen else None
        if pane is None or pane.pane_pid in chain:
            return
        proved = self._fleet.pane_of_process(chain)
        log.info("session %s is not in the pane its hooks name", session_id)
        self._board.update(session_id, pane=proved)

    def _status(self, live: Live, parked: Mapping[str | None, Live], now: int) -> None:
        """Take a live status file: whose it is, where it sits, what it says."""
        status = live.status
        if not status.is_session or status.status is None:
            return
        self._end_predecessors(live, now)
        if status.parked_job_id is not None:
            return  # its conversation went on in the background, under another id (51b)
        session = self._board.sessions.get(status.session_id)
        if session is None:
            session = Session(
                session_id=status.session_id,
                harness="claude",
                cwd=status.cwd,
                home=live.home,
                first_seen=now,
            )
            self._board.put(session)
        changes: dict[str, Any] = {"pid": status.pid, "pid_start": status.proc_start}
        if session.home is None:
            changes["home"] = live.home
        if session.cwd is None:
            changes["cwd"] = status.cwd
        if status.name is not None:
            changes["title"] = status.name
        changes.update(self._place(live, parked, session, now))
        self._board.update(session.session_id, **changes)
        self._end_stranger(status.pid, session.session_id)
        claim = claude_registry.claim(status, live.checked_at, live.needs)
        if claim is not None:
            self._board.claim(session.session_id, claim, now)

    def _place(
        self, live: Live, parked: Mapping[str | None, Live], session: Session, now: int
    ) -> dict[str, Any]:
        """The pane, by process: whatever an inherited environment has said."""
        status = live.status
        if status.kind == "bg":
            host = parked.get(status.job_id) if status.job_id else None
            pane = self._fleet.pane_of_process(host.chain) if host else None
            return {"pane": pane, "attach": f"claude attach {status.job_id}"}
        pane = self._fleet.pane_of_process(live.chain)
        if pane is None and status.pid not in self._sought:
            self._sought.add(status.pid)
            self._unplaced = True
        if pane is None or pane == session.pane:
            return {}
        return {"pane": pane, "placed_at": now, "left_pane": False}

    def _end_predecessors(self, live: Live, now: int) -> None:
        """Sessions of the same process under an older id: /clear and forks change it in place."""
        status = live.status
        for other in list(self._board.sessions.values()):
            same_process = other.pid == status.pid and other.pid_start in (
                None,
                0,
                status.proc_start,
            )
            parked = status.parked_job_id is not None and other.session_id == status.session_id
            if not same_process or other.verdict.state == "ended":
                continue
            if (other.session_id == status.session_id and not parked) or (
                other.last_event_at >= status.updated_at
            ):
                continue
            claim = Claim(source="registry", at=now, says="gone", cause="its process shows another")
            self._board.claim(other.session_id, claim, now)

    def _meet(self, strangers: list[Unclaimed]) -> None:
        """Agents of which nothing was heard: their screens are looked at."""
        met = []
        for found in strangers:
            pane = self._fleet.pane_of_process(found.chain)
            if pane is not None:
                process = found.process
                met.append(Stranger(process.pid, process.start, found.cwd, found.home, pane))
        self.screens.meet(met)

    def _adopt(self, unclaimed: Unclaimed, now: int) -> None:
        """A session that was found by its process alone."""
        session = self._board.sessions.get(unclaimed.session_id)
        pane = self._fleet.pane_of_process(unclaimed.chain)
        if pane is None:
            return
        if session is None:
            session = Session(
                session_id=unclaimed.session_id,
                harness="claude",
                first_seen=now,
            )
            self._board.put(session)
        self._board.update(
            unclaimed.session_id,
            cwd=session.cwd or unclaimed.cwd,
            home=unclaimed.home,
            transcript_path=unclaimed.transcript_path,
            pane=pane,
            placed_at=now,
            left_pane=False,
            pid=unclaimed.process.pid,
            pid_start=unclaimed.process.start,
        )
        self._end_stranger(unclaimed.process.pid, unclaimed.session_id)
        log.info("found session %s by its process", unclaimed.session_id)

    def _end_stranger(self, pid: int, session_id: str) -> None:
        """The process has told its session's real name."""
        for other in list(self._board.sessions.values()):
            if (
                other.pid == pid
                and is_stranger(other.session_id)
                and other.session_id != session_id
            ):
                self._board.forget(other.session_id)

    # --- watching -----------------------------------------------------------------------

    def _watched(self) -> frozenset[str]:
        paths = set()
        for home in self._homes():
            directory = os.path.join(home, "sessions")
            # Where it is not there yet, its coming is what to watch for.
            paths.add(directory if os.path.isdir(directory) else home)
        for session in self._known():
            if session.transcript_path:
                paths.add(os.path.dirname(session.transcript_path))
        return frozenset(p for p in paths if os.path.isdir(p))

    async def watch(self, after: Callable[[], None]) -> None:
        """For ever: look at what has changed, and call `after`. The sweep makes up for watches
        that the system refuses or that die with their directory."""
        from watchfiles import awatch

        while True:
            self._watch_changed.clear()
            watched = self._watched()
            if not watched:
                await self._watch_changed.wait()
                await asyncio.sleep(0.2)
                continue
            stop = asyncio.Event()
            renew = asyncio.create_task(self._renew(watched, stop))
            try:
                async for changes in awatch(
                    *watched,
                    step=WATCH_STEP,
                    debounce=WATCH_DEBOUNCE,
                    stop_event=stop,
                    recursive=False,
                    rust_timeout=1000,
                    yield_on_timeout=False,
                ):
                    await self.glance(frozenset(path for _, path in changes))
                    after()
            except (OSError, RuntimeError) as error:
                if not self._watch_failed:
                    self._watch_failed = True
                    log.warning("files cannot be watched (%s): the sweep alone looks", error)
                await asyncio.sleep(5)
            finally:
                renew.cancel()

    async def _renew(self, watched: frozenset[str], stop: asyncio.Event) -> None:
        """End the watch when other directories are to be watched."""
        while self._watched() == watched:
            await self._watch_changed.wait()
            self._watch_changed.clear()
        stop.set()


def _with_parents(chain: tuple[int, ...]) -> set[int]:
    """The chain and the parent of its last process: whether it was walked to its end."""
    last = processes.look(chain[-1]) if chain else None
    return {*chain, last.ppid} if last else set(chain)
