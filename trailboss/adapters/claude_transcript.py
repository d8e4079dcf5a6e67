"""Claude Code's transcripts: what their lines say about the turn (captures fact 6).

One JSON object a line, appended. Only `user` and `assistant` lines of the main thread count; the
rest (titles, modes, attachments, whole requests of up to 64 kB) is skipped, unparsed where its
first bytes tell. Lines split at \\n alone: U+2028 may stand raw in a string (case B60).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from trailboss.adapters.claude_tools import describe, request_key
from trailboss.core.claims import QUESTION_TOOLS, Claim
from trailboss.events import MAX_MESSAGE, clean_text, clip_detail, clip_utf8

#: A longer line is not parsed: it is a picture or a tool's output, never a turn's end.
MAX_LINE = 8 * 1024 * 1024

_INTERRUPTED = "[Request interrupted by user"
_REJECTED = "User rejected tool use"
_SKIP = re.compile(rb'\{"type":\s?"(?!user|assistant|custom-title|ai-title|summary)')
# What a person did in the terminal that is no prompt: local commands and their output.
_LOCAL = ("<command-name>", "<command-message>", "<local-command-stdout>", "<bash-stdout>")


@dataclass(slots=True)
class Reader:
    """Reads a transcript's lines in order; keeps what later lines refer to.

    `open_tools`: tool use id → (request key, tool name, text). `cwd`, `session_id`, `title` are
    the newest that the lines named; `first_at` and `last_at` the times of the first and the last
    line of a conversation, Unix ms.
    """

    open_tools: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    cwd: str | None = None
    session_id: str | None = None
    title: str | None = None
    headless: bool = False
    first_at: int = 0
    last_at: int = 0
    unknown: int = 0
    _given: bool = False

    def feed(self, lines: list[bytes]) -> list[Claim]:
        """The claims of these whole lines."""
        claims: list[Claim] = []
        for raw in lines:
            entry = self._parse(raw)
            if entry is not None:
                claims.extend(self._entry(entry))
        return claims

    def _parse(self, raw: bytes) -> Mapping[str, Any] | None:
        if not raw.strip() or len(raw) > MAX_LINE or _SKIP.match(raw):
            return None
        try:
            entry = orjson.loads(raw)
        except (orjson.JSONDecodeError, RecursionError):
            try:
                entry = _tolerantly(raw)
            except (ValueError, RecursionError):
                self.unknown += 1
                return None
        return entry if isinstance(entry, dict) else None

    def _entry(self, entry: Mapping[str, Any]) -> list[Claim]:
        kind = entry.get("type")
        self._name(kind, entry)
        if kind not in ("user", "assistant") or entry.get("isSidechain"):
            return []
        at = timestamp(entry.get("timestamp"))
        message = entry.get("message")
        if not at or not isinstance(message, dict):
            return []
        if isinstance(entry.get("cwd"), str):
            self.cwd = entry["cwd"]
        if isinstance(entry.get("sessionId"), str):
            self.session_id = entry["sessionId"]
        if str(entry.get("entrypoint") or "").startswith("sdk-"):
            self.headless = True
        self.first_at = self.first_at or at
        self.last_at = max(self.last_at, at)
        return (
            self._assistant(entry, message, at)
            if kind == "assistant"
            else self._user(entry, message, at)
        )

    def _name(self, kind: Any, entry: Mapping[str, Any]) -> None:
        """Titles: one that the person gave outlasts the generated ones (fact 21)."""
        if kind == "custom-title" and isinstance(entry.get("customTitle"), str):
            self.title, self._given = entry["customTitle"], True
        elif not self._given and kind == "ai-title" and isinstance(entry.get("aiTitle"), str):
            self.title = entry["aiTitle"]
        elif not self._given and kind == "summary" and isinstance(entry.get("summary"), str):
            self.title = entry["summary"]

    def _assistant(
        self, entry: Mapping[str, Any], message: Mapping[str, Any], at: int
    ) -> list[Claim]:
        texts: list[str] = []
        question: Claim | None = None
        used = False
        for block in _blocks(message):
            if block.get("type") == "text":
                texts.append(str(block.get("text") or ""))
            elif block.get("type") == "tool_use":
                used = True
                name, given = str(block.get("name") or ""), block.get("input")
                key = request_key(None, name, given)
                text = _said(describe(name, given))
                if len(self.open_tools) < 256:
                    self.open_tools[str(block.get("id"))] = (key, name, text)
                if name in QUESTION_TOOLS:
                    question = Claim(
                        source="transcript",
                        at=at,
                        says="stuck",
                        scope="turn",
                        reason="permission",
                        text=text,
                        cause=name,
                        detail=clip_detail({"tool_name": name, "tool_input": given})[0],
                    )
        text = "\n".join(texts)
        if entry.get("isApiErrorMessage"):
            error = str(entry.get("error") or "unknown")
            return [_stopped(at, text, "api error", {"error": error})]
        if question is not None:
            return [question]
        if used or message.get("stop_reason") not in ("end_turn", "stop_sequence", "max_tokens"):
            return [
                Claim(source="transcript", at=at, says="going", scope="turn", cause="assistant")
            ]
        return [_stopped(at, text, "end of turn", {})]

    def _user(self, entry: Mapping[str, Any], message: Mapping[str, Any], at: int) -> list[Claim]:
        claims: list[Claim] = []
        words: list[str] = []
        for block in _blocks(message):
            if block.get("type") == "tool_result":
                known = self.open_tools.pop(str(block.get("tool_use_id")), None)
                if known is not None:
                    claims.append(
                        Claim(
                            source="transcript",
                            at=at,
                            says="going",
                            scope="request",
                            request=known[0],
                            cause="tool result",
                        )
                    )
                if entry.get("toolUseResult") == _REJECTED:
                    claims.append(_stopped(at, "Denied", "rejected", {}))
                else:
                    claims.append(
                        Claim(
                            source="transcript",
                            at=at,
                            says="going",
                            scope="turn",
                            cause="tool result",
                        )
                    )
            elif block.get("type") == "text":
                words.append(str(block.get("text") or ""))
        text = "\n".join(words)
        if text.startswith(_INTERRUPTED):
            self.open_tools.clear()
            return [*claims, _stopped(at, "Interrupted", "interrupted", {})]
        if not text or entry.get("isCompactSummary") or text.startswith(_LOCAL):
            return claims
        if entry.get("isMeta") and not text.startswith("Stop hook feedback"):
            return claims
        self.open_tools.clear()
        return [
            *claims,
            Claim(source="transcript", at=at, says="going", scope="main", cause="prompt"),
        ]


def _stopped(at: int, text: str, cause: str, detail: Mapping[str, Any]) -> Claim:
    return Claim(
        source="transcript",
        at=at,
        says="stuck",
        scope="main",
        reason="stopped",
        text=_said(text),
        cause=cause,
        detail=detail,
    )


def _tolerantly(raw: bytes) -> Any:
    """What orjson refuses and the standard library reads: lone surrogates, bytes that are no UTF-8
    (case B64), huge numbers. Raises ValueError or RecursionError."""
    entry = json.loads(
        raw.decode("utf-8", "replace"),
        parse_int=_number,
        parse_float=_number,
        parse_constant=lambda _: None,
    )
    return orjson.loads(json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace"))


def _number(digits: str) -> float | None:
    """As hooks' payloads are read too, so that a request has the same key from both."""
    value = float(digits)
    if not math.isfinite(value):
        return None
    return int(digits) if digits.lstrip("-").isdigit() and abs(value) < 1 << 63 else value


def _said(text: str) -> str:
    """The text as a message: clean, and no longer than one may be."""
    return clip_utf8(clean_text(text), MAX_MESSAGE)[0]


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def timestamp(value: Any) -> int:
    """Unix ms of an ISO time as the transcripts write it (in UTC); 0 when it is none."""
    if not isinstance(value, str):
        return 0
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0
