"""Performs the steps of a script on an agent, and answers a controller on a Unix socket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import Any

from tools.fake_agent import keys, person
from tools.fake_agent.agent import Agent, Prompt, Request
from tools.fake_agent.helper import end_shell
from tools.fake_agent.script import BadStep, Step, parse_step, parse_steps, turn_plan
from tools.fake_agent.session import compact

#: Seconds a step waits for the turn to rest before it is an error.
PATIENCE_S = 60.0


class Impossible(Exception):
    """The step makes no sense where the agent is; the text says why."""


class Director:
    """Performs steps, one after the other."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._lock = asyncio.Lock()

    async def perform(self, step: Step) -> None:
        """One step, to its end and that of the hooks it caused.

        Raises BadStep, Impossible, or TimeoutError when the turn does not come to rest.
        """
        async with self._lock:
            await self._perform(step)
            await self.agent.settle()

    async def _perform(self, step: Step) -> None:
        agent, argument = self.agent, step.argument
        match step.word:
            case "prompt":
                await self._prompt(argument)
            case "submit":
                await self._submit(argument)
            case "stop":
                await self._model(f"[[say: {argument or 'All done.'}]]", "go on")
            case "permission":
                await self._model(f"[[bash: {argument or 'touch made'}]]", "please")
            case "question":
                await self._model(f"[[ask: {argument}]]", "choose")
            case "plan":
                await self._model("[[plan]]", "make a plan")
            case "error":
                await self._model(f"[[error: {argument or 529}]]", "try")
            case "subagent-permission":
                await self._model(f"[[agent: {argument or 'touch made'}]]", "delegate")
            case "background":
                await self._model(f"[[bgrun: {argument or 'sleep 600'}]]", "start")
            case "background-end":
                self._end_background()
                await self._rest()
            case "busy":
                await self._submit(f"{argument or 'work on it'} [[hold]]")
                await agent.until(lambda: agent.holding, PATIENCE_S)
            case "approve":
                agent.final_text = argument or None
                person.approve(agent, self._dialog())
                await self._rest()
            case "deny":
                request = self._dialog()
                last = len(request.dialog.options) - 1
                if argument == "no" and request.denies == last:
                    person.choose(agent, request, last)
                else:
                    person.deny(agent, request)
                await self._rest()
            case "interrupt":
                if not agent.turning:
                    raise Impossible("nothing to interrupt: the agent is not busy")
                agent.interrupt()
                await agent.until(lambda: not agent.turning, PATIENCE_S)
            case _:
                await self._other(step)

    async def _other(self, step: Step) -> None:
        agent, argument = self.agent, step.argument
        match step.word:
            case "drop":
                self._drop(argument)
            case "notify":
                await agent.reminder.fire(argument or self._reminder())
            case "key":
                for key in keys.names(argument):
                    agent.press(key)
            case "type":
                for character in argument:
                    agent.press(character)
            case "rename":
                person.rename(agent, argument)
                agent.refresh()
            case "title":
                agent.session.title = argument
                agent.refresh()
            case "compact":
                await person.compact(agent)
            case "wait":
                await asyncio.sleep(_seconds(argument))
            case "wait-key":
                seen = agent.keys_seen
                await agent.until(lambda: agent.keys_seen > seen, _seconds(argument))
                await self._rest()
            case "rest":
                await self._rest(_seconds(argument))
            case "clear":
                if agent.turning:
                    raise Impossible("/clear is for an idle agent")
                await agent.clear()
            case "end":
                await agent.finish(argument or "prompt_input_exit")
            case "crash":
                os.kill(os.getpid(), signal.SIGKILL)

    def state(self) -> dict[str, Any]:
        """What a test may want to know of the agent now."""
        agent, session = self.agent, self.agent.session
        return {
            "pid": session.pid,
            "session_id": session.id,
            "prompt_id": session.prompt_id,
            "cwd": session.cwd,
            "version": session.version.number,
            "transcript": str(session.transcript),
            "status_file": str(agent.registry.path),
            "status": agent.registry.status,
            "waiting_for": agent.registry.waiting_for,
            "resting": agent.resting,
            "dialog": agent.shown.dialog.kind if agent.shown else None,
            "dialogs": len(agent.asked),
            "input": agent.view.input,
            "keys": agent.keys_seen,
            "background": [task["id"] for task in agent.background_tasks()],
            "fired": dict(agent.hooks.fired),
            "dropped": dict(agent.hooks.dropped),
            "complaints": list(agent.hooks.complaints),
        }

    async def _prompt(self, text: str) -> None:
        person.enter(self.agent, text)
        await self._rest()

    async def _submit(self, text: str) -> None:
        agent = self.agent
        before = agent.session.prompt_id
        agent.submit(Prompt(text))
        await agent.until(lambda: agent.session.prompt_id != before or bool(agent.queued))

    async def _model(self, marker: str, words: str) -> None:
        """What the model does next: in the held turn, else in a turn of its own."""
        agent = self.agent
        if agent.holding:
            agent.holding = False
            for action in turn_plan(marker):
                agent.script.put_nowait(action)
        elif agent.turning:
            raise Impossible("the agent is busy with another turn")
        else:
            agent.submit(Prompt(f"{words} {marker}"))
        await self._rest()

    async def _rest(self, seconds: float = PATIENCE_S) -> None:
        agent = self.agent
        await agent.until(lambda: agent.resting, seconds)

    def _dialog(self) -> Request:
        request = self.agent.shown
        if request is None:
            raise Impossible("no dialog is open")
        return request

    def _drop(self, names: str) -> None:
        for name in names.replace(",", " ").split():
            try:
                self.agent.hooks.drop(name)
            except ValueError as error:
                raise BadStep(str(error)) from None

    def _end_background(self) -> None:
        if not self.agent.shells:
            raise Impossible("no background shell runs")
        end_shell(self.agent, next(iter(self.agent.shells)))

    def _reminder(self) -> str:
        request = self.agent.shown
        return (request.notification if request else None) or "idle_prompt"


def _seconds(argument: str) -> float:
    if not argument:
        return PATIENCE_S
    try:
        return float(argument)
    except ValueError:
        raise BadStep(f"{argument!r} is no number of seconds") from None


async def serve(director: Director, path: str) -> asyncio.AbstractServer:
    """Answer controllers on a Unix socket at `path`, which this process alone uses.

    One line of JSON in: `{"do": [step, …]}`; or a line of steps as in a script. One line out, after
    the last step: `{"ok": true, "state": {…}}`, or `{"ok": false, "error": "…", "state": {…}}`
    after the first that failed.
    """

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write((compact(await _answer(director, line)) + "\n").encode())
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            writer.close()

    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    return await asyncio.start_unix_server(talk, path, limit=1 << 22)


async def _answer(director: Director, line: bytes) -> dict[str, Any]:
    error: str | None = None
    try:
        for step in _steps(line.decode("utf-8", "replace").strip()):
            await director.perform(step)
    except TimeoutError:
        error = "the turn did not come to rest"
    except (BadStep, Impossible) as problem:
        error = str(problem)
    state = director.state()
    return {"ok": True, "state": state} if error is None else _failed(error, state)


def _failed(error: str, state: dict[str, Any]) -> dict[str, Any]:
    return {"ok": False, "error": error, "state": state}


def _steps(line: str) -> list[Step]:
    if not line.startswith("{"):
        return parse_steps(line)
    try:
        texts = json.loads(line)["do"]
    except (ValueError, KeyError, TypeError):
        texts = None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise BadStep(f'not {{"do": [step, …]}}: {line[:80]}')
    return [parse_step(text) for text in texts]
