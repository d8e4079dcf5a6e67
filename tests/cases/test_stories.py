"""Cases told as stories: hooks, transcript lines and what must hold, on a fake clock."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.cases.replayer import START, Stage, lines
from trailboss.adapters.claude import HOOK_EVENTS
from trailboss.broker.tails import Tail
from trailboss.core.queue import Rules

Line = dict[str, Any]


def hook(t: int, name: str, session: str = "s1", pane: str | None = "A:%3", **more: Any) -> Line:
    """One hook call; what is no field of a story's line is payload."""
    line: Line = {"t": t, "hook": name, "session": session}
    if pane is not None:
        line["pane"] = pane
    for field in ("env", "chain", "heard", "copies"):
        if field in more:
            line[field] = more.pop(field)
    return {**line, "data": more}


def expect(t: int | None = None, **what: Any) -> Line:
    return {"expect": what} if t is None else {"t": t, "expect": what}


def without(story: list[Line], *hooks: str) -> list[Line]:
    return [line for line in story if line.get("hook") not in hooks]


# hooks that are missed, late, doubled or misleading


def test_b01_interrupted_without_a_hook() -> None:
    Stage().play(lines("B01"))


def test_b02_denied_without_a_hook() -> None:
    Stage().play(lines("B02"))


def test_b02_denied_without_the_line_of_the_interrupt() -> None:
    story = [line for line in lines("B02") if "for tool use" not in str(line)]
    assert len(story) == len(lines("B02")) - 1
    Stage().play(story)


def test_b02_denied_and_the_turn_goes_on() -> None:
    """With a reason typed: the model answers, and nothing is asked any more."""
    answer = {
        "type": "assistant",
        "timestamp": "2026-03-02T10:00:22.000Z",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Then I"}]},
    }
    story = [line for line in lines("B02") if "for tool use" not in str(line)][:-1]
    story += [{"t": 31000, "transcript": "s1", "line": answer}, expect(queue=[], live=["s1"])]
    Stage().play(story)


def storm(count: int = 30, step: int = 100) -> list[Line]:
    story = [hook(0, "UserPromptSubmit", prompt="read all")]
    for n in range(count):
        at = 1000 + n * step
        call = {"tool_name": "Read", "tool_input": {"file_path": f"/home/dev/demo/app/f{n}.py"}}
        story.append(hook(at, "PreToolUse", tool_use_id=f"toolu_{n}", **call))
        story.append(hook(at + 20, "PermissionRequest", **call))
        story.append(hook(at + 60, "PostToolUse", tool_use_id=f"toolu_{n}", **call))
    return story


@pytest.mark.parametrize("dropped", ["", "PreToolUse"])
def test_b04_a_storm_of_allowed_calls(dropped: str) -> None:
    story = [*without(storm(), dropped), expect(5000, queue=[], announced={"s1": 0})]
    Stage().play(story)


def test_b04_a_call_that_is_not_allowed_is_announced_once() -> None:
    """The hold-off hides what is over at once, nothing else."""
    asked = storm(3)[:-1]
    Stage().play([*asked, expect(5000, queue=["s1 permission"], announced={"s1": 1})])


def test_b05_the_late_notice_of_an_answered_request() -> None:
    Stage().play(lines("B05"))


def test_b05_request_and_notice_are_one_row() -> None:
    request, notice = lines("B05")[2], lines("B05")[-2]
    assert (request["hook"], notice["hook"]) == ("PermissionRequest", "Notification")
    row = expect(queue=["s1 permission"], since={"s1": 1100}, messages={"s1": "Bash: ls"})
    story = [lines("B05")[0], request, row, notice, row, expect(9500, announced={"s1": 1})]
    Stage().play(story)
    # A notice that overtakes its request, whose hook is slow.
    late = expect(queue=["s1 permission"], messages={"s1": "Bash: ls"})
    story = [lines("B05")[0], notice, {**request, "heard": 9100}, late]
    Stage().play([*story, expect(9500, announced={"s1": 1})])


def test_b05_the_notice_alone_is_a_way_in() -> None:
    story = [lines("B05")[0], lines("B05")[-2], expect(queue=["s1 permission"])]
    Stage().play(story)


def test_b05_the_late_notice_after_an_answer_that_only_a_prompt_showed() -> None:
    """Denied and another prompt typed, and then the notice of the first dialog comes."""
    first, request, notice = lines("B05")[0], lines("B05")[2], lines("B05")[-2]
    again = {**first, "t": 8500}
    Stage().play([first, request, again, expect(queue=[]), notice, expect(queue=[])])


def test_b07_every_hook_twice() -> None:
    Stage().play(lines("B07"))


def test_b08_a_parallel_tool_ends() -> None:
    Stage().play(lines("B08"))


@pytest.mark.parametrize("dropped", ["PreToolUse", "UserPromptSubmit"])
def test_b08_without_the_hooks_that_are_not_installed(dropped: str) -> None:
    Stage().play(without(lines("B08"), dropped))


@pytest.mark.parametrize(
    "answer",
    [
        hook(30_000, "PostToolUseFailure", tool_name="Bash", error="1", is_interrupt=False,
             tool_input={"command": "make deploy", "description": "run it"}),
        hook(30_000, "UserPromptSubmit", prompt="never mind"),
    ],
    ids=["failure", "prompt"],
)  # fmt: skip
def test_b08_what_else_answers_it(answer: Line) -> None:
    story = [line for line in lines("B08") if line.get("t") != 30_000]
    assert story[-2:] != lines("B08")[-2:]
    Stage().play([*story[:-1], answer, expect(queue=[])])


def test_b08_a_stop_ends_the_request_and_is_a_wait_itself() -> None:
    story = [line for line in lines("B08") if line.get("t") != 30_000]
    stop = hook(30_000, "Stop", last_assistant_message="Stopped.")
    Stage().play([*story[:-1], stop, expect(queue=["s1 stopped"])])


def test_b10_a_slow_stop_is_heard_after_the_next_prompt() -> None:
    Stage().play(lines("B10"))


def test_b10_a_slow_permission_request_is_heard_after_the_turns_end() -> None:
    """Captures, fact 7: it returned 4 s after the Stop."""
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    story = [
        hook(0, "UserPromptSubmit", prompt="x"),
        hook(2000, "PostToolUse", tool_use_id="toolu_1", **call),
        hook(2100, "Stop", last_assistant_message="Done."),
        hook(2500, "UserPromptSubmit", prompt="y"),
        hook(1000, "PermissionRequest", heard=6000, **call),
        expect(queue=[], live=["s1"]),
    ]
    Stage().play(story)


def test_b12_api_errors_in_place_of_a_stop() -> None:
    Stage().play(lines("B12"))
    assert "StopFailure" in HOOK_EVENTS


def test_b13_failures_of_helpers_and_subagents() -> None:
    Stage().play(lines("B13"))


# identity


@pytest.mark.parametrize("file", ["no-hooks-at-clear", "end-after-start", "end-before-start"])
def test_b16_clear_changes_the_id(file: str) -> None:
    Stage().play(lines("B16", f"{file}.jsonl"))


def test_b19_subagents() -> None:
    Stage().play(lines("B19"))


def test_b19_a_subagent_of_an_unknown_id_that_goes_on() -> None:
    """Whatever it says with its agent's id, it is no session, and takes no pane."""
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "agent_id": "a2"}
    story = [
        *lines("B19"),
        hook(605_000, "PostToolUse", "s9", agent_type="Plan", **call),
        hook(606_000, "SubagentStop", "s9", agent_id="a2", agent_type="Plan"),
        hook(607_000, "Stop", "s9", agent_id="a2", agent_type="Plan"),
        expect(608_000, queue=[], live=["s1"], panes={"s1": "A:%3"}),
    ]
    Stage().play(story)


def test_b21_stops_beside_background_tasks() -> None:
    Stage().play(lines("B21"))


def test_b21_a_stop_without_the_field_is_a_full_one() -> None:
    first = lines("B21")[0]
    stop = hook(5000, "Stop", last_assistant_message="Done.")
    Stage().play([first, stop, expect(6000, ready=["s1 stopped"], announced={"s1": 1})])


@pytest.mark.parametrize("task", [{"id": "b1", "status": "hibernating"}, {"id": "b1"}, "b1"])
def test_b21_an_unknown_status_hides_nothing_for_ever(task: Any) -> None:
    stop = hook(5000, "Stop", last_assistant_message="Started.", background_tasks=[task])
    after = expect(305_500, ready=["s1 stopped"], since={"s1": 5000})
    Stage().play([lines("B21")[0], stop, after])


def test_b21_the_grace_may_be_none() -> None:
    story = [*lines("B21")[:2], expect(6000, ready=["s1 stopped"])]
    Stage(Rules(background_grace=0)).play(story)


INNER = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]


def nested(count: int) -> list[Line]:
    """s1 works in %3; headless runs come and go there, every other one marked as such."""
    outer = [[310, "sh"], [300, "claude"], [200, "bash"], [100, "tmux: server"]]
    story = [hook(0, "UserPromptSubmit", prompt="x", chain=outer)]
    for n in range(count):
        inner, at = f"inner-{n}", 1000 + 2000 * n
        chain = [[9000 + n, "sh"], [8000 + n, "claude"], [7000 + n, "sh"], *outer[1:]]
        env = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"} if n % 2 else {}
        for step, name in enumerate(INNER):
            more = {"reason": "other"} if name == "SessionEnd" else {}
            story.append(hook(at + 400 * step, name, inner, chain=chain, env=env, **more))
            story.append(expect(queue=[], live=["s1"], panes={"s1": "A:%3"}))
    return story


def test_b23_headless_runs_in_the_pane_of_a_session() -> None:
    stage = Stage().play(nested(50))
    assert stage.board.sessions["s1"].verdict.state == "going"
    assert stage.announced == {}


def test_b23_a_waiting_session_keeps_its_row_and_its_pane() -> None:
    """A plugin's Stop hook starts the run: the outer session waits, and nothing may undo that."""
    outer, *inner = [line for line in nested(4) if "hook" in line]
    stop = {**outer, "t": 500, "hook": "Stop", "data": {"last_assistant_message": "Done."}}
    row = expect(queue=["s1 stopped"], since={"s1": 500}, panes={"s1": "A:%3"})
    Stage().play([outer, stop, *[line for each in inner for line in (each, row)]])


def test_b24_a_session_in_the_background_has_no_pane() -> None:
    Stage().play(lines("B24"))


def test_b26_the_same_pane_id_on_two_servers() -> None:
    Stage().play(lines("B26"))


# transcripts


def assistant(*blocks: Line, at: str = "10:00:30", **more: Any) -> Line:
    return {
        "type": "assistant",
        "sessionId": "s1",
        "timestamp": f"2026-03-02T{at}.000Z",
        "message": {"role": "assistant", "content": list(blocks), **more},
    }


def user(content: Any, at: str, **more: Any) -> Line:
    return {
        "type": "user",
        "sessionId": "s1",
        "timestamp": f"2026-03-02T{at}.000Z",
        "message": {"role": "user", "content": content},
        **more,
    }


QUESTION = {
    "type": "tool_use",
    "id": "toolu_Q",
    "name": "AskUserQuestion",
    "input": {
        "questions": [
            {"question": "Which database?", "options": [{"label": "One"}, {"label": "Two"}]}
        ]
    },
}
ANSWERED = [{"type": "tool_result", "tool_use_id": "toolu_Q", "content": "One"}]


@pytest.mark.parametrize(
    "answer",
    [
        user(ANSWERED, "10:01:10", toolUseResult={"answers": {"Which database?": "One"}}),
        user("forget it", "10:01:10"),
    ],
    ids=["result", "prompt"],
)
@pytest.mark.parametrize("hooked", [False, True])
def test_b114_a_question_beside_a_status_that_says_busy(answer: Line, hooked: bool) -> None:
    asked = hook(
        30_000, "PermissionRequest", tool_name="AskUserQuestion", tool_input=QUESTION["input"]
    )
    # The transcript's line is 30 s old when it is looked at.
    told: list[Line] = [{"t": 60_000, "transcript": "s1", "line": assistant(QUESTION)}]
    told = [asked, *told] if hooked else told
    busy = {"registry": "s1", "status": "busy", "changed": 1000}
    row = {"queue": ["s1 permission"], "messages": {"s1": "Which database? (One / Two)"}}
    Stage().play(
        [
            {"t": 1000, **busy},
            *told,
            {"t": 60_100, **busy},
            expect(61_000, **row),
            {"t": 65_000, **busy},
            expect(**row),
            {"t": 67_000, **busy, "changed": 66_500},
            expect(**row),
            {"t": 70_500, "transcript": "s1", "line": answer},
            {"t": 70_600, **busy, "changed": 66_500},
            expect(71_000, queue=[], live=["s1"]),
        ]
    )


def test_b60_lines_end_at_newlines_alone(tmp_path: Any) -> None:
    """The line separators of Unicode stand raw in a string, three records are three."""
    text = "one\u2028two\u2029three\u0085four\x0bfive\x0csix\x1cseven"
    records = [
        user("x", "10:00:00"),
        assistant({"type": "text", "text": text}, at="10:00:03"),
        user([{"type": "text", "text": "[Request interrupted by user]"}], "10:00:09"),
    ]
    raw = b"".join(orjson.dumps(record) + b"\n" for record in records)
    assert "\u2028".encode() in raw
    assert len(raw.decode().splitlines()) == 6
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(raw)
    found, more = Tail(path).read()
    assert ([orjson.loads(line) for line in found], more) == (records, False)
    Stage().play(
        [
            hook(0, "UserPromptSubmit", prompt="x"),
            *[{"t": 9500, "transcript": "s1", "line": record} for record in records],
            expect(queue=["s1 stopped"]),
            hook(10_000, "Stop", "s2", "A:%4", last_assistant_message=text),
            expect(queue=["s1 stopped", "s2 stopped"], messages={"s2": text}),
        ]
    )


def test_the_clock_of_the_stories() -> None:
    """`t` and the transcripts' own times agree."""
    assert Stage().now == START == 1_772_445_600_000
