"""What the model does with a prompt, hook by hook in the captured order."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any

from tools.fake_agent.agent import Agent, Prompt
from tools.fake_agent.calls import Refused, bash
from tools.fake_agent.script import ERRORS, GREETING, Action, turn_plan
from tools.fake_agent.session import now_ms
from tools.fake_agent.tools import Tools

#: What the model says at the end of a turn, after the last thing it did.
CLOSING = {
    "ask": "Thank you for the answer.",
    "plan": "The plan is carried out.",
    "delegate": "The helper has finished.",
    "background": "It is running in the background.",
}
BROKEN = "  ⎿  Interrupted · What should Claude do instead?"


class Failed(Exception):
    """The API refused: (status, error word, text)."""


async def take_turn(agent: Agent, prompt: Prompt) -> None:
    """Play one prompt to its end: Stop, StopFailure, or nothing at all after a no or an Esc."""
    turn = Turn(agent, prompt)
    try:
        await turn.play()
    except Refused:
        agent.view.blocks.append(BROKEN)
    except asyncio.CancelledError:
        if not agent.interrupting:
            raise
        turn.interrupted()
    agent.turn_over()


class Turn:
    """One turn of the main agent."""

    def __init__(self, agent: Agent, prompt: Prompt) -> None:
        self.agent, self.prompt = agent, prompt
        self.started = now_ms()
        self.begun = time.monotonic()
        self.streamed = ""
        self.tools = Tools(agent)
        self.said = False

    async def play(self) -> None:
        agent, prompt = self.agent, self.prompt
        agent.session.prompt_id = str(uuid.uuid4())
        if prompt.origin == "human":
            agent.view.person(prompt.text)
        agent.refresh()
        local = prompt.text.startswith("!")
        if not prompt.announced and not local:
            await agent.fire("UserPromptSubmit", prompt=prompt.text)
        if not agent.session.version.modern and agent.session.title is None:
            agent.session.title = "Fake session title"
        agent.transcript.prompt(prompt.text, prompt.at, prompt.origin)
        await asyncio.sleep(agent.pace.think)
        plan = turn_plan(prompt.text) if prompt.origin == "human" else [_after_task(agent)]
        try:
            text = await self._actions(plan)
        except Failed as failure:
            await self._fail(*failure.args)
            return
        await self._stop(text)

    async def _actions(self, plan: list[Action]) -> str:
        """Do it all; the text the turn ends with."""
        text = "All done."
        for number, action in enumerate(plan):
            text = await self._act(action)
            if action.kind == "say" and number + 1 < len(plan):
                self.tools.say_before(text)
        return self.agent.final_text or text

    async def _act(self, action: Action) -> str:
        """Do one thing; the text that would end the turn after it."""
        tools = self.tools
        match action.kind:
            case "say":
                return action.argument
            case "stream":
                return await self._stream(float(action.argument))
            case "hang":
                await asyncio.sleep(float(action.argument))
                return GREETING
            case "hold":
                return await self._hold()
            case "error":
                status = int(action.argument)
                raise Failed(status, *ERRORS.get(status, ERRORS[500]))
            case "tools":
                calls = [bash(command) for command in action.arguments]
                await tools.commands(calls, action.asks)
            case "unchecked":
                await tools.commands([bash(action.argument)], asks=True, announced=False)
            case "flagged":
                await tools.flagged(bash(action.argument))
            case "background":
                await tools.background(action.argument, action.asks)
            case "ask":
                await tools.question(action.argument)
            case "plan":
                await tools.plan()
            case "form":
                await tools.form()
            case "nested":
                await tools.nested(action.argument)
            case "delegate" | "delegate-background":
                waits = action.kind == "delegate" and not self.agent.session.version.modern
                for command in action.arguments:
                    await tools.delegate(command, waits)
        return CLOSING.get(action.kind.removesuffix("-background"), "All done.")

    async def _hold(self) -> str:
        """A turn that goes on until a step says what comes next."""
        agent = self.agent
        while True:
            agent.holding = True
            agent.refresh()
            try:
                action = await agent.script.get()
            finally:
                agent.holding = False
            agent.refresh()
            text = await self._act(action)
            if action.kind == "say":
                return text

    async def _stream(self, seconds: float) -> str:
        """Words for so long, shown as they come."""
        view, words = self.agent.view, 0
        self.streamed = "Counting slowly:"
        view.say(self.streamed)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(min(0.25, max(0.0, end - time.monotonic())))
            self.streamed += ("\n" if words % 8 == 0 else " ") + f"word{words}"
            words += 1
            view.tokens = words * 2
            view.blocks[-1] = f"● {self.streamed}"
            self.agent.redraw()
        view.blocks.pop()
        text, self.streamed = self.streamed, ""
        return text

    async def _stop(self, text: str) -> None:
        agent = self.agent
        self.said = True
        agent.transcript.say(text)
        agent.view.say(text)
        agent.redraw()
        await agent.fire(
            "Stop",
            stop_hook_active=False,
            last_assistant_message=text,
            background_tasks=agent.background_tasks(),
            session_crons=[],
        )
        agent.transcript.turn_end(self.started, agent.hooks.last_ms, agent.hooks.last_command)
        shells = len(agent.shells)
        note = f" · {shells} shell still running" if shells and agent.session.version.modern else ""
        agent.view.finished(time.monotonic() - self.begun, note)

    async def _fail(self, status: int, error: str, text: str) -> None:
        agent = self.agent
        self.said = True
        agent.transcript.api_error(text, error, status)
        agent.view.say(text)
        more: dict[str, Any] = (
            {"error_details": f"{status} fake"} if error == "invalid_request" else {}
        )
        await agent.fire("StopFailure", error=error, **more, last_assistant_message=text)
        agent.transcript.turn_end(self.started, None)
        agent.view.finished(time.monotonic() - self.begun)

    def interrupted(self) -> None:
        """Esc while busy: what the transcript shows depends on how far the turn had come.

        Before the first token nothing is written, and the prompt comes back into its box.
        """
        agent, tools = self.agent, self.tools
        if self.said:
            return
        if tools.request is not None:
            agent.withdraw(tools.request)
        if tools.running is not None:
            agent.transcript.rejected(tools.running.id, before_run=False)
            agent.transcript.interrupted(tool=True, running=True)
        elif self.streamed or tools.used:
            if self.streamed:
                agent.transcript.partial(self.streamed)
            agent.transcript.interrupted(tool=False)
        else:
            agent.view.input = self.prompt.text
            if agent.view.blocks and agent.view.blocks[-1] == f"❯ {self.prompt.text}":
                agent.view.blocks.pop()
            return
        agent.view.blocks.append(BROKEN)


def _after_task(agent: Agent) -> Action:
    return Action("say", ("Nothing more to do." if agent.session.version.modern else GREETING,))
