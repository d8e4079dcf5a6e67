"""The fake agent's payloads, status file, environment and transcript lines have the real keys.

The key lists are copied from captures of Claude Code 2.1.197 and 2.1.332.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tools.fake_agent.payloads import (
    MESSAGING_TOKEN,
    Subagent,
    hook_environment,
    payload,
    suggestions,
)
from tools.fake_agent.registry import Registry
from tools.fake_agent.session import Session, config_dir, folder_name, iso
from tools.fake_agent.transcript import Transcript
from tools.fake_agent.versions import NEW, OLD, Version

HEAD = "session_id transcript_path cwd prompt_id"
TOOL = "tool_name tool_input tool_use_id"
PAYLOADS = {
    "UserPromptSubmit": f"{HEAD} permission_mode hook_event_name prompt",
    "PreToolUse": f"{HEAD} permission_mode effort hook_event_name {TOOL}",
    "PermissionRequest": (
        f"{HEAD} permission_mode effort hook_event_name tool_name tool_input permission_suggestions"
    ),
    "PostToolUse": (
        f"{HEAD} permission_mode effort hook_event_name tool_name tool_input tool_response"
        " tool_use_id duration_ms"
    ),
    "PostToolUseFailure": (
        f"{HEAD} permission_mode effort hook_event_name {TOOL} error is_interrupt duration_ms"
    ),
    "PostToolBatch": f"{HEAD} permission_mode effort hook_event_name tool_calls",
    "PermissionDenied": f"{HEAD} permission_mode effort hook_event_name {TOOL} reason",
    "Notification": f"{HEAD} hook_event_name message notification_type",
    "Stop": (
        f"{HEAD} permission_mode effort hook_event_name stop_hook_active last_assistant_message"
        " background_tasks session_crons"
    ),
    "StopFailure": f"{HEAD} effort hook_event_name error last_assistant_message",
    "SessionEnd": f"{HEAD} hook_event_name reason",
    "Elicitation": f"{HEAD} hook_event_name mcp_server_name message mode requested_schema",
}
STATUS_FILE = {
    "2.1.197": (
        "pid sessionId cwd startedAt procStart version peerProtocol kind entrypoint name"
        " nameSource status updatedAt statusUpdatedAt waitingFor"
    ),
    "2.1.332": (
        "pid sessionId cwd startedAt procStart version peerProtocol peerFeatures kind entrypoint"
        " pidDomain asksForConvertedSkills messagingSocketPath name nameSource nameSince"
        " status updatedAt statusUpdatedAt waitingFor"
    ),
}
ENVIRONMENT = {
    "2.1.197": (
        "AI_AGENT CLAUDECODE CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_ENTRYPOINT"
        " CLAUDE_CODE_SESSION_ID CLAUDE_EFFORT CLAUDE_PROJECT_DIR PWD"
    ),
    "2.1.332": (
        "AI_AGENT CLAUDECODE CLAUDE_CODE_CHILD_NOTES_DIR CLAUDE_CODE_CHILD_SESSION"
        " CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_MESSAGING_SOCKET CLAUDE_CODE_MESSAGING_TOKEN"
        " CLAUDE_CODE_SESSION_ATTENDED CLAUDE_CODE_SESSION_ID CLAUDE_EFFORT CLAUDE_PID"
        " CLAUDE_PROJECT_DIR PWD"
    ),
}
TAIL = "userType entrypoint cwd sessionId version gitBranch"
LINES = {
    "2.1.197": {
        "prompt": (
            "parentUuid isSidechain promptId type message uuid timestamp permissionMode origin"
            f" promptSource {TAIL}"
        ),
        "say": f"parentUuid isSidechain message requestId type uuid timestamp {TAIL}",
        "tool_use": f"parentUuid isSidechain message requestId type uuid timestamp {TAIL}",
        "tool_result": (
            "parentUuid isSidechain promptId type message uuid timestamp toolUseResult"
            f" sourceToolAssistantUUID {TAIL}"
        ),
        "rejected": (
            "parentUuid isSidechain promptId type message uuid timestamp toolUseResult"
            f" sourceToolAssistantUUID {TAIL}"
        ),
        "interrupted": f"parentUuid isSidechain promptId type message uuid timestamp {TAIL}",
        "error": (
            "parentUuid isSidechain type uuid timestamp message requestId error"
            f" isApiErrorMessage apiErrorStatus {TAIL}"
        ),
        "summary": (
            "parentUuid isSidechain type subtype hookCount hookInfos hookErrors"
            " hookAdditionalContext preventedContinuation stopReason hasOutput level timestamp"
            f" uuid toolUseID {TAIL}"
        ),
        "duration": (
            "parentUuid isSidechain type subtype durationMs messageCount timestamp uuid isMeta"
            f" {TAIL}"
        ),
    },
    "2.1.332": {
        "prompt": (
            "parentUuid isSidechain promptId type message uuid timestamp permissionMode origin"
            f" promptSource turnOrigin turnPosition {TAIL}"
        ),
        "say": (
            "parentUuid isSidechain message apiBlockIndex requestId requestRef requestedModel"
            " promptCacheRequested type uuid timestamp effort perTurnEffort madeBy session_id"
            f" {TAIL}"
        ),
        "tool_use": (
            "parentUuid isSidechain message toolInputStreamMs apiBlockIndex requestId requestRef"
            " requestedModel promptCacheRequested type uuid timestamp effort perTurnEffort madeBy"
            f" session_id {TAIL}"
        ),
        "tool_result": (
            "parentUuid isSidechain promptId type message uuid timestamp toolUseResult"
            f" permissionDecision sourceToolAssistantUUID session_id {TAIL}"
        ),
        "rejected": (
            "parentUuid isSidechain promptId type message uuid timestamp toolUseResult"
            " toolDenialKind toolDenialBeforeRun sourceToolAssistantUUID session_id"
            f" {TAIL}"
        ),
        "interrupted": (
            "parentUuid isSidechain promptId type message rowSource uuid timestamp session_id"
            f" {TAIL}"
        ),
        # Not among the captures of this version: as in the older one.
        "error": (
            "parentUuid isSidechain type uuid timestamp message requestId error"
            f" isApiErrorMessage apiErrorStatus session_id {TAIL}"
        ),
        "summary": (
            "parentUuid isSidechain type subtype hookCount hookInfos hookErrors"
            " failedHookErrorIndexes hookAdditionalContext preventedContinuation stopReason"
            f" hasOutput level timestamp uuid toolUseID session_id {TAIL}"
        ),
        "duration": (
            "parentUuid isSidechain type subtype durationMs messageCount timestamp uuid isMeta"
            f" {TAIL}"
        ),
    },
}


@pytest.fixture(params=[OLD, NEW], ids=lambda version: version.number)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    version: Version = request.param
    made = Session(version, tmp_path / "config", "/home/dev/my project", "id-1")
    made.prompt_id = "prompt-1"
    return made


@pytest.mark.parametrize("event", PAYLOADS)
def test_payload_has_the_captured_keys(session: Session, event: str) -> None:
    keys = PAYLOADS[event].split()
    own = keys[keys.index("hook_event_name") + 1 :]
    made = payload(session, event, **dict.fromkeys(own, "x"))
    assert list(made) == keys
    assert made["hook_event_name"] == event
    assert made["transcript_path"].endswith("/projects/-home-dev-my-project/id-1.jsonl")


def test_session_start_names_the_prompt_in_the_old_version_only(session: Session) -> None:
    made = payload(session, "SessionStart", source="clear")
    assert ("prompt_id" in made) is (session.version is OLD)


def test_no_prompt_id_before_the_first_prompt(session: Session) -> None:
    session.prompt_id = None
    assert "prompt_id" not in payload(session, "SessionEnd", reason="other")


def test_a_subagents_event_names_it(session: Session) -> None:
    made = payload(session, "PreToolUse", Subagent("a1"), tool_name="Bash")
    assert list(made)[5:8] == ["agent_id", "agent_type", "effort"]
    assert (made["agent_id"], made["agent_type"]) == ("a1", "general-purpose")


def test_suggestions_offer_the_directory_and_a_mode() -> None:
    kinds = [entry["type"] for entry in suggestions("/work")]
    assert kinds == ["addDirectories", "setMode"]


def test_hook_environment_has_the_captured_names(session: Session) -> None:
    env = hook_environment(session, "Stop", {})
    assert sorted(env) == sorted(ENVIRONMENT[session.version.number].split())
    assert "CLAUDE_EFFORT" not in hook_environment(session, "Notification", {})
    assert "CLAUDE_ENV_FILE" in hook_environment(session, "SessionStart", {})
    assert MESSAGING_TOKEN not in hook_environment(session, "SessionEnd", {}).values()


def test_a_background_sessions_hooks_know_no_pane(session: Session) -> None:
    outer = {"TMUX": "/tmp/s,1,0", "TMUX_PANE": "%1"}
    assert hook_environment(session, "Stop", outer)["TMUX_PANE"] == "%1"
    session.job = "0a1b2c3d"
    env = hook_environment(session, "Stop", outer)
    assert not {"TMUX", "TMUX_PANE"} & set(env)
    assert env["CLAUDE_JOB_DIR"].endswith("/jobs/0a1b2c3d")


def test_status_file_has_the_captured_keys_and_follows_the_status(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    registry = Registry(session)
    registry.open()
    keys = STATUS_FILE[session.version.number].split()
    first = json.loads(registry.path.read_text())
    assert list(first) == [key for key in keys if key in first]
    assert not {"status", "waitingFor"} & set(first)
    registry.set("waiting", "permission prompt")
    waiting = json.loads(registry.path.read_text())
    assert list(waiting) == keys
    assert (waiting["status"], waiting["waitingFor"]) == ("waiting", "permission prompt")
    assert waiting["pid"] == os.getpid()
    registry.set("idle")
    assert "waitingFor" not in json.loads(registry.path.read_text())
    key_files = list(registry.path.parent.glob("*.key"))
    assert len(key_files) == (1 if session.version.modern else 0)
    registry.close()
    assert not list(registry.path.parent.iterdir())


def test_proc_start_is_field_22_of_proc_stat(session: Session) -> None:
    stat = Path("/proc/self/stat")
    if not stat.exists():
        pytest.skip("no /proc on this system")
    words = stat.read_text().rpartition(")")[2].split()
    assert Registry(session).content()["procStart"] == words[22 - 3]


def test_a_headless_run_of_the_old_version_never_has_a_status(session: Session) -> None:
    session.entrypoint = "sdk-cli"
    registry = Registry(session)
    registry.open()
    registry.set("busy")
    found = json.loads(registry.path.read_text())
    assert found["entrypoint"] == "sdk-cli"
    assert ("status" in found) is session.version.modern


def test_transcript_lines_have_the_captured_keys(session: Session) -> None:
    lines = Transcript(session)
    assert not lines.path.exists()
    lines.prompt("please", 1_796_075_080_010)
    lines.say("I will.", final=False)
    lines.tool_use("toolu_1", "Bash", {"command": "touch made"})
    lines.tool_result("toolu_1", "done", {"stdout": ""})
    lines.rejected("toolu_1")
    lines.interrupted(tool=True)
    lines.api_error("API Error", "rate_limit", 429)
    lines.turn_end(0, 12, "hook")
    found = {name: [] for name in LINES["2.1.197"]}
    chained = []
    for line in map(json.loads, lines.path.read_text("utf-8").splitlines()):
        if "uuid" in line:
            chained.append(line)
            found[_name(line)].append(list(line))
    expected = LINES[session.version.number]
    for name, keys in found.items():
        assert keys == [expected[name].split()], name
    parents = [line["parentUuid"] for line in chained]
    assert parents == [None, *(line["uuid"] for line in chained[:-1])]
    assert chained[0]["timestamp"] == "2026-11-30T21:44:40.010Z"


def test_the_last_line_of_the_new_version_is_no_message(session: Session) -> None:
    lines = Transcript(session)
    lines.prompt("hello", 1)
    lines.say("Hi.")
    lines.turn_end(0, 1)
    last = json.loads(lines.path.read_text("utf-8").splitlines()[-1])
    assert last["type"] == ("atis-latch" if session.version.modern else "system")


def test_a_subagent_has_a_transcript_of_its_own(session: Session) -> None:
    lines = Transcript(session, agent=Subagent("a1"))
    lines.prompt("Please do this", 1)
    assert str(lines.path).endswith("/id-1/subagents/agent-a1.jsonl")
    first = json.loads(lines.path.read_text("utf-8").splitlines()[0])
    assert (first["isSidechain"], first["agentId"]) == (True, "a1")


def test_a_disabled_transcript_writes_nothing(session: Session) -> None:
    lines = Transcript(session, enabled=False)
    lines.prompt("hello", 1)
    assert not session.config.exists()


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/home/dev/project", "-home-dev-project"),
        ("/home/dev/a_b.c d", "-home-dev-a-b-c-d"),
        ("/home/dev/é", "-home-dev--"),
    ],
)
def test_folder_name(cwd: str, folder: str) -> None:
    assert folder_name(cwd) == folder


def test_config_dir_follows_its_variable() -> None:
    assert config_dir({"HOME": "/h"}) == Path("/h/.claude")
    assert config_dir({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}) == Path("/c")


def test_iso_has_milliseconds() -> None:
    assert iso(1_796_075_080_007) == "2026-11-30T21:44:40.007Z"


def _name(line: dict[str, object]) -> str:
    if line["type"] == "system":
        return "summary" if line["subtype"] == "stop_hook_summary" else "duration"
    message = line["message"]
    assert isinstance(message, dict)
    content = message["content"]
    if isinstance(content, str):
        return "prompt"
    kind = content[0]["type"]
    if kind == "tool_result":
        return "rejected" if line["toolUseResult"] == "User rejected tool use" else kind
    if line["type"] == "user":
        return "interrupted"
    if "isApiErrorMessage" in line:
        return "error"
    return "say" if kind == "text" else "tool_use"
