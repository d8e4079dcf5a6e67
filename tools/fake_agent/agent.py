"""One agent: its life, its status, what it asks, and what the keys on its terminal do."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tools.fake_agent.hooks import Hooks
from tools.fake_agent.keys import Decoder
from tools.fake_agent.payloads import Subagent, payload
from tools.fake_agent.registry import Registry
from tools.fake_agent.reminder import Reminder
from tools.fake_agent.screen import Dialog, Terminal, View, render
from tools.fake_agent.script import Action
from tools.fake_agent.session import Session, now_ms
from tools.fake_agent.transcript import Transcript


class Answer(NamedTuple):
    """What the person chose: yes or no, which option (from 0), and what was typed with it."""

    yes: bool
    option: int = 0
    text: str = ""


@dataclass(slots=True, eq=False)
class Request:
    """An open dialog and the future of its answer."""

    dialog: Dialog
    answer: asyncio.Future[Answer]
    waits_for: str | None
    agent: Subagent | None = None
    denies: int = -1
    notification: str | None = None
    reminded: bool = False


@dataclass(slots=True)
class Shell:
    """A command that runs on in the background, as `background_tasks` lists it."""

    command: str
    description: str
    tool_id: str


@dataclass(slots=True)
class Pace:
    """Seconds: the model's pause before it acts, and until the two reminders."""

    think: float = 0.01
    notify_after: float = 6.0
    idle_after: float = 60.0


@dataclass(slots=True)
class Prompt:
    """A prompt on its way; `announced` when its UserPromptSubmit has fired already."""

    text: str
    at: int = field(default_factory=now_ms)
    origin: str = "human"
    announced: bool = False


class Agent:
    """The parts of one agent, and the one place that says what it is doing."""

    def __init__(
        self,
        session: Session,
        hooks: Hooks,
        transcript: Transcript,
        registry: Registry,
        terminal: Terminal,
        pace: Pace,
        turn: Callable[[Agent, Prompt], Any],
        press: Callable[[Agent, str], None],
    ) -> None:
        self.session, self.hooks, self.transcript = session, hooks, transcript
        self.registry, self.terminal, self.pace = registry, terminal, pace
        home = os.environ.get("HOME", "")
        self.view = View(session.version, session.cwd.replace(home, "~", 1) if home else "")
        self._turn, self._press = turn, press
        self.task: asyncio.Task[None] | None = None
        self.turning = False
        self.holding = False
        self.interrupting = False
        self.helpers: dict[str, asyncio.Task[None]] = {}
        self.shells: dict[str, Shell] = {}
        self.asked: list[Request] = []
        self.queued: deque[Prompt] = deque()
        self.script: asyncio.Queue[Action] = asyncio.Queue()
        self.final_text: str | None = None
        self.keys_seen = 0
        self.reminder = Reminder(self)
        self.finished: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ending = False
        self._waiters: list[asyncio.Future[None]] = []
        self._ctrl_c = 0.0
        self._decoder = Decoder()
        self._background: set[asyncio.Task[None]] = set()

    async def start(self, source: str = "startup") -> None:
        """Status file, screen and SessionStart, in the CLI's order; idle when it returns."""
        self.registry.open()
        self.terminal.open()
        self.redraw()
        more: dict[str, Any] = {"model": self.session.version.model} if source == "startup" else {}
        await self.fire("SessionStart", source=source, **more)
        self.refresh()

    async def finish(self, reason: str) -> None:
        """The orderly end: the status file goes, SessionEnd runs, the terminal is given back."""
        if self._ending:
            return
        self._ending = True
        self.reminder.cancel()
        for task in (self.task, *self.helpers.values()):
            if task is not None:
                task.cancel()
        self.registry.close()
        self.terminal.title("")
        await self.fire("SessionEnd", reason=reason)
        self.transcript.close()
        self.terminal.close()
        if not self.finished.done():
            self.finished.set_result(0)

    async def clear(self) -> None:
        """`/clear`: the old session ends, a new one begins in the same process and pane."""
        self.reminder.cancel()
        await self.fire("SessionEnd", reason="clear")
        self.transcript.close()
        self.session.renew()
        if not self.session.named:
            self.session.title = None
        self.registry.set("busy")
        self.transcript.begin()
        self.transcript.cleared()
        self.view.blocks = ["❯ /clear"]
        await self.fire("SessionStart", source="clear")
        self.refresh()

    async def fire(
        self, event: str, agent: Subagent | None = None, wait: bool = True, **fields: Any
    ) -> None:
        """Run the hooks of one event."""
        await self.hooks.fire(payload(self.session, event, agent, **fields), wait)

    @property
    def shown(self) -> Request | None:
        """The dialog on the screen: of several the newest."""
        return self.asked[-1] if self.asked else None

    @property
    def resting(self) -> bool:
        """Whether nothing goes on until somebody acts: idle, held, or every actor is asking."""
        actors = int(self.turning and not self.holding) + len(self.helpers)
        asking = sum(request.dialog.kind != "local" for request in self.asked)
        return asking >= actors and not self.queued

    def refresh(self) -> None:
        """Tell the status file and the screen what is so now, and wake who waits for it."""
        if self._ending:
            return
        visible = [request for request in self.asked if request.waits_for]
        if visible:
            self.registry.set("waiting", visible[-1].waits_for)
        elif self.turning or self.helpers:
            self.registry.set("busy")
        else:
            self.registry.set("shell" if self.shells else "idle")
        self.redraw()
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def redraw(self) -> None:
        if self._ending:
            return
        view = self.view
        view.dialog = self.shown.dialog if self.shown else None
        view.permission_mode = self.session.permission_mode
        view.queued = [prompt.text for prompt in self.queued if prompt.origin == "human"]
        running = len(self.shells)
        view.note = f"{running} shell{'s' * (running > 1)} · " if running else ""
        if not self.turning:
            view.busy_since = None
        elif view.busy_since is None:
            view.busy_since = time.monotonic()
        title = self.session.title or "Claude Code"
        spins = self.turning and not self.asked and not self.session.version.modern
        self.terminal.title(f"{'⠂' if spins else '✳'} {title}")
        self.terminal.draw(render(view, *self.terminal.size, now=time.monotonic()))

    async def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Wait for what a refresh can make true. Raises TimeoutError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not condition():
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiters.append(waiter)
            await asyncio.wait_for(waiter, max(0.0, deadline - loop.time()))

    def background_tasks(self) -> list[dict[str, Any]]:
        """What Stop says is still running."""
        shells = [
            {
                "id": name,
                "type": "shell",
                "status": "running",
                "description": shell.description,
                "command": shell.command,
            }
            for name, shell in self.shells.items()
        ]
        return shells + [
            {
                "id": name,
                "type": "subagent",
                "status": "running",
                "description": task.get_name(),
                "agent_type": "general-purpose",
            }
            for name, task in self.helpers.items()
        ]

    def submit(self, prompt: Prompt) -> None:
        """Take a prompt: a turn begins, or the prompt waits for the running one to end.

        2.1.332 fires UserPromptSubmit at once for a prompt typed while busy, and none when its
        own turn starts.
        """
        self.reminder.cancel()
        if not self.turning:
            self.turning = True
            self.task = asyncio.create_task(self._turn(self, prompt))
        else:
            if self.session.version.modern and prompt.origin == "human":
                prompt.announced = True
                self.later(self.fire("UserPromptSubmit", prompt=prompt.text))
            self.queued.append(prompt)
        self.refresh()

    def turn_over(self) -> None:
        """The turn has ended, with or without a Stop; the next prompt in line begins."""
        self.turning = self.holding = self.interrupting = False
        self.task = None
        self.final_text = None
        self.refresh()
        if self.queued:
            self.submit(self.queued.popleft())
        else:
            self.reminder.of_idle()

    def interrupt(self) -> None:
        """Esc while busy: the turn is broken off, no hook fires."""
        if self.turning and self.task is not None and not self.interrupting:
            self.interrupting = True
            self.task.cancel()

    def ask(
        self,
        dialog: Dialog,
        waits_for: str | None,
        agent: Subagent | None = None,
        denies: int | None = None,
        notification: str | None = "permission_prompt",
    ) -> Request:
        """Open a dialog; the answer is awaited on its future.

        `denies` is the option that says no (the last one). The reminder notification comes when
        the dialog is still open after some seconds without a key, once.
        """
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        no = len(dialog.options) - 1 if denies is None else denies
        request = Request(dialog, answer, waits_for, agent, no, notification)
        self.asked.append(request)
        self.refresh()
        if notification:
            self.reminder.of_dialog(request)
        return request

    def answer(self, request: Request, answer: Answer) -> None:
        """The dialog closes with this answer."""
        if request in self.asked:
            self.asked.remove(request)
            if not request.answer.done():
                request.answer.set_result(answer)
            self.refresh()

    def withdraw(self, request: Request) -> None:
        """The dialog closes unanswered, since its turn was broken off."""
        if request in self.asked:
            self.asked.remove(request)

    def later(self, work: Any) -> None:
        """Let a coroutine run beside all else; the step that caused it still waits for it."""
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def settle(self) -> None:
        """Wait for what was started beside: the hooks above all."""
        while self._background:
            await asyncio.wait(set(self._background))
        await self.hooks.settle()

    def read_terminal(self) -> None:
        """Bytes have come on standard input."""
        try:
            data = os.read(0, 65536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(0)
            self.later(self.finish("other"))
            return
        self._type(self._decoder.feed(data))
        if self._decoder.waiting:
            loop = asyncio.get_running_loop()
            loop.call_later(0.05, lambda: self._type(self._decoder.flush()))

    def _type(self, keys: list[str]) -> None:
        for key in keys:
            self.press(key)

    def press(self, key: str) -> None:
        """One key, as the terminal or a script gives it."""
        self.keys_seen += 1
        if key == "C-z":
            self._suspend()
        else:
            self.reminder.key()
            self._press(self, key)
        self.refresh()

    def ctrl_c(self) -> bool:
        """Whether this Ctrl-C is the second within a second."""
        now = time.monotonic()
        twice, self._ctrl_c = now - self._ctrl_c < 1.0, now
        return twice

    def _suspend(self) -> None:
        self.terminal.close(keep_title=True)
        os.kill(os.getpid(), signal.SIGTSTP)

    def resume(self) -> None:
        """Continued after Ctrl-Z."""
        self.terminal.open()
        self.redraw()
