"""The broker: sockets, timers and the loop that ties intake, board, store and announcer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import zmq
import zmq.asyncio

from trailboss import config as configuration
from trailboss import paths
from trailboss.broker.announce import Announcer
from trailboss.broker.api import Api
from trailboss.broker.fleet import Fleet
from trailboss.broker.intake import Intake, read_journal
from trailboss.broker.place import Place
from trailboss.broker.reconcile import Reconciler
from trailboss.broker.store import Store
from trailboss.core.board import Board, PaneRef
from trailboss.core.queue import Rules
from trailboss.emit import journal, marks

log = logging.getLogger(__name__)

#: Messages taken from the events socket before they are committed together.
BATCH = 1000
#: The journal is left to the emit worker for this many ms.
JOURNAL_AGE = 700
#: Seconds between two removals of old event ids.
PRUNE = 3600.0
#: Seconds after which a mark whose entry was never seen is somebody's left-over.
MARK_AGE = 10.0
#: Bytes of a frame that the socket takes at all; an event above 1 MiB is set aside with its reason.
MAX_FRAME = 64 * 1024 * 1024
#: Seconds after an event at which the status files are read again, since they change just after.
LOOK_AGAIN = (0.25, 1.3)
#: A jump of the clock against the sleep, in seconds, that means the machine was suspended.
SUSPENDED = 5.0


class Broker:
    """One broker. `run` serves until SIGTERM or SIGINT."""

    def __init__(self, place: Place, env: Mapping[str, str] = os.environ) -> None:
        self.place = place
        self.config = configuration.load(env)
        for line in self.config.warnings:
            log.warning("%s", line)
        self.board = Board(
            Rules(
                self.config.ms("queue.skip_cooldown_s"),
                self.config.ms("queue.background_grace_s"),
            )
        )
        self.store = Store(paths.database(place.state))
        self.alerts: list[str] = list(self.config.warnings)
        notice = self.store.open()
        if notice:
            log.warning("%s", notice)
            self.alerts.append(notice)
        for session in self.store.sessions():
            self.board.put(session)
        self.rev = int(self.store.get("rev") or 0)
        self.intake = Intake(self.board, self.store.event_ids())
        self.fleet = Fleet(env, self.config["tmux.sockets"])
        for session in self.board.sessions.values():
            if session.pane:
                self.fleet.name(session.pane.socket)
        self.reconciler = Reconciler(self.board, self.fleet, self.now, env)
        self.announcer = Announcer(self.board, self.fleet, self.now, self._publish, self._next_rev)
        self.api = Api(self)
        self.started_at = self.now()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._dirty = asyncio.Event()
        self._committed = asyncio.Condition()
        self._commits = 0
        self._saved_rev = self.rev
        self._committing = False
        self._marked: set[str] = set()
        self._refreshing: asyncio.Task[None] | None = None
        self._glancing: asyncio.Task[None] | None = None
        self._unsaved: dict[str, None] = {}

    @staticmethod
    def now() -> int:
        return time.time_ns() // 1_000_000

    # --- life ---------------------------------------------------------------------

    async def run(self) -> None:
        """Serve until told to stop. Raises place.Taken before anything was touched."""
        context = zmq.asyncio.Context()
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, stop.set)
        await self._replay()
        pull, router, self._pub = self._bind(context)
        self.place.write_pointer()
        tasks = [
            asyncio.create_task(self._guard(work))
            for work in (
                self._events(pull), self._requests(router), self._journal(), self._commit_loop(),
                self._sweeps(), self.announcer.keep_options(),
                self.reconciler.watch(self._changed_soon), self._screens(),
            )
        ]  # fmt: skip
        log.info("broker %s serves %s", os.getpid(), self.place.runtime)
        try:
            await stop.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._drain(pull)
            await self._commit()
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self.fleet.close(), 3)
            self.reconciler.close()
            await loop.run_in_executor(self._writer, self.store.close)
            self._writer.shutdown()
            context.destroy(linger=200)
            self.place.leave()
            log.info("broker %s stopped", os.getpid())

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        """A part that fails must be heard of: the broker without it would lie."""
        try:
            await work
        except asyncio.CancelledError:
            raise
        except Exception:
            log.critical("a part of the broker failed; it stops", exc_info=True)
            os.kill(os.getpid(), signal.SIGTERM)

    def _bind(
        self, context: zmq.asyncio.Context
    ) -> tuple[zmq.asyncio.Socket, zmq.asyncio.Socket, zmq.asyncio.Socket]:
        out = []
        for kind, path in (
            (zmq.PULL, paths.events_socket(self.place.runtime)),
            (zmq.ROUTER, paths.api_socket(self.place.runtime)),
            (zmq.PUB, paths.pub_socket(self.place.runtime)),
        ):
            socket = context.socket(kind)
            socket.setsockopt(zmq.LINGER, 200)
            socket.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME)
            if kind == zmq.PULL:
                socket.setsockopt(zmq.RCVHWM, 10_000)
            else:
                socket.setsockopt(zmq.SNDHWM, 100)
            socket.bind(paths.endpoint(path))
            out.append(socket)
        self.place.bound()
        return out[0], out[1], out[2]

    # --- events ---------------------------------------------------------------------

    async def _replay(self) -> None:
        """What hooks wrote while no broker ran."""
        await self._read_journal(older_than=0)
        await self._commit()

    async def _events(self, pull: zmq.asyncio.Socket) -> None:
        while True:
            frames = await pull.recv_multipart()
            self.intake.frames(frames, self.now())
            await self._drain(pull)
            self._events_taken()

    async def _drain(self, pull: zmq.asyncio.Socket) -> None:
        """Take what has come already."""
        plain = zmq.Socket.shadow(pull.underlying)
        for _ in range(BATCH):
            try:
                frames = plain.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self.intake.frames(frames, self.now())

    def _events_taken(self) -> None:
        self._name_servers()
        self._changed_soon()
        loop = asyncio.get_running_loop()
        for delay in LOOK_AGAIN:
            loop.call_later(delay, self._look_again)

    def _name_servers(self) -> None:
        """Look at a tmux server, or a pane, that an event has named for the first time."""
        for session in self.board.sessions.values():
            pane = session.pane
            if pane is None or session.entry is None:
                continue
            new = self.fleet.name(pane.socket)
            if new or (self.fleet.of(pane) is None or self.fleet.target(pane) is None):
                self._refresh_soon()
                return

    async def _screens(self) -> None:
        """Each second: the panes whose dialogs only their screens can tell of."""
        while True:
            await asyncio.sleep(1)
            if await self.reconciler.screens.look(whole=False):
                self._changed_soon()

    def _refresh_soon(self) -> None:
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh())

    async def _refresh(self) -> None:
        await self.fleet.refresh()
        self.announcer.refresh_options()
        await asyncio.sleep(1)  # a pane that nobody can find must not make this a loop

    def _look_again(self) -> None:
        if self._glancing is None or self._glancing.done():
            self._glancing = asyncio.create_task(self._glance())

    async def _glance(self) -> None:
        await self.reconciler.glance()
        self._changed_soon()

    # --- the journal -------------------------------------------------------------------

    async def _journal(self) -> None:
        while True:
            await asyncio.sleep(1)
            await self._read_journal(JOURNAL_AGE)

    async def _read_journal(self, older_than: int) -> None:
        directory = paths.journal_dir(self.place.state)
        now = self.now()
        loop = asyncio.get_running_loop()
        good, bad = await loop.run_in_executor(None, read_journal, directory, older_than, now)
        for entry, events in good:
            self.intake.entry(entry, events, self.now())
        for name, reason in bad:
            self.intake.reject(f"journal entry {name}: {reason}")
            await loop.run_in_executor(None, journal.set_aside, directory, name, reason)
        if good:
            self._name_servers()
            self._changed_soon()

    # --- saving and announcing ------------------------------------------------------------

    def _changed_soon(self) -> None:
        """Something was applied: have it saved and then announced."""
        self._dirty.set()

    async def changed(self) -> None:
        """The same, and wait (a little) until it is on disk."""
        # A commit that is under way may have been begun without it.
        wanted = self._commits + (2 if self._committing else 1)
        self._dirty.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0), self._committed:
                await self._committed.wait_for(lambda: self._commits >= wanted)

    async def _commit_loop(self) -> None:
        delay = 0.0
        while True:
            if delay:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._dirty.wait(), delay)
                await asyncio.sleep(0.05)
            else:
                await self._dirty.wait()
            self._dirty.clear()
            self._committing = True
            saved = await self._commit()
            self._committing = False
            delay = 0.0 if saved else min(max(delay * 2, 0.5), 5.0)
            self.announcer.notify()
            async with self._committed:
                self._commits += 1
                self._committed.notify_all()

    async def _commit(self) -> bool:
        """One transaction for everything since the last; whether it is on disk."""
        events, names = self.intake.take_uncommitted()
        self._unsaved.update(dict.fromkeys(self.board.take_changed()))
        batch = [(i, self.board.sessions.get(i)) for i in self._unsaved]
        rev = self.rev
        if not (events or names or batch) and rev == self._saved_rev:
            return True
        meta = {"rev": str(rev)}
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(
                self._writer, self.store.commit, batch, events, meta, self.now()
            )
        except Exception as error:
            self.intake.put_back(events, names)
            self._alert(f"not saved: {error}")
            return False
        self._alert(None)
        self._saved_rev = rev
        # What changed while it was being written stays for the next one.
        for session_id, session in batch:
            if self.board.sessions.get(session_id) is session:
                self._unsaved.pop(session_id, None)
        self._keep_marks(batch, names)
        await loop.run_in_executor(None, self._remove_journalled, names)
        return True

    def _alert(self, text: str | None) -> None:
        """Say once that nothing is saved, and once that it is again."""
        had = [a for a in self.alerts if a.startswith("not saved")]
        if text is None:
            if had:
                log.warning("saved again")
                self.alerts = [a for a in self.alerts if not a.startswith("not saved")]
        elif not had:
            log.error("%s", text)
            self.alerts.append(text)

    def _remove_journalled(self, names: set[str]) -> None:
        directory = paths.journal_dir(self.place.state)
        for name in names:
            journal.remove(directory, name)

    def _keep_marks(self, batch: list[tuple[str, Any]], names: set[str]) -> None:
        """Marks let a hook that fires on every tool call leave early (emit/marks).

        A queued session keeps one of the broker's own. Of the fronts' marks only those go whose
        journal entry is committed and whose session is no longer in the queue: a request that is
        still on its way has a mark of another name.
        """
        state = self.place.state
        for session_id, session in batch:
            if session is not None and session.entry is not None:
                if session_id not in self._marked:
                    self._marked.add(session_id)
                    marks.put(state, session_id)
                continue
            found = marks.of_session(state, session_id)
            over = {m for m in found if m in names or m == marks.BROKER}
            if found - over:
                # A front makes its mark before its entry: one without an entry may be about to.
                waiting = {e.name for e in journal.entries(paths.journal_dir(state))}
                old = marks.older_than(state, session_id, MARK_AGE)
                over |= (found - waiting) & old
            marks.remove(state, session_id, over)
            self._marked.discard(session_id)

    def _next_rev(self) -> int:
        """Revisions never go down, over restarts and a lost database either."""
        self.rev = max(self.rev + 1, self.now())
        return self.rev

    def _publish(self, message: bytes) -> None:
        task = asyncio.ensure_future(self._pub.send_multipart([b"queue", message]))
        task.add_done_callback(lambda t: t.cancelled() or t.exception())
        self._dirty.set()

    # --- requests ---------------------------------------------------------------------------

    async def _requests(self, router: zmq.asyncio.Socket) -> None:
        while True:
            frames = await router.recv_multipart()
            envelope, body = _envelope(frames)
            task = asyncio.create_task(self._answer(router, envelope, body))
            task.add_done_callback(lambda t: t.cancelled() or t.exception())

    async def _answer(self, router: zmq.asyncio.Socket, envelope: list[bytes], body: bytes) -> None:
        reply = await self.api.answer(body)
        with contextlib.suppress(zmq.Again):
            await router.send_multipart([*envelope, reply], flags=zmq.NOBLOCK)

    def target_of(self, pane: PaneRef) -> str | None:
        return self.fleet.target(pane)

    def status(self) -> dict[str, Any]:
        """The result of the `status` operation."""
        now = self.now()
        queue = self.board.queue(now)
        ready = self.board.ready(now)
        return {
            "depth": len(queue),
            "ready": len(ready),
            "sessions": sum(s.verdict.state != "ended" for s in self.board.sessions.values()),
            "uptime_ms": now - self.started_at,
            "last_reconcile": self.reconciler.last_sweep,
            "events": {
                "received": self.intake.received,
                "rejected": self.intake.rejected,
                "replayed": self.intake.replayed,
            },
            "detector": {
                "servers": len(self.fleet.snapshots),
                "panes": sum(len(s.panes) for s in self.fleet.snapshots.values()),
                "last_cycle_ms": 0,
                "max_cycle_ms": 0,
                "latency_ms": 0,
            },
            "oldest_ms": max((now - s.entry.since for s in queue if s.entry), default=0),
            "alerts": list(self.alerts),
        }

    # --- reconciling --------------------------------------------------------------------------

    async def reconcile(self) -> dict[str, int]:
        """One sweep, saved and announced."""
        counts = await self.reconciler.sweep()
        self.announcer.refresh_options()
        await self.changed()
        return counts

    def _prune(self) -> None:
        try:
            self.store.prune(self.now())
        except Exception as error:  # a locked or full disk: another time
            log.debug("not pruned: %s", error)

    async def _sweeps(self) -> None:
        """At the start, at every interval, and as soon as a suspended machine wakes."""
        interval = max(0.5, float(self.config["reconcile.sweep_s"]))
        pruned = 0.0
        while True:
            try:
                await self.reconcile()
            except Exception:
                log.exception("a sweep failed")
            if time.time() - pruned > PRUNE:
                pruned = time.time()
                await asyncio.get_running_loop().run_in_executor(self._writer, self._prune)
            end = time.time() + interval
            while (left := end - time.time()) > 0:
                before = time.time()
                await asyncio.sleep(min(left, 1.0))
                if time.time() - before > SUSPENDED:
                    break


def _envelope(frames: list[bytes]) -> tuple[list[bytes], bytes]:
    """The reply's address and the request's body, of whatever shape a client has sent."""
    if len(frames) >= 3 and frames[1] == b"":
        body = frames[2] if len(frames) == 3 else b""
        return frames[:2], body
    return frames[:1], frames[1] if len(frames) == 2 else b""
