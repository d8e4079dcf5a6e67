"""The tools of the main agent, each with its hooks, its dialog and its transcript lines."""

from __future__ import annotations

import asyncio
import secrets
import sys
from typing import Any

from tools.fake_agent.agent import Agent, Answer, Request, Shell
from tools.fake_agent.calls import Call, Refused, bash, batch
from tools.fake_agent.helper import Helper, end_shell
from tools.fake_agent.lines import new_id
from tools.fake_agent.payloads import Subagent, suggestions
from tools.fake_agent.screen import Dialog, permission_dialog, question_dialog
from tools.fake_agent.script import harmless
from tools.fake_agent.session import now_ms
from tools.fake_agent.transcript import REJECTED

QUESTION: dict[str, Any] = {
    "question": "Which color should the button be?",
    "header": "Color",
    "options": [
        {"label": color, "description": f"Choose {color}"} for color in ("Red", "Green", "Blue")
    ],
    "multiSelect": False,
}
PLAN = "# Plan\n\n1. Make a button.\n2. Paint it green.\n"


class Tools:
    """The calls of one turn. `running` is the one at work, `request` the dialog it waits in."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.running: Call | None = None
        self.request: Request | None = None
        self.used = False

    async def commands(self, calls: list[Call], asks: bool, announced: bool = True) -> None:
        """Calls of one message, one after the other, and their PostToolBatch."""
        self.say_before("I will run a command.")
        for call in calls:
            await self._call(call, asks and not harmless(call.input["command"]), announced)
        await self._batch(calls)

    async def _call(self, call: Call, asks: bool, announced: bool = True) -> bool:
        """One call: PreToolUse, the dialog, the run, PostToolUse. False: refused with a reason."""
        agent = self.agent
        await self._before(call)
        if asks:
            command = call.input["command"]
            answer = await self._permission(call, command, announced)
            if not answer.yes:
                self._refuse(call, answer)
                return False
        else:
            agent.transcript.tool_use(call.id, call.name, call.input)
        await self._run(call)
        return True

    async def _before(self, call: Call) -> None:
        agent = self.agent
        agent.view.blocks.append(_tool_line(agent, call))
        agent.redraw()
        await agent.fire(
            "PreToolUse", tool_name=call.name, tool_input=call.input, tool_use_id=call.id
        )

    async def _permission(self, call: Call, command: str, announced: bool) -> Answer:
        agent = self.agent
        if agent.session.entrypoint != "cli":
            return await self._headless_refusal(call)
        if announced:
            fields: dict[str, Any] = {"permission_suggestions": suggestions(agent.session.cwd)}
            await agent.fire(
                "PermissionRequest",
                wait=False,
                tool_name=call.name,
                tool_input=call.input,
                **fields,
            )
        options = agent.session.version.permission_options(agent.session.cwd)
        dialog = permission_dialog(agent.view, command, call.input["description"], options, None)
        denies = None
        if not announced:
            dialog.options, dialog.numbered, denies = ["No", "Yes"], False, 0
        return await self._ask(call, dialog, "permission prompt", denies=denies)

    async def _headless_refusal(self, call: Call) -> Answer:
        """`-p` asks nobody; 2.1.332 fires PermissionRequest all the same."""
        agent = self.agent
        if agent.session.version.modern:
            await agent.fire("PermissionRequest", tool_name=call.name, tool_input=call.input)
        agent.transcript.tool_use(call.id, call.name, call.input)
        return Answer(False, text="Claude requested permissions, but nobody can grant them.")

    async def _ask(
        self,
        call: Call,
        dialog: Dialog,
        waits_for: str | None,
        denies: int | None = None,
        notification: str = "permission_prompt",
    ) -> Answer:
        """Open the dialog and wait; the line of the call follows the dialog, as in the CLI."""
        agent = self.agent
        request = agent.ask(dialog, waits_for, denies=denies, notification=notification)
        self.request = request
        agent.transcript.tool_use(call.id, call.name, call.input)
        answer = await request.answer
        self.request = None
        return answer

    def _refuse(self, call: Call, answer: Answer) -> None:
        """A no. Without a reason it ends the turn (raises Refused)."""
        agent = self.agent
        agent.transcript.rejected(call.id)
        if not answer.text:
            agent.transcript.interrupted(tool=True)
            raise Refused
        call.text = f"{REJECTED} The user said: {answer.text}"

    async def _run(self, call: Call) -> None:
        agent = self.agent
        self.running = call
        started = now_ms()
        if call.seconds:
            await asyncio.sleep(call.seconds)
        self.running = None
        common: dict[str, Any] = {"tool_name": call.name, "tool_input": call.input}
        took = now_ms() - started
        if call.error is not None:
            call.text = call.error
            agent.transcript.tool_result(call.id, call.error, f"Error: {call.error}", error=True)
            await agent.fire(
                "PostToolUseFailure",
                **common,
                tool_use_id=call.id,
                error=call.error,
                is_interrupt=False,
                duration_ms=took,
            )
            return
        agent.transcript.tool_result(call.id, call.text, call.response)
        await agent.fire(
            "PostToolUse",
            **common,
            tool_response=call.response,
            tool_use_id=call.id,
            duration_ms=took,
        )

    async def _batch(self, calls: list[Call]) -> None:
        await self.agent.fire("PostToolBatch", tool_calls=batch(calls))
        await asyncio.sleep(self.agent.pace.think)

    def say_before(self, text: str) -> None:
        """A text of the same message as the calls that follow."""
        self.used = True
        self.agent.transcript.say(text, final=False)
        self.agent.view.say(text)

    async def flagged(self, call: Call) -> None:
        """Auto mode's check refuses the call: PermissionDenied, no dialog, the model goes on."""
        agent = self.agent
        self.say_before("I will run a command.")
        await self._before(call)
        agent.transcript.tool_use(call.id, call.name, call.input)
        reason = "fake: this looks dangerous"
        await agent.fire(
            "PermissionDenied",
            tool_name=call.name,
            tool_input=call.input,
            tool_use_id=call.id,
            reason=reason,
        )
        call.text = f"Permission denied: {reason}"
        agent.transcript.tool_result(call.id, call.text, f"Error: {call.text}", error=True)
        await self._batch([call])

    async def background(self, command: str, asks: bool) -> None:
        """A Bash call that runs on after the turn; its end wakes the agent."""
        agent = self.agent
        call = bash(command, run_in_background=True)
        name = "b" + secrets.token_hex(4)
        call.response = {**call.response, "noOutputExpected": False, "backgroundTaskId": name}
        call.text = f"Command running in background with ID: {name}."
        runs, call.seconds, call.error = call.seconds, 0.0, None
        self.say_before("I will start it in the background.")
        if await self._call(call, asks and not harmless(command)):
            description = call.input["description"]
            agent.shells[name] = Shell(command, description, call.id)
            asyncio.get_running_loop().call_later(runs or 600, end_shell, agent, name)
        await self._batch([call])

    async def question(self, text: str) -> None:
        agent = self.agent
        question = {**QUESTION, "question": text} if text else QUESTION
        call = Call("AskUserQuestion", {"questions": [question]}, new_id("toolu"))
        self.say_before("I need a decision.")
        answer = await self._ask_tool(call, question_dialog(question), "permission_prompt")
        chosen = question["options"][answer.option]["label"]
        call.input = {**call.input, "answers": {question["question"]: chosen}, "annotations": {}}
        call.response = call.input
        call.text = f'Your questions have been answered: "{question["question"]}"="{chosen}".'
        agent.view.blocks.append(
            f"● Answered Claude's questions:\n  ⎿  · {question['question']} → {chosen}"
        )
        await self._run(call)
        await self._batch([call])

    async def plan(self) -> None:
        agent = self.agent
        file = str(agent.session.config / "plans" / "make-a-plan.md")
        call = Call("ExitPlanMode", {"plan": PLAN, "planFilePath": file}, new_id("toolu"))
        self.say_before("Here is my plan.")
        dialog = Dialog(
            "plan",
            "Claude has written up a plan and is ready to execute. Would you like to proceed?",
            [f" {line}" for line in PLAN.splitlines()],
            [
                "Yes, and use auto mode",
                "Yes, manually approve edits",
                "Tell Claude what to change",
            ],
        )
        await self._ask_tool(call, dialog, "plan")
        call.response, call.text = {"plan": PLAN}, "User has approved your plan."
        await self._run(call)
        await self._batch([call])

    async def _ask_tool(self, call: Call, dialog: Dialog, notification: str) -> Answer:
        """A tool that is a question itself: PermissionRequest without suggestions."""
        agent = self.agent
        await self._before(call)
        await agent.fire(
            "PermissionRequest", wait=False, tool_name=call.name, tool_input=call.input
        )
        waits_for = "permission prompt"
        if call.name == "AskUserQuestion":
            waits_for = agent.session.version.question_waits_for
        answer = await self._ask(call, dialog, waits_for, notification=notification)
        if not answer.yes:
            self._refuse(call, answer._replace(text=""))
        return answer

    async def form(self) -> None:
        """An MCP server asks: Elicitation. 2.1.197 stays `busy` in its status file meanwhile."""
        agent = self.agent
        call = Call("mcp__form__ask", {}, new_id("toolu"), response=[])
        words: dict[str, Any] = {"mcp_server_name": "form"}
        await self._before(call)
        schema = {"type": "object", "properties": {"color": {"type": "string", "title": "Color"}}}
        await agent.fire(
            "Elicitation",
            wait=False,
            **words,
            message="Which color do you want?",
            mode="form",
            requested_schema={**schema, "required": ["color"]},
        )
        dialog = Dialog(
            "form",
            "MCP server “form” requests your input",
            [" Which color do you want?"],
            ["Color:"],
            footer="Esc to cancel · ↑/↓ to navigate",
            numbered=False,
        )
        waits_for = "input needed" if agent.session.version.modern else None
        answer = await self._ask(
            call, dialog, waits_for, denies=-1, notification="elicitation_dialog"
        )
        action = "accept" if answer.yes else "cancel"
        content: dict[str, Any] = {"content": {"color": answer.text}} if answer.yes else {}
        await agent.fire("ElicitationResult", **words, mode="form", action=action, **content)
        await agent.fire(
            "Notification",
            message=f'Elicitation response for server "form": {action}',
            notification_type="elicitation_response",
        )
        await self._run(call)
        await self._batch([call])

    async def nested(self, prompt: str) -> None:
        """The agent's own Bash tool runs `claude -p`: a session of its own in the same pane."""
        agent = self.agent
        call = bash(f"claude -p {prompt!r}")
        self.say_before("I will ask another agent.")
        await self._before(call)
        agent.transcript.tool_use(call.id, call.name, call.input)
        version = agent.session.version.number
        command = ["-m", "tools.fake_agent", "play", "--print", prompt, "--version", version]
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            cwd=agent.session.cwd,
        )
        out, _ = await child.communicate()
        call.text = out.decode("utf-8", "replace").strip()
        call.response = {**call.response, "stdout": call.text}
        await self._run(call)
        await self._batch([call])

    async def delegate(self, command: str, waits: bool) -> None:
        """The Agent tool: a subagent that runs one command, waited for or in the background."""
        agent = self.agent
        sub = Subagent("a" + secrets.token_hex(8))
        words = {
            "description": f"Run {command}"[:30],
            "prompt": f"Please do this: [[bash: {command}]]",
            "subagent_type": sub.type,
        }
        call = Call("Agent", words, new_id("toolu"))
        self.say_before("I will ask a helper.")
        await self._before(call)
        agent.transcript.tool_use(call.id, call.name, call.input)
        if waits:
            helper = Helper(agent, sub, command)
            text = await helper.work()
            call.response = {"status": "completed", "agentId": sub.id, "agentType": sub.type}
            call.text = text
        else:
            call.response = {"isAsync": True, "status": "async_launched", "agentId": sub.id}
            call.text = f"Async agent launched successfully. agentId: {sub.id}"
            task = asyncio.create_task(Helper(agent, sub, command).alone(call.id))
            task.set_name(words["description"])
            agent.helpers[sub.id] = task
        await self._run(call)
        await self._batch([call])


def _tool_line(agent: Agent, call: Call) -> str:
    if call.name != "Bash":
        return f"● {call.name}"
    command = call.input["command"]
    if agent.session.version.modern:
        return f"● {call.input['description']}\n  ⎿  $ {command}"
    return f"● Bash({command})\n  ⎿  Waiting…"
