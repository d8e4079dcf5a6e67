"""The session's transcript: the line types that the CLI appends, with their captured keys."""

from __future__ import annotations

import secrets
import uuid
from typing import Any

from tools.fake_agent.lines import Lines, new_id
from tools.fake_agent.session import iso, now_ms

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file). STOP what you are doing and wait"
    " for the user to tell you how to proceed."
)
INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"


class Transcript(Lines):
    """The lines of a session or of a subagent, by what they mean."""

    def begin(self) -> None:
        """Start the file of the session's present id."""
        super().begin()
        self._last_prompt: str | None = None
        self._turns = 0
        self._message = new_id("msg")
        self._tool_line: str | None = None
        self._tools: list[str] = []

    def prompt(self, text: str, at: int, origin: str = "human") -> None:
        """A user's prompt, typed at Unix ms `at`; `origin` is also `task-notification`."""
        self._turns += 1
        line: dict[str, Any] = {
            "promptId": self.session.prompt_id,
            "type": "user",
            "message": {"role": "user", "content": text},
            "uuid": str(uuid.uuid4()),
            "timestamp": iso(at),
            "permissionMode": self.session.permission_mode,
            "origin": {"kind": origin},
            "promptSource": "typed" if origin == "human" else "system",
        }
        if self.session.version.modern:
            line["turnOrigin"] = origin
            line["turnPosition"] = {"promptIndex": self._turns, "turnIndex": self._turns}
        if self.agent is None:
            self._preamble(line["uuid"])
            self._last_prompt = text
        self.append(line)
        if self.session.version.modern and self.agent is None:
            self._request_lines()

    def rejected(self, tool_id: str, before_run: bool = True) -> None:
        """The `tool_result` of a call that the person refused or broke off."""
        more: dict[str, Any] = {"toolUseResult": "User rejected tool use"}
        if self.session.version.modern:
            more["toolDenialKind"] = "user-rejected"
            if before_run:
                more["toolDenialBeforeRun"] = True
        self._result(tool_id, REJECTED, more, error=True)

    def interrupted(self, tool: bool, running: bool = False) -> None:
        """The line that says the turn was broken off; `running` names the message too."""
        line: dict[str, Any] = {
            "promptId": self.session.prompt_id,
            "type": "user",
            "message": {
                "role": "user",
                "content": [{"type": "text", "text": INTERRUPTED_TOOL if tool else INTERRUPTED}],
            },
        }
        if self.session.version.modern:
            line["rowSource"] = "harness"
        line.update(uuid=str(uuid.uuid4()), timestamp=iso())
        if running or not tool:
            line["interruptedMessageId"] = self._message
        self.append(line)
        self._flush_state()

    def say(self, text: str, final: bool = True) -> None:
        """A text of the assistant; not `final` when tool calls follow in the same message."""
        self._message = new_id("msg")
        stop = "end_turn" if final else "tool_use"
        self._assistant([{"type": "text", "text": text}], stop)

    def partial(self, text: str) -> None:
        """The text that had come when the person broke the answer off."""
        if self.session.version.modern:
            self._assistant([{"type": "text", "text": text}], None, {"isAbortedMidStream": True})
        else:
            self._synthetic(text, {"isApiErrorMessage": False})

    def tool_use(self, tool_id: str, name: str, tool_input: dict[str, Any]) -> None:
        block = {"type": "tool_use", "id": tool_id, "name": name, "input": tool_input}
        self._tool_line = self._assistant([block], "tool_use", {}, index=1)
        if self.session.version.modern:
            if name not in self._tools:
                self._tools.append(name)
            self.write({"type": "tools-used", "tools": self._tools, "sessionId": self.session.id})
            self._flush_state()

    def tool_result(self, tool_id: str, text: str, response: Any, error: bool = False) -> None:
        more: dict[str, Any] = {"toolUseResult": response}
        if self.session.version.modern and not error:
            more["permissionDecision"] = "allowed"
        self._result(tool_id, text, more, error)

    def api_error(self, text: str, error: str, status: int) -> None:
        """What the CLI writes in place of an answer when the API refuses."""
        more = {"error": error, "isApiErrorMessage": True, "apiErrorStatus": status}
        self._synthetic(text, more, request=True)

    def turn_end(self, started: int, hook_ms: int | None, command: str = "hook") -> None:
        """The two system lines after a Stop; `hook_ms` None when no Stop hook ran."""
        if hook_ms is not None:
            line: dict[str, Any] = {
                "type": "system",
                "subtype": "stop_hook_summary",
                "hookCount": 1,
                "hookInfos": [{"command": command, "durationMs": hook_ms}],
                "hookErrors": [],
            }
            if self.session.version.modern:
                line["failedHookErrorIndexes"] = []
            line.update(
                hookAdditionalContext=[],
                preventedContinuation=False,
                stopReason="",
                hasOutput=False,
                level="suggestion",
                timestamp=iso(),
                uuid=str(uuid.uuid4()),
                toolUseID=str(uuid.uuid4()),
            )
            self.append(line)
        self.append(
            {
                "type": "system",
                "subtype": "turn_duration",
                "durationMs": now_ms() - started,
                "messageCount": self.count,
                "timestamp": iso(),
                "uuid": str(uuid.uuid4()),
                "isMeta": False,
            },
            session_id=False,
        )
        if self.session.version.modern:
            self._flush_state()

    def cleared(self) -> None:
        """The lines that begin the session after `/clear`."""
        self.write({"type": "mode", "mode": "normal", "sessionId": self.session.id})
        for text, more in (
            ("<local-command-caveat>Run by the user.</local-command-caveat>", {"isMeta": True}),
            ("<command-name>/clear</command-name>", {}),
        ):
            self.append(
                {
                    "type": "user",
                    "message": {"role": "user", "content": text},
                    **more,
                    "uuid": str(uuid.uuid4()),
                    "timestamp": iso(),
                },
                session_id=False,
            )

    def named(self, title: str) -> None:
        """The two lines of `/rename`."""
        self.write({"type": "custom-title", "customTitle": title, "sessionId": self.session.id})
        self.write({"type": "agent-name", "agentName": title, "sessionId": self.session.id})

    def close(self) -> None:
        """The lines of an orderly exit, if there is a transcript at all."""
        if self._last_prompt is None:
            return
        self.write(self._last_prompt_line())
        if self.session.version.modern:
            self.write(
                {
                    "type": "cost-state",
                    "sessionId": self.session.id,
                    "totalCostUSD": 0.0016,
                    "totalDuration": now_ms() - self.session.started_at,
                    "startTime": self.session.started_at,
                    "modelUsage": {},
                    "hasUnknownModelCost": False,
                }
            )

    def _preamble(self, message: str) -> None:
        """The lines before a prompt: the session's state at its first one, a snapshot at each."""
        if self._last_prompt is None:
            self.write({"type": "mode", "mode": "normal", "sessionId": self.session.id})
            self._mode_line()
            if self.session.version.modern:
                self.write({"type": "atis-latch", "atis": "", "sessionId": self.session.id})
            elif self.session.title:
                title = {"type": "ai-title", "aiTitle": self.session.title}
                self.write({**title, "sessionId": self.session.id})
        snapshot = {"messageId": message, "trackedFileBackups": {}, "timestamp": iso()}
        self.write(
            {
                "type": "file-history-snapshot",
                "messageId": message,
                "snapshot": snapshot,
                "isSnapshotUpdate": False,
            }
        )

    def _request_lines(self) -> None:
        """The requests that 2.1.332 keeps: long lines between the messages."""
        shape = secrets.token_hex(32)
        head = {"sessionId": self.session.id}
        common = {"timestamp": iso(), "version": self.session.version.number}
        if self._turns == 1:
            filler = {"tools": ["x" * 64] * 280}
            self.write(
                {"type": "api-request-shape", **head, "shapeHash": shape, **common, "shape": filler}
            )
        self.write(
            {
                "type": "api-request",
                **head,
                "id": str(uuid.uuid4()),
                **common,
                "querySource": "repl_main_thread",
                "shapeHash": shape,
                "params": {},
                "requestDigest": secrets.token_hex(32),
            }
        )

    def _flush_state(self) -> None:
        """2.1.332 repeats its state lines after each flush, so the last line is no message."""
        if not self.session.version.modern or self.agent is not None:
            return
        self.write(self._last_prompt_line())
        self.write({"type": "mode", "mode": "normal", "sessionId": self.session.id})
        self._mode_line()
        self.write({"type": "atis-latch", "atis": "", "sessionId": self.session.id})

    def _mode_line(self) -> None:
        mode = self.session.permission_mode
        self.write(
            {"type": "permission-mode", "permissionMode": mode, "sessionId": self.session.id}
        )

    def _last_prompt_line(self) -> dict[str, Any]:
        return {
            "type": "last-prompt",
            "lastPrompt": self._last_prompt,
            "leafUuid": self.leaf,
            "sessionId": self.session.id,
        }

    def _assistant(
        self,
        content: list[dict[str, Any]],
        stop: str | None,
        more: dict[str, Any] | None = None,
        index: int = 0,
    ) -> str:
        version = self.session.version
        message = {
            "id": self._message,
            "type": "message",
            "role": "assistant",
            "model": version.model_id,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20, "service_tier": "standard"},
            "stop_details": None,
        }
        line: dict[str, Any] = {"message": message}
        if version.modern:
            if content[0]["type"] == "tool_use":
                line["toolInputStreamMs"] = 1
            line["apiBlockIndex"] = index
        line["requestId"] = new_id("req")
        if version.modern:
            line["requestRef"] = str(uuid.uuid4())
            line["requestedModel"] = version.model_id
            line["promptCacheRequested"] = "5m"
        line.update(type="assistant", uuid=str(uuid.uuid4()), timestamp=iso(), **(more or {}))
        if version.modern:
            line.update(effort=version.effort, perTurnEffort=version.effort, madeBy="model")
        self.append(line)
        return str(line["uuid"])

    def _synthetic(self, text: str, more: dict[str, Any], request: bool = False) -> None:
        line: dict[str, Any] = {
            "type": "assistant",
            "uuid": str(uuid.uuid4()),
            "timestamp": iso(),
            "message": {
                "id": str(uuid.uuid4()),
                "container": None,
                "model": "<synthetic>",
                "role": "assistant",
                "stop_details": None,
                "stop_reason": "stop_sequence",
                "stop_sequence": "",
                "type": "message",
                "content": [{"type": "text", "text": text}],
                "context_management": None,
            },
        }
        if request:
            line["requestId"] = new_id("req")
        self.append({**line, **more})

    def _result(self, tool_id: str, text: str, more: dict[str, Any], error: bool) -> None:
        block = {
            "tool_use_id": tool_id,
            "type": "tool_result",
            "content": text,
            "is_error": error,
        }
        self.append(
            {
                "promptId": self.session.prompt_id,
                "type": "user",
                "message": {"role": "user", "content": [block]},
                "uuid": str(uuid.uuid4()),
                "timestamp": iso(),
                **more,
                "sourceToolAssistantUUID": self._tool_line,
            }
        )
