"""What goes on beside the main agent: subagents and background shells."""

from __future__ import annotations

import asyncio
from typing import Any

from tools.fake_agent.agent import Agent, Answer
from tools.fake_agent.calls import Call, bash, batch, notification
from tools.fake_agent.payloads import Subagent, suggestions
from tools.fake_agent.screen import permission_dialog
from tools.fake_agent.script import harmless
from tools.fake_agent.session import now_ms
from tools.fake_agent.transcript import REJECTED, Transcript


class Helper:
    """A subagent: shares session id and pane, asks by itself, ends with SubagentStop."""

    def __init__(self, agent: Agent, sub: Subagent, command: str) -> None:
        self.agent, self.sub, self.command = agent, sub, command
        self.lines = Transcript(agent.session, agent.transcript.enabled, sub)

    async def alone(self, tool_id: str) -> None:
        """Work in the background; the end wakes the main agent by a task notification."""
        try:
            text = await self.work()
        finally:
            self.agent.helpers.pop(self.sub.id, None)
        summary = f'Agent "Run {self.command}" finished'
        self.agent.submit(notification(self.sub.id, tool_id, summary, text))

    async def work(self) -> str:
        """Run the command, after asking; a no does not end it. Returns what it says."""
        agent, sub, lines = self.agent, self.sub, self.lines
        call = bash(self.command)
        common: dict[str, Any] = {"tool_name": call.name, "tool_input": call.input}
        await agent.fire("SubagentStart", sub)
        lines.prompt(f"Please do this: [[bash: {self.command}]]", now_ms())
        await asyncio.sleep(agent.pace.think)
        lines.say("I will run a command.", final=False)
        await agent.fire("PreToolUse", sub, **common, tool_use_id=call.id)
        answer = Answer(True)
        if not harmless(self.command):
            answer = await self._permission(call, common)
        if answer.yes:
            if call.seconds:
                await asyncio.sleep(call.seconds)
            lines.tool_result(call.id, call.text, call.response)
            took = int(call.seconds * 1000)
            more: dict[str, Any] = {"tool_use_id": call.id, "duration_ms": took}
            await agent.fire("PostToolUse", sub, **common, tool_response=call.response, **more)
        else:
            call.text = REJECTED
            lines.rejected(call.id)
        await agent.fire("PostToolBatch", sub, tool_calls=batch([call]))
        lines.say("All done.")
        await agent.fire(
            "SubagentStop",
            sub,
            stop_hook_active=False,
            agent_transcript_path=str(lines.path),
            last_assistant_message="All done.",
            background_tasks=agent.background_tasks(),
            session_crons=[],
        )
        return "All done."

    async def _permission(self, call: Call, common: dict[str, Any]) -> Answer:
        agent = self.agent
        await agent.fire(
            "PermissionRequest",
            self.sub,
            wait=False,
            **common,
            permission_suggestions=suggestions(agent.session.cwd),
        )
        options = agent.session.version.permission_options(agent.session.cwd)
        description = call.input["description"]
        dialog = permission_dialog(agent.view, self.command, description, options, self.sub.type)
        request = agent.ask(dialog, "permission prompt", self.sub)
        self.lines.tool_use(call.id, call.name, call.input)
        try:
            return await request.answer
        finally:
            agent.withdraw(request)


def end_shell(agent: Agent, name: str) -> None:
    """A background shell is over, which wakes the agent."""
    shell = agent.shells.pop(name, None)
    if shell is not None:
        summary = f'Background command "{shell.description}" completed (exit code 0)'
        agent.submit(notification(name, shell.tool_id, summary))
