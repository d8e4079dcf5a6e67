"""Claude Code's hooks as events: each name, whose it is, where it is, what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.harness.replay import scenarios
from trailboss.adapters import Ancestor, Payload, find
from trailboss.adapters.claude import CLAUDE, HOOK_EVENTS
from trailboss.adapters.claude_tools import describe, request_key
from trailboss.events import MAX_DETAIL, MAX_MESSAGE, Event

VERSIONS = ("2.1.197", "2.1.332")
TMUX = {"TMUX": "/tmp/tmux-1000/default,17109,0", "TMUX_PANE": "%7"}
ENV = {**TMUX, "HOME": "/home/dev", "CLAUDE_CODE_ENTRYPOINT": "cli"}
CHAIN = [Ancestor(90, 5, "sh"), Ancestor(80, 4, "claude"), Ancestor(70, 3, "bash")]


def payload(hook: str, env: dict[str, str] | None = None, **more: Any) -> Payload:
    chain = more.pop("chain", CHAIN)
    return Payload(
        name="entry",
        harness="claude",
        timestamp=1000,
        data={"session_id": "s1", "cwd": "/home/dev", "hook_event_name": hook, **more},
        event=hook,
        env=ENV if env is None else env,
        ancestors=chain,
    )


def events(hook: str, env: dict[str, str] | None = None, **data: Any) -> list[Event]:
    return CLAUDE.events(payload(hook, env, **data))


def only(hook: str, env: dict[str, str] | None = None, **data: Any) -> Event:
    (event,) = events(hook, env, **data)
    return event


def short(event: Event) -> str:
    """An event in words: its type, its reason or scope, and whether it is of one request."""
    words = [event.type, event.reason or "", str(event.detail.get("scope") or "")]
    words += ["request"] * (event.request is not None) + ["reminder"] * bool(
        event.detail.get("reminder")
    )
    words += ["agent"] * (event.agent_id is not None)
    return " ".join(word for word in words if word)


BASH = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
AGENT = {"agent_id": "a1", "agent_type": "Explore"}


@pytest.mark.parametrize(
    ("hook", "data", "meaning"),
    [
        ("SessionStart", {"source": "startup"}, ["registered"]),
        ("SessionStart", {"source": "compact"}, ["registered"]),
        ("SessionStart", {"source": "startup", **AGENT}, []),
        ("UserPromptSubmit", {"prompt": "x"}, ["unstuck main"]),
        ("UserPromptSubmit", {"prompt": "x", **AGENT}, []),
        ("PreToolUse", BASH, ["unstuck turn"]),
        ("PreToolUse", {**BASH, **AGENT}, []),
        ("PermissionRequest", BASH, ["stuck permission request"]),
        ("PermissionRequest", {**BASH, **AGENT}, ["stuck permission request agent"]),
        ("PermissionDenied", BASH, ["unstuck request", "unstuck turn"]),
        ("PostToolUse", BASH, ["unstuck request", "unstuck turn"]),
        ("PostToolUse", {**BASH, **AGENT}, ["unstuck request agent"]),
        ("PostToolUseFailure", BASH, ["unstuck request", "unstuck turn"]),
        ("PostToolBatch", {"tool_calls": []}, ["unstuck tools"]),
        ("PostToolBatch", {"tool_calls": [], **AGENT}, ["unstuck agent"]),
        ("Elicitation", {"message": "Which?"}, ["stuck permission request"]),
        ("ElicitationResult", {"action": "accept"}, ["unstuck request"]),
        ("Notification", {"notification_type": "permission_prompt"},
         ["stuck permission reminder"]),
        ("Notification", {"notification_type": "agent_needs_input"},
         ["stuck permission reminder"]),
        ("Notification", {"notification_type": "elicitation_dialog"},
         ["stuck permission reminder"]),
        ("Notification", {"notification_type": "idle_prompt"}, ["stuck stopped reminder"]),
        ("Notification", {"notification_type": "elicitation_response"}, []),
        ("Notification", {"notification_type": "auth_success"}, []),
        ("Notification", {"notification_type": "a kind of next year"}, []),
        ("Notification", {}, []),
        ("SubagentStop", AGENT, ["unstuck agent"]),
        ("SubagentStop", {"agent_id": "a1", "agent_type": ""}, []),
        ("SubagentStop", {}, []),
        ("Stop", {}, ["stuck stopped"]),
        ("Stop", AGENT, ["unstuck agent"]),
        ("StopFailure", {"error": "rate_limit"}, ["stuck stopped"]),
        ("StopFailure", {"error": "rate_limit", **AGENT}, []),
        ("SessionEnd", {"reason": "clear"}, ["ended"]),
        ("PreCompact", {"trigger": "auto"}, []),
        ("MessageDisplay", {"delta": "x"}, []),
        ("AnEventOfNextYear", {}, []),
    ],
)  # fmt: skip
def test_what_a_hook_means(hook: str, data: dict[str, Any], meaning: list[str]) -> None:
    assert [short(event) for event in events(hook, **data)] == meaning


def test_every_installed_hook_has_a_meaning() -> None:
    told = {"Notification": {"notification_type": "idle_prompt"}, "SubagentStop": AGENT}
    for hook in HOOK_EVENTS:
        assert events(hook, **told.get(hook, BASH)), hook


# The captures


def captured(version: str) -> Iterator[tuple[str, Payload]]:
    """Every hook call of every scenario."""
    for case, entries in scenarios(version).items():
        for number, entry in enumerate(entries):
            if "hook" in entry:
                yield (
                    case,
                    Payload(
                        name=f"{case}-{number}",
                        harness="claude",
                        timestamp=entry["t"],
                        data=entry["stdin"],
                        event=entry["hook"],
                        env=entry["env"],
                        ancestors=[Ancestor(pid, 1, comm) for pid, comm in entry["chain"]],
                    ),
                )


@pytest.mark.parametrize("version", VERSIONS)
def test_every_captured_hook_makes_valid_events(version: str) -> None:
    """What the broker takes: the wire gives the same event back, and says whose it is."""
    seen: set[str] = set()
    for case, given in captured(version):
        found = CLAUDE.events(given)
        assert [e.id for e in found] == [given.name, f"{given.name}.1"][: len(found)]
        for event in found:
            seen.add(str(given.event))
            assert Event.from_wire(event.to_wire()) == event
            assert event.session_id == given.data["session_id"], case
            assert event.timestamp == given.timestamp
            assert event.transcript_path == given.data["transcript_path"]
            assert event.detail["home"] == "/home/dev/.claude"
            assert event.cause == given.event
    assert seen >= {"Stop", "PermissionRequest", "PostToolUse", "SessionStart", "SessionEnd"}


@pytest.mark.parametrize("version", VERSIONS)
def test_headless_runs_are_none(version: str) -> None:
    """14, 36b, 37: they share the pane of whatever has started them (fact 18)."""
    headless = [g for _, g in captured(version) if g.env.get("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli"]
    assert len(headless) > 5
    assert [e for given in headless for e in CLAUDE.events(given)] == []
    for entry in ("sdk-py", "sdk-ts"):
        assert events("Stop", {**ENV, "CLAUDE_CODE_ENTRYPOINT": entry}) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_the_process_is_the_harness_own(version: str) -> None:
    """Of the newest version by name (CLAUDE_PID), of the older one among the ancestors."""
    pids = set()
    for _, given in captured(version):
        for event in CLAUDE.events(given):
            named = given.env.get("CLAUDE_PID")
            names = {a.pid: a.comm for a in given.ancestors}
            assert event.pid is not None
            assert named in (None, str(event.pid))
            assert names.get(event.pid, "claude") in ("claude", "claude.exe")
            above = [a.pid for a in given.ancestors]
            assert event.pid not in event.detail["ancestors"]
            assert set(event.detail["ancestors"]) <= set(above)
            pids.add(event.pid)
    assert len(pids) > 20


@pytest.mark.parametrize("version", VERSIONS)
def test_each_request_has_its_answer(version: str) -> None:
    """The key of a PermissionRequest comes again with the end of that tool, which is all that
    there is to tie the two (fact 2)."""
    asked, answered = set(), set()
    for case, given in captured(version):
        for event in CLAUDE.events(given):
            if event.request is not None:
                keys = asked if event.type == "stuck" else answered
                keys.add((case, event.session_id, event.request))
    for case, session, key in asked:
        if case in ("02-bash-approve", "24-edit-permission", "06-ask-answer", "07-plan-approve",
                    "18-two-bash", "30-parallel-subagents", "34-mcp-elicitation"):  # fmt: skip
            assert (case, session, key) in answered, case
    assert len(asked & answered) > 8


# Where


def test_the_pane() -> None:
    event = only("Stop")
    assert (event.tmux_socket, event.tmux_pid, event.pane_id) == (
        "/tmp/tmux-1000/default", 17109, "%7",
    )  # fmt: skip


@pytest.mark.parametrize(
    "place",
    [
        {}, {"TMUX_PANE": "%0"}, {"TMUX": "/tmp/a,1,0"}, {"TMUX": "", "TMUX_PANE": "%0"},
        {"TMUX": "/tmp/a", "TMUX_PANE": "%0"}, {"TMUX": "/tmp/a,x,0", "TMUX_PANE": "%0"},
        {"TMUX": ",1,0", "TMUX_PANE": "%0"},
    ],
)  # fmt: skip
def test_a_left_over_variable_is_no_pane(place: dict[str, str]) -> None:
    """Case B26."""
    event = only("Stop", {"HOME": "/home/dev", **place})
    assert (event.tmux_socket, event.tmux_pid, event.pane_id) == (None, None, None)


def test_a_socket_whose_name_has_commas() -> None:
    event = only("Stop", {**ENV, "TMUX": "/tmp/a,b,7,0"})
    assert (event.tmux_socket, event.tmux_pid) == ("/tmp/a,b", 7)


def test_a_session_in_the_background_has_no_pane() -> None:
    """Case B24, and 51b: the environment is that of whoever started the daemon."""
    event = only("Stop", {**ENV, "CLAUDE_JOB_DIR": "/tmp/cc-daemon-1000/jobs/98b4cbc1"})
    assert (event.tmux_socket, event.tmux_pid, event.pane_id) == (None, None, None)
    assert event.detail["attach"] == "claude attach 98b4cbc1"


def test_a_warm_spare_is_none_until_somebody_speaks_to_it() -> None:
    background = {**ENV, "CLAUDE_JOB_DIR": "/tmp/jobs/j1"}
    assert events("SessionStart", background, agent_type="claude", source="startup") == []
    assert only("SessionStart", background, source="startup").type == "registered"
    assert only("UserPromptSubmit", background, prompt="x").type == "unstuck"
    # An agent that the person has chosen (claude --agent) has that key in a pane.
    assert only("SessionStart", agent_type="reviewer", source="startup").type == "registered"


@pytest.mark.parametrize(
    ("env", "home"),
    [
        ({"HOME": "/home/dev"}, "/home/dev/.claude"),
        ({"HOME": "/home/dev", "CLAUDE_CONFIG_DIR": "/srv/claude"}, "/srv/claude"),
        ({}, None),
    ],
)
def test_its_home(env: dict[str, str], home: str | None) -> None:
    assert only("Stop", env).detail.get("home") == home


@pytest.mark.parametrize(
    ("env", "chain", "pid", "above"),
    [
        ({}, CHAIN, 80, [70]),
        ({"CLAUDE_PID": "70"}, CHAIN, 70, []),
        ({"CLAUDE_PID": "12"}, CHAIN, 12, []),
        ({"CLAUDE_PID": "x"}, CHAIN, 80, [70]),
        ({}, CHAIN[:1], None, None),
        ({}, [*CHAIN, Ancestor(60, 1, "claude")], 80, [70, 60]),
        ({}, [], None, None),
    ],
)  # fmt: skip
def test_the_process(env: Any, chain: list[Ancestor], pid: Any, above: Any) -> None:
    event = only("Stop", env, chain=chain)
    assert event.pid == pid
    assert event.detail.get("ancestors") == above
    known = {a.pid: a.start for a in chain}
    assert event.detail.get("pid_start") == (known.get(pid, 0) if pid else None)


def test_the_session_is_that_of_the_payload_else_of_the_environment() -> None:
    env = {**ENV, "CLAUDE_CODE_SESSION_ID": "of-env"}
    assert only("Stop", env).session_id == "s1"
    assert only("Stop", env, session_id=None).session_id == "of-env"
    assert only("Stop", env, session_id=7).session_id == "of-env"


def test_the_event_s_name_is_that_of_the_payload_else_of_the_command_line() -> None:
    given = payload("Stop")
    data = {k: v for k, v in given.data.items() if k != "hook_event_name"}
    bare = Payload("n", "claude", 1, data, event="SessionEnd", env=ENV)
    assert [e.type for e in CLAUDE.events(bare)] == ["ended"]
    assert CLAUDE.events(Payload("n", "claude", 1, data, event=None, env=ENV)) == []
    odd = {**data, "hook_event_name": ["Stop"]}
    assert CLAUDE.events(Payload("n", "claude", 1, odd, event="Stop", env=ENV)) == []


def test_it_is_found_by_its_name() -> None:
    assert find("claude") is CLAUDE
    assert find("nobody's") is None


# What it says


def test_a_stop_says_what_was_said_last_and_what_runs_on() -> None:
    tasks = [{"id": "b1", "type": "shell", "status": "running", "command": "make"}]
    event = only(
        "Stop", last_assistant_message="Done.", background_tasks=tasks, session_crons=[{"id": 1}],
        stop_hook_active=True, prompt_id="p1",
    )  # fmt: skip
    assert event.message == "Done."
    assert event.detail["background_tasks"] == tasks
    assert event.detail["session_crons"] == [{"id": 1}]
    assert event.detail["turn"] == "p1"
    assert only("Stop").message == ""
    assert "background_tasks" not in only("Stop", background_tasks=[]).detail


def test_a_failure_says_which() -> None:
    event = only("StopFailure", error="rate_limit", last_assistant_message="Limit · 3:40pm")
    assert (event.message, event.detail["error"]) == ("Limit · 3:40pm", "rate_limit")
    event = only("StopFailure", error="authentication_failed", error_details="401")
    assert (event.message, event.detail["error_details"]) == (
        "API error: authentication_failed", "401",
    )  # fmt: skip
    assert only("StopFailure").detail["error"] == "unknown"


QUESTIONS = {
    "questions": [
        {"question": "Which?", "options": [{"label": "One"}, {"label": "Two"}]},
        {"header": "When", "options": "none"},
        "no question",
    ]
}


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("Bash", {"command": "rm -rf build", "description": "run it"}, "Bash: rm -rf build"),
        ("Write", {"file_path": "/a.py", "content": "x"}, "Write: /a.py"),
        ("NotebookEdit", {"notebook_path": "/n.ipynb"}, "NotebookEdit: /n.ipynb"),
        ("WebFetch", {"url": "http://x", "prompt": "y"}, "WebFetch: http://x"),
        ("Grep", {"pattern": "x"}, "Grep: x"),
        ("mcp__server__act", {"n": 1}, 'mcp__server__act: {"n":1}'),
        ("Bash", None, "Bash"), ("Bash", "text", "Bash"),
        ("Bash", {"command": 7}, 'Bash: {"command":7}'),
        ("AskUserQuestion", QUESTIONS, "Which? (One / Two)\nWhen"),
        ("AskUserQuestion", {}, "A question"), ("AskUserQuestion", {"questions": 7}, "A question"),
        ("ExitPlanMode", {"plan": "1. Do"}, "Plan: 1. Do"),
        ("ExitPlanMode", {}, "A plan to approve"),
    ],
)  # fmt: skip
def test_a_request_says_what_is_asked(name: str, given: Any, text: str) -> None:
    assert describe(name, given) == text
    event = only("PermissionRequest", tool_name=name, tool_input=given)
    assert event.message == text
    assert event.detail["tool_name"] == name
    assert event.detail.get("tool_input") == given


def test_a_form_says_what_it_asks() -> None:
    event = only("Elicitation", mcp_server_name="db", message="Which?", requested_schema={"a": 1})
    assert event.message == "Which?"
    assert event.detail["tool_name"] == "elicitation"
    answer = only("ElicitationResult", mcp_server_name="db", action="accept")
    assert answer.request == event.request
    assert only("ElicitationResult", mcp_server_name="other").request != event.request
    assert only("Elicitation").message == "A form to fill in"


def test_titles_that_the_person_gave() -> None:
    assert only("UserPromptSubmit", session_title="Mine").detail["session_title"] == "Mine"
    assert only("SessionStart", session_title="Mine").detail["session_title"] == "Mine"
    assert "session_title" not in only("SessionStart").detail


def test_keys_of_requests() -> None:
    key = request_key(None, "Bash", {"command": "ls", "timeout": 1})
    assert key == request_key(None, "Bash", {"timeout": 1, "command": "ls"})
    others = [("a1", "Bash", {"command": "ls", "timeout": 1}), (None, "Bash", {"command": "ls"}),
              (None, "Read", {"command": "ls", "timeout": 1})]  # fmt: skip
    assert key not in {request_key(*other) for other in others}
    # Its answers come back in the input of a question, and a plan may be edited.
    assert request_key(None, "AskUserQuestion", {"a": 1}) == request_key(None, "AskUserQuestion", 2)
    assert request_key(None, "ExitPlanMode", {"plan": "1"}) == request_key(None, "ExitPlanMode", 2)


# Limits and hostile payloads


def test_a_long_message_is_cut_at_a_character() -> None:
    event = only("Stop", last_assistant_message="é" * 100_000)
    assert event.truncated
    assert event.message == "é" * (MAX_MESSAGE // 2)
    assert not only("Stop", last_assistant_message="é" * 100).truncated


def test_a_large_input_is_cut_and_its_key_is_that_of_the_whole() -> None:
    given = {"file_path": "/a", "content": "x" * 3_000_000, "more": ["y" * 100_000] * 9}
    asked = only("PermissionRequest", tool_name="Write", tool_input=given)
    answer = events("PostToolUse", tool_name="Write", tool_input=given)[0]
    assert asked.request == answer.request
    assert asked.truncated
    assert len(orjson.dumps(asked.detail)) <= MAX_DETAIL
    assert asked.detail["tool_name"] == "Write"
    assert len(asked.to_wire()) < 1 << 20
    other = only("PermissionRequest", tool_name="Write", tool_input={**given, "content": "z"})
    assert other.request != asked.request


def test_text_is_cleaned() -> None:
    event = only("Stop", last_assistant_message="a\x00b\udc88c")
    assert "\x00" not in str(event.message)
    assert Event.from_wire(event.to_wire()) == event


@pytest.mark.parametrize("value", [None, 7, [], {}, True, "", "x", 1e300])
@pytest.mark.parametrize("hook", HOOK_EVENTS)
def test_a_field_of_another_type_breaks_nothing(hook: str, value: Any) -> None:
    names = ("tool_name", "tool_input", "agent_id", "agent_type", "message", "notification_type",
             "last_assistant_message", "error", "error_details", "background_tasks", "prompt_id",
             "session_title", "cwd", "transcript_path", "mcp_server_name")  # fmt: skip
    for event in events(hook, **dict.fromkeys(names, value)):
        assert Event.from_wire(event.to_wire()) == event
