"""What the lines of a Claude Code transcript say (captures, fact 6), one kind each."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.harness.replay import DATA, scenarios
from trailboss.adapters.claude_tools import request_key
from trailboss.adapters.claude_transcript import MAX_LINE, Reader, timestamp
from trailboss.core.claims import Claim
from trailboss.events import MAX_MESSAGE

AT = "2026-03-02T10:00:00.000Z"
MS = 1_772_445_600_000


def user(content: Any, at: str | None = AT, **more: Any) -> dict[str, Any]:
    return line("user", content, at, **more)


def assistant(*blocks: Any, stop: str | None = None, **more: Any) -> dict[str, Any]:
    content = [text(b) if isinstance(b, str) else b for b in blocks]
    return line("assistant", content, more.pop("at", AT), stop, **more)


def line(kind: str, content: Any, at: str | None, stop: str | None = None, **more: Any) -> Any:
    message = {"role": kind, "content": content}
    if stop is not None:
        message["stop_reason"] = stop
    return {"type": kind, "timestamp": at, "message": message, **more}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def tool(name: str = "Bash", uses: str = "toolu_1", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": uses, "name": name, "input": given}


def result(uses: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": uses, "content": "out", **more}


def feed(*entries: Any, reader: Reader | None = None) -> list[Claim]:
    reader = reader or Reader()
    return reader.feed([e if isinstance(e, bytes) else orjson.dumps(e) for e in entries])


def told(claims: list[Claim]) -> list[tuple[str, str, str | None]]:
    return [(c.says, c.scope, c.cause) for c in claims]


# The kinds of claims


@pytest.mark.parametrize(
    ("entry", "claims"),
    [
        (user("do it"), [("going", "main", "prompt")]),
        (user([text("do"), text("it")]), [("going", "main", "prompt")]),
        (user("<task-notification>b1</task-notification>"), [("going", "main", "prompt")]),
        (user("Stop hook feedback:\nno", isMeta=True), [("going", "main", "prompt")]),
        (assistant("Done.", stop="end_turn"), [("stuck", "main", "end of turn")]),
        (assistant("Cut", stop="max_tokens"), [("stuck", "main", "end of turn")]),
        (assistant("Working"), [("going", "turn", "assistant")]),
        (assistant("I run", tool(command="ls"), stop="tool_use"), [("going", "turn", "assistant")]),
        (assistant(tool("AskUserQuestion")), [("stuck", "turn", "AskUserQuestion")]),
        (assistant(tool("ExitPlanMode", plan="1.")), [("stuck", "turn", "ExitPlanMode")]),
        (assistant("429", isApiErrorMessage=True), [("stuck", "main", "api error")]),
        (user("[Request interrupted by user]"), [("stuck", "main", "interrupted")]),
        (user([text("[Request interrupted by user for tool use]")]),
         [("stuck", "main", "interrupted")]),
        (user([result()]), [("going", "turn", "tool result")]),
        (user([result(is_error=True)], toolUseResult="User rejected tool use"),
         [("stuck", "main", "rejected")]),
    ],
)  # fmt: skip
def test_a_line_alone(entry: Any, claims: list[tuple[str, str, str]]) -> None:
    found = feed(entry)
    assert told(found) == claims
    assert {(c.source, c.at) for c in found} == {("transcript", MS)}


@pytest.mark.parametrize(
    "entry",
    [
        user("do it", isSidechain=True),
        assistant("Done.", stop="end_turn", isSidechain=True),
        user("caveat", isMeta=True),
        user("<command-name>/model</command-name>"),
        user("<local-command-stdout>ok</local-command-stdout>"),
        user("a summary of it all", isCompactSummary=True),
        user("do it", None),
        user("do it", "yesterday"),
        {"type": "user", "timestamp": AT},
        {"type": "user", "timestamp": AT, "message": "no object"},
        {"type": "user", "timestamp": AT, "message": {"content": 7}},
        {"type": "user", "timestamp": AT, "message": {"content": [7, None, {}]}},
        {"type": "system", "subtype": "compact_boundary", "timestamp": AT},
        {"type": "api-request", "timestamp": AT, "message": {"content": "x"}},
        {"type": "a-kind-of-next-year", "timestamp": AT, "message": {"content": "x"}},
        {"parentUuid": None, "type": "attachment", "timestamp": AT},
        {"type": ["user"]},
        {},
    ],
)  # fmt: skip
def test_a_line_that_says_nothing(entry: Any) -> None:
    reader = Reader()
    assert feed(entry, reader=reader) == []
    assert reader.unknown == 0


@pytest.mark.parametrize(
    "raw",
    [b"", b"  ", b"7", b"null", b"[]", b'"user"', b"\xff\xfe", b"{", b"[" * 100_000,
     b'{"type":"user"' + b" " * MAX_LINE + b"}"],
    ids=lambda raw: repr(raw[:12]),
)  # fmt: skip
def test_what_is_no_line(raw: bytes) -> None:
    reader = Reader()
    assert told(feed(raw, user("do it"), reader=reader)) == [("going", "main", "prompt")]


def test_lines_of_other_kinds_are_not_parsed() -> None:
    reader = Reader()
    assert feed(b'{"type":"api-request","half', reader=reader) == []
    assert reader.unknown == 0
    assert feed(b'{"type":"user","half', reader=reader) == []
    assert reader.unknown == 1


# What they hold


def test_the_message_of_a_stop_is_what_was_said_last() -> None:
    (claim,) = feed(assistant("All done.", "See below.", stop="end_turn"))
    assert (claim.reason, claim.text) == ("stopped", "All done.\nSee below.")


def test_an_error_is_named() -> None:
    (claim,) = feed(assistant("API Error: 429", isApiErrorMessage=True, error="rate_limit"))
    assert (claim.text, claim.detail) == ("API Error: 429", {"error": "rate_limit"})
    (claim,) = feed(assistant("?", isApiErrorMessage=True))
    assert claim.detail == {"error": "unknown"}


def test_a_question_with_its_options() -> None:
    given = {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}
    (claim,) = feed(assistant("I ask", tool("AskUserQuestion", **given)))
    assert (claim.reason, claim.text) == ("permission", "Which? (A / B)")
    assert claim.detail == {"tool_name": "AskUserQuestion", "tool_input": given}


def test_a_result_settles_the_request_of_its_tool() -> None:
    asked = assistant(tool(command="ls"), tool("Read", "toolu_2", file_path="/a"))
    claims = feed(asked, user([result("toolu_2"), result("toolu_1")]))
    settled = [c.request for c in claims if c.scope == "request"]
    assert settled == [
        request_key(None, "Read", {"file_path": "/a"}),
        request_key(None, "Bash", {"command": "ls"}),
    ]
    assert told(claims[1:3]) == [
        ("going", "request", "tool result"),
        ("going", "turn", "tool result"),
    ]


def test_a_result_in_a_later_pass_is_matched_too() -> None:
    reader = Reader()
    feed(assistant(tool(command="ls")), reader=reader)
    assert list(reader.open_tools) == ["toolu_1"]
    claims = feed(user([result()]), reader=reader)
    assert [c.scope for c in claims] == ["request", "turn"]
    assert reader.open_tools == {}


@pytest.mark.parametrize("content", ["next", "[Request interrupted by user]"])
def test_nothing_stays_open_after_a_prompt_or_an_interrupt(content: str) -> None:
    reader = Reader()
    feed(assistant(tool(command="ls")), user(content), reader=reader)
    assert reader.open_tools == {}


def test_a_rejection_settles_and_stops() -> None:
    entry = user([result(is_error=True)], toolUseResult="User rejected tool use")
    claims = feed(assistant(tool(command="ls")), entry)
    assert told(claims[1:]) == [("going", "request", "tool result"), ("stuck", "main", "rejected")]


def test_open_tools_are_bounded() -> None:
    reader = Reader()
    feed(*(assistant(tool(uses=f"toolu_{n}", command="ls")) for n in range(2000)), reader=reader)
    assert len(reader.open_tools) <= 256


# Times, titles, facts


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (AT, MS), ("2026-03-02T10:00:00Z", MS), ("2026-03-02T12:00:00.25+02:00", MS + 250),
        ("2026-03-02T10:00:00", MS), ("", 0), (None, 0), (MS, 0), ("9" * 5000, 0), ("yesterday", 0),
    ],
)  # fmt: skip
def test_times(value: Any, ms: int) -> None:
    assert timestamp(value) == ms


def test_facts_are_the_newest_that_the_lines_named() -> None:
    reader = Reader()
    feed(
        user("a", cwd="/one", sessionId="s1"),
        user("b", "2026-03-02T10:00:05.000Z", cwd="/two", sessionId="s2"),
        assistant("c", at="2026-03-02T10:00:03.000Z", cwd="/sub", isSidechain=True),
        reader=reader,
    )
    assert (reader.cwd, reader.session_id) == ("/two", "s2")
    assert (reader.first_at, reader.last_at) == (MS, MS + 5000)
    assert not reader.headless
    feed(user("x", entrypoint="sdk-cli"), reader=reader)
    assert reader.headless


def test_titles() -> None:
    reader = Reader()

    def title(**entry: str) -> str | None:
        feed(entry, reader=reader)
        return reader.title

    assert title(type="summary", summary="Of before") == "Of before"
    assert title(type="ai-title", aiTitle="Generated") == "Generated"
    assert title(type="ai-title") == "Generated"
    assert title(type="custom-title", customTitle="Given") == "Given"
    assert title(type="ai-title", aiTitle="Generated later") == "Given"
    assert title(type="custom-title", customTitle="Given again") == "Given again"
    assert feed({"type": "ai-title", "aiTitle": "x"}) == []


# Hostile text


def test_bytes_that_are_no_utf8_and_lone_surrogates() -> None:
    """Case B64: the last record counts, whatever the tool's output has left in it."""
    raw = orjson.dumps(assistant("raw XX and YY", stop="end_turn"))
    for odd in (b"\xb2\xff", b"\\udcb2", b"\xb2\\udcb2"):
        reader = Reader()
        (claim,) = feed(raw.replace(b"XX", odd), reader=reader)
        assert told([claim]) == [("stuck", "main", "end of turn")]
        assert claim.text.startswith("raw ")
        assert claim.text.endswith(" and YY")
        claim.text.encode("utf-8")
        assert reader.unknown == 0


def test_a_surrogate_in_a_tools_input() -> None:
    raw = orjson.dumps(assistant(tool("AskUserQuestion", plan="XX")))
    (claim,) = feed(raw.replace(b"XX", b"\\ud800"))
    orjson.dumps(claim.detail)
    assert claim.says == "stuck"


def test_no_nul_in_a_message() -> None:
    (claim,) = feed(assistant("a\0b", stop="end_turn"))
    assert "\0" not in claim.text


def test_a_huge_number_is_no_obstacle() -> None:
    raw = orjson.dumps(user("do it")).replace(b'"type"', b'"n":' + b"9" * 400 + b',"type"', 1)
    assert told(feed(raw)) == [("going", "main", "prompt")]


@pytest.mark.parametrize("entry", [
    assistant("é" * 3_000_000, stop="end_turn"),
    assistant("é" * 3_000_000, isApiErrorMessage=True),
    assistant(tool("ExitPlanMode", plan="é" * 3_000_000)),
])  # fmt: skip
def test_a_message_is_cut(entry: Any) -> None:
    """An item shows what was said; nobody keeps megabytes of it for each session."""
    (claim,) = feed(entry)
    assert 0 < len(claim.text.encode()) <= MAX_MESSAGE
    assert len(orjson.dumps(claim.detail)) <= 256 * 1024


# The captures


@pytest.mark.parametrize("version", ["2.1.197", "2.1.332"])
def test_every_captured_line_is_understood(version: str) -> None:
    count = 0
    for entries in scenarios(version).values():
        readers: dict[str, Reader] = {}
        for entry in entries:
            if "transcript" in entry:
                reader = readers.setdefault(entry["transcript"]["sessionId"], Reader())
                claims = feed(entry["transcript"], reader=reader)
                assert all(c.source == "transcript" and c.at for c in claims)
                count += 1
        assert sum(r.unknown for r in readers.values()) == 0
    assert count > 100
    assert DATA.exists()
