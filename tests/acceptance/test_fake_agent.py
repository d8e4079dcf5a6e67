"""Whole fake agents in real panes: keys in, hooks, transcript lines, status file and screen out."""

from __future__ import annotations

import json
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import holds, until
from tools.fake_agent.control import AgentError, Control, command_line
from tools.fake_agent.payloads import EVENTS

VERSIONS = ["2.1.197", "2.1.332"]
RECORDER = """#!/bin/sh
# Writes one file per call: the variables of the hook, an empty line, its standard input.
at=$(date +%s%N)
part="$1/.$at.$$"
{ env; echo; cat; } > "$part"
mv "$part" "$1/$at.$2"
"""


class Hook(NamedTuple):
    event: str
    env: dict[str, str]
    payload: dict[str, Any]


class Stage:
    """A home with recording hooks, and a tmux server to play agents in."""

    def __init__(self, sandbox: Sandbox, tmux: TmuxServer) -> None:
        self.sandbox, self.tmux = sandbox, tmux
        self.config = sandbox.home / ".claude"
        self.config.mkdir()
        self.project = sandbox.home / "my project"
        self.project.mkdir()
        self.records = sandbox.root / "records"
        self.records.mkdir()
        self.recorder = sandbox.root / "recorder"
        self.recorder.write_text(RECORDER)
        self.write_hooks()
        self.controls: list[Control] = []

    def write_hooks(self, **instead: str) -> None:
        """settings.json with the recorder on every event, or another command on some."""
        record = f"sh {self.recorder} {self.records}"
        hooks = {
            event: [
                {"hooks": [{"type": "command", "command": instead.get(event, f"{record} {event}")}]}
            ]
            for event in EVENTS
        }
        (self.config / "settings.json").write_text(json.dumps({"hooks": hooks}))

    def play(self, name: str = "one", **options: Any) -> tuple[str, Control]:
        """An agent in a session of its own: its pane and its controller."""
        path = self.sandbox.root / f"{name}.sock"
        command = command_line(control=path, **options)
        pane = self.tmux.new_session(name, "env", "-C", str(self.project), *command)
        return pane, self.control(path)

    def control(self, path: Path) -> Control:
        control = Control(path)
        self.controls.append(control)
        return control

    def keys(self, pane: str, *names: str) -> None:
        """Press keys in a pane, as a person at a terminal would."""
        self.tmux.tmux("send-keys", "-t", pane, *names)

    def type(self, pane: str, text: str) -> None:
        self.tmux.tmux("send-keys", "-t", pane, "-l", text)
        self.keys(pane, "Enter")

    def hooks(self) -> list[Hook]:
        """What the recorder has written, in the order of the hooks' starts."""
        found = []
        for file in sorted(self.records.glob("[0-9]*.*"), key=lambda file: int(file.stem)):
            env, _, body = file.read_text("utf-8").partition("\n\n")
            pairs = (line.partition("=") for line in env.splitlines())
            found.append(Hook(file.suffix[1:], {k: v for k, _, v in pairs}, json.loads(body)))
        return found

    def events(self) -> list[str]:
        return [hook.event for hook in self.hooks()]

    def seen(self, *events: str) -> bool:
        return self.events()[-len(events) :] == list(events)

    def status(self, control: Control) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(Path(control.state["status_file"]).read_text())
        return data

    def lines(self, control: Control) -> list[dict[str, Any]]:
        text = Path(control.do("state")["transcript"]).read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def texts(self, control: Control) -> list[str]:
        """The user's and the assistant's texts and tool blocks in the transcript, in order."""
        out = []
        for line in self.lines(control):
            if line["type"] not in ("user", "assistant"):
                continue
            content = line["message"]["content"]
            for block in [content] if isinstance(content, str) else content:
                if isinstance(block, str):
                    out.append(block)
                else:
                    out.append(block.get("text") or block.get("name") or block["content"])
        return out

    def close(self) -> None:
        for control in self.controls:
            control.close()


@pytest.fixture
def stage(sandbox: Sandbox, tmux: TmuxServer) -> Any:
    made = Stage(sandbox, tmux)
    yield made
    made.close()


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def by_status(stage: Stage, control: Control, status: str, waits: str | None = None) -> None:
    def is_so() -> bool:
        found = stage.status(control)
        return (found.get("status"), found.get("waitingFor")) == (status, waits)

    until(is_so, what=f"the status file says {status} {waits}")


def test_a_permission_approved_by_enter(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version)
    until(lambda: "❯" in stage.tmux.screen(pane), what="the prompt box is shown")
    stage.type(pane, "please [[bash: touch made]]")
    by_status(stage, agent, "waiting", "permission prompt")
    until(lambda: "Do you want to proceed?" in stage.tmux.screen(pane))
    assert "touch made" in stage.tmux.screen(pane)
    until(lambda: stage.seen("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest"))
    until(lambda: stage.texts(agent)[-1] == "Bash", what="the call is in the transcript")
    stage.keys(pane, "Enter")
    by_status(stage, agent, "idle")
    until(lambda: stage.seen("PermissionRequest", "PostToolUse", "PostToolBatch", "Stop"))
    assert stage.texts(agent) == [
        "please [[bash: touch made]]",
        "I will run a command.",
        "Bash",
        "(Bash completed with no output)",
        "All done.",
    ]
    until(lambda: "✻" in stage.tmux.screen(pane), what="the turn's end is shown")
    assert not (stage.project / "made").exists()


def test_hooks_run_as_those_of_the_cli_do(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version, session_id="11111111-2222-4333-8444-555555555555")
    agent.do("permission touch made")
    hook = next(hook for hook in stage.hooks() if hook.event == "PermissionRequest")
    assert hook.payload["session_id"] == "11111111-2222-4333-8444-555555555555"
    assert hook.payload["cwd"] == hook.env["CLAUDE_PROJECT_DIR"] == str(stage.project)
    assert hook.payload["tool_input"]["command"] == "touch made"
    assert "tool_use_id" not in hook.payload
    assert hook.env["TMUX_PANE"] == pane
    assert hook.env["CLAUDE_CODE_SESSION_ID"] == hook.payload["session_id"]
    assert hook.env["AI_AGENT"] == f"claude-code_{version.replace('.', '-')}_harness"
    assert hook.env.get("CLAUDE_PID") == (str(agent.pid) if version == "2.1.332" else None)
    assert agent.state["complaints"] == []


@pytest.mark.parametrize("by", ["Escape", "last number", "n"])
def test_a_denied_permission_is_silent(stage: Stage, version: str, by: str) -> None:
    pane, agent = stage.play(version=version)
    agent.do("permission touch made")
    before = stage.events()
    last = "4" if version == "2.1.332" else "3"
    stage.keys(pane, last if by == "last number" else by)
    by_status(stage, agent, "idle")
    agent.do("rest")
    assert stage.events() == before
    assert stage.texts(agent)[-1] == "[Request interrupted by user for tool use]"
    assert stage.texts(agent)[-2].startswith("The user doesn't want to proceed")
    until(lambda: "Interrupted · What should Claude do instead?" in stage.tmux.screen(pane))
    stage.type(pane, "go on [[say: as you like]]")
    until(lambda: stage.events() == [*before, "UserPromptSubmit", "Stop"])


def test_a_no_with_a_reason_lets_the_turn_go_on(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version)
    agent.do("permission touch made")
    stage.keys(pane, "Up", "Tab")
    stage.type(pane, "use another name")
    by_status(stage, agent, "idle")
    until(lambda: stage.seen("PermissionRequest", "PostToolBatch", "Stop"))


def test_a_question_is_answered(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version)
    agent.do("question Which way?")
    by_status(
        stage, agent, "waiting", "input needed" if version == "2.1.332" else "permission prompt"
    )
    until(lambda: "Which way?" in stage.tmux.screen(pane))
    stage.keys(pane, "Down", "Enter")
    by_status(stage, agent, "idle")
    hooks = stage.hooks()
    asked = next(hook for hook in hooks if hook.event == "PermissionRequest")
    assert asked.payload["tool_name"] == "AskUserQuestion"
    assert "permission_suggestions" not in asked.payload
    answered = next(hook for hook in hooks if hook.event == "PostToolUse")
    assert answered.payload["tool_input"]["answers"] == {"Which way?": "Green"}


def test_esc_while_streaming_leaves_two_lines_and_no_hook(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version)
    agent.do("submit count [[slow: 300]]")
    by_status(stage, agent, "busy")
    until(lambda: "word3" in stage.tmux.screen(pane))
    assert "esc to interrupt" in stage.tmux.screen(pane)
    stage.keys(pane, "Escape")
    by_status(stage, agent, "idle")
    assert stage.events() == ["SessionStart", "UserPromptSubmit"]
    texts = stage.texts(agent)
    assert texts[-2].startswith("Counting slowly:")
    assert texts[-1] == "[Request interrupted by user]"


def test_esc_before_the_first_token_leaves_no_line(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version)
    agent.do("submit think [[hang: 300]]")
    stage.keys(pane, "Escape")
    by_status(stage, agent, "idle")
    assert stage.texts(agent) == ["think [[hang: 300]]"]
    assert agent.do("state")["input"] == "think [[hang: 300]]"


def test_esc_while_a_tool_runs_gives_no_failure_hook(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version)
    agent.do("permission touch made && sleep 300", "key Enter")
    by_status(stage, agent, "busy")
    stage.keys(pane, "Escape")
    by_status(stage, agent, "idle")
    assert stage.events()[-1] == "PermissionRequest"
    assert stage.texts(agent)[-1] == "[Request interrupted by user for tool use]"


def test_a_subagents_dialog(stage: Stage, version: str) -> None:
    """2.1.332 runs subagents in the background: its Stop comes while the dialog is open."""
    pane, agent = stage.play(version=version)
    agent.do("subagent-permission touch made")
    by_status(stage, agent, "waiting", "permission prompt")
    until(lambda: "from the general-purpose agent" in stage.tmux.screen(pane))
    asked = next(hook for hook in stage.hooks() if hook.event == "PermissionRequest")
    assert asked.payload["agent_type"] == "general-purpose"
    assert ("Stop" in stage.events()) is (version == "2.1.332")
    agent.do("approve")
    events = stage.events()
    tail = ["PostToolUse", "PostToolBatch", "SubagentStop"]
    tail += (
        ["UserPromptSubmit", "Stop"]
        if version == "2.1.332"
        else ["PostToolUse", "PostToolBatch", "Stop"]
    )
    assert events[-len(tail) :] == tail
    by_status(stage, agent, "idle")


def test_a_background_shell_wakes_the_agent(stage: Stage, version: str) -> None:
    _, agent = stage.play(version=version)
    agent.do("background npm run dev")
    by_status(stage, agent, "shell")
    stop = stage.hooks()[-1]
    assert stop.event == "Stop"
    [task] = stop.payload["background_tasks"]
    assert (task["type"], task["command"]) == ("shell", "npm run dev")
    agent.do("background-end")
    woken, stop = stage.hooks()[-2:]
    assert woken.payload["prompt"].startswith("<task-notification>")
    assert stop.payload["background_tasks"] == []
    by_status(stage, agent, "idle")


def test_an_api_error_is_a_stop_failure(stage: Stage, version: str) -> None:
    _, agent = stage.play(version=version)
    agent.do("error 429")
    last = stage.hooks()[-1]
    assert (last.event, last.payload["error"]) == ("StopFailure", "rate_limit")
    assert "permission_mode" not in last.payload


def test_a_prompt_typed_while_busy(stage: Stage, version: str) -> None:
    """2.1.332 tells of it at once, 2.1.197 when its own turn starts."""
    pane, agent = stage.play(version=version)
    agent.do("busy")
    stage.type(pane, "second [[text]]")
    until(lambda: "second" in stage.tmux.screen(pane))
    if version == "2.1.332":
        until(lambda: stage.events().count("UserPromptSubmit") == 2)
    else:
        assert stage.events().count("UserPromptSubmit") == 1
    agent.do("stop first")
    ends = {"2.1.332": ["UserPromptSubmit", "Stop", "Stop"]}
    expected = ends.get(version, ["UserPromptSubmit", "Stop", "UserPromptSubmit", "Stop"])
    assert stage.events()[-len(expected) :] == expected


def test_clear_gives_the_process_a_new_session(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version)
    agent.do("stop hello")
    old = agent.session_id
    stage.type(pane, "/clear")
    until(lambda: agent.do("state")["session_id"] != old)
    until(lambda: stage.seen("SessionEnd", "SessionStart"))
    end, start = stage.hooks()[-2:]
    assert (end.payload["session_id"], end.payload["reason"]) == (old, "clear")
    assert (start.payload["session_id"], start.payload["source"]) == (agent.session_id, "clear")
    by_status(stage, agent, "idle")
    assert stage.status(agent)["sessionId"] == agent.session_id
    assert stage.status(agent)["pid"] == agent.pid


@pytest.mark.parametrize("way", ["/exit", "Ctrl-C twice", "SIGTERM", "the pane is killed"])
def test_ends(stage: Stage, version: str, way: str) -> None:
    pane, agent = stage.play(version=version)
    file = Path(agent.state["status_file"])
    assert file.exists()
    match way:
        case "/exit":
            stage.type(pane, "/exit")
        case "Ctrl-C twice":
            stage.keys(pane, "C-c", "C-c")
        case "SIGTERM":
            psutil.Process(agent.pid).send_signal(signal.SIGTERM)
        case _:
            stage.tmux.tmux("kill-pane", "-t", pane)
    until(lambda: stage.seen("SessionEnd"))
    reason = "other" if way in ("SIGTERM", "the pane is killed") else "prompt_input_exit"
    assert stage.hooks()[-1].payload["reason"] == reason
    until(lambda: not psutil.pid_exists(agent.pid), what="the process is gone")
    assert not list(file.parent.iterdir())


def test_a_crash_leaves_its_files_and_fires_nothing(stage: Stage, version: str) -> None:
    _, agent = stage.play(version=version)
    agent.do("permission touch made")
    events = stage.events()
    agent.crash()
    until(lambda: not psutil.pid_exists(agent.pid), what="the process is gone")
    assert stage.status(agent)["status"] == "waiting"
    assert stage.events() == events


def test_it_looks_like_claude(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version, session_id="11111111-2222-4333-8444-555555555555")
    process = psutil.Process(agent.pid)
    assert process.name() == "claude"
    words = [word for word in process.cmdline() if word]
    assert words == ["claude", "--session-id", "11111111-2222-4333-8444-555555555555"]
    until(lambda: stage.tmux.show("#{pane_current_command}", pane) == "claude")
    until(lambda: stage.tmux.show("#{pane_title}", pane) == "✳ Claude Code")
    assert stage.tmux.show("#{alternate_on}", pane) == ("1" if version == "2.1.332" else "0")
    agent.do("busy")
    title = "⠂ Fake session title" if version == "2.1.197" else "✳ Claude Code"
    until(lambda: stage.tmux.show("#{pane_title}", pane) == title)


def test_the_status_file_names_the_pane(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version)
    window = stage.tmux.show("#{window_id}", pane)
    expected = f"one:{window}.{pane}" if version == "2.1.332" else None
    assert stage.status(agent).get("tmux") == expected
    stat = Path(f"/proc/{agent.pid}/stat").read_text().rpartition(")")[2].split()
    assert stage.status(agent)["procStart"] == stat[19]


def test_a_dropped_event_is_not_sent_once(stage: Stage) -> None:
    _, agent = stage.play()
    agent.do("drop Stop, UserPromptSubmit", "stop first", "stop second")
    assert stage.events() == ["SessionStart", "UserPromptSubmit", "Stop"]
    assert stage.hooks()[-1].payload["last_assistant_message"] == "second"
    assert agent.state["dropped"] == {"Stop": 1, "UserPromptSubmit": 1}
    assert "first" in stage.texts(agent)


def test_a_dialog_that_no_hook_announces(stage: Stage) -> None:
    pane, agent = stage.play(more=["--notify-after", "0.3"])
    agent.do("prompt [[unchecked: rm -rf elsewhere]]")
    by_status(stage, agent, "waiting", "permission prompt")
    until(lambda: stage.seen("PreToolUse", "Notification"))
    assert stage.hooks()[-1].payload["notification_type"] == "permission_prompt"
    assert "PermissionRequest" not in stage.events()
    stage.keys(pane, "Down", "Enter")
    by_status(stage, agent, "idle")


def test_the_idle_reminder_comes_once_unless_somebody_types(stage: Stage) -> None:
    pane, agent = stage.play(more=["--idle-after", "1"])
    agent.do("stop hello")
    until(lambda: stage.seen("Stop", "Notification"))
    assert stage.hooks()[-1].payload["notification_type"] == "idle_prompt"
    before = agent.do("stop hello again", "type x")["fired"]
    holds(lambda: agent.do("state")["fired"] == before, 2, "typing ends the reminder for good")
    assert "❯ x" in stage.tmux.screen(pane)


def test_an_elicitation(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version)
    agent.do("prompt [[form]]")
    by_status(stage, agent, *WAITS_FOR_FORM[version])
    stage.type(pane, "green")
    by_status(stage, agent, "idle")
    result = next(hook for hook in stage.hooks() if hook.event == "ElicitationResult")
    assert result.payload["content"] == {"color": "green"}


#: 2.1.197 stays busy while an MCP server asks.
WAITS_FOR_FORM: dict[str, tuple[str, ...]] = {
    "2.1.197": ("busy",),
    "2.1.332": ("waiting", "input needed"),
}


def test_a_nested_headless_run_has_the_same_pane(stage: Stage, version: str) -> None:
    pane, agent = stage.play(version=version)
    agent.do("prompt [[nested: hello]]")
    inner = [hook for hook in stage.hooks() if hook.payload["session_id"] != agent.session_id]
    assert [hook.event for hook in inner] == [
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "SessionEnd",
    ]
    assert {hook.env["TMUX_PANE"] for hook in inner} == {pane}
    assert {hook.env["CLAUDE_CODE_ENTRYPOINT"] for hook in inner} == {"sdk-cli"}
    assert stage.seen("SessionEnd", "PostToolUse", "PostToolBatch", "Stop")


def test_a_pane_is_used_again(stage: Stage) -> None:
    pane = stage.tmux.new_session("shell", "sh")
    ids = ["11111111-2222-4333-8444-555555555555", "66666666-7777-4888-9999-aaaaaaaaaaaa"]
    for number, name in enumerate(ids):
        path = stage.sandbox.root / f"again{number}.sock"
        stage.type(pane, shlex.join(command_line(control=path, session_id=name)))
        agent = stage.control(path)
        agent.do("stop hello")
        agent.end()
        until(lambda: stage.tmux.show("#{pane_current_command}", pane) == "sh")
    panes = {(hook.payload["session_id"], hook.env["TMUX_PANE"]) for hook in stage.hooks()}
    assert panes == {(name, pane) for name in ids}


def test_a_script_plays_by_itself(stage: Stage) -> None:
    script = stage.sandbox.root / "script"
    script.write_text(
        "# a short life\nstop First answer\npermission touch made; approve Made.\nend\n"
    )
    path = stage.sandbox.root / "s.sock"
    stage.tmux.new_session("one", *command_line(control=path, script=script))
    until(lambda: stage.seen("SessionEnd"))
    said = [h.payload["last_assistant_message"] for h in stage.hooks() if h.event == "Stop"]
    assert said == ["First answer", "Made."]


def test_wait_key_waits_for_the_person(stage: Stage) -> None:
    pane, agent = stage.play(steps="permission touch made; wait-key 60; stop after the key")
    by_status(stage, agent, "waiting", "permission prompt")
    assert "Stop" not in stage.events()
    stage.keys(pane, "y")
    until(lambda: stage.seen("Stop", "UserPromptSubmit", "Stop"))
    assert stage.hooks()[-1].payload["last_assistant_message"] == "after the key"


@pytest.mark.parametrize(
    ("option", "gone"),
    [
        ("hooks", lambda stage, agent: not stage.events()),
        ("registry", lambda stage, agent: not (stage.config / "sessions").exists()),
        ("transcript", lambda stage, agent: not (stage.config / "projects").exists()),
    ],
)
def test_each_source_can_be_turned_off(
    stage: Stage, option: str, gone: Callable[[Stage, Control], bool]
) -> None:
    _, agent = stage.play(**{option: False})
    agent.do("permission touch made", "approve")
    assert gone(stage, agent)


def test_without_settings_the_emitter_is_run(stage: Stage) -> None:
    (stage.config / "settings.json").unlink()
    emit = stage.sandbox.root / "emit"
    emit.write_text(f'#!/bin/sh\nexec sh {stage.recorder} {stage.records} "$4"\n')
    emit.chmod(0o755)
    _, agent = stage.play(emit=emit)
    agent.do("stop hello")
    assert stage.events() == ["SessionStart", "UserPromptSubmit", "Stop"]


def test_a_hook_that_a_person_would_notice_is_a_complaint(stage: Stage) -> None:
    stage.write_hooks(Stop="echo noise; exit 3")
    _, agent = stage.play()
    agent.do("stop hello")
    assert agent.state["complaints"] == ["Stop: exit 3 noise"]


def test_a_slow_permission_hook_holds_nothing_up(stage: Stage) -> None:
    """It runs beside the dialog, and is not ended when the person answers meanwhile."""
    gate = stage.sandbox.root / "gate"
    record = f"sh {stage.recorder} {stage.records}"
    stage.write_hooks(
        PermissionRequest=f"while [ ! -e {gate} ]; do sleep 0.02; done; {record} PermissionRequest"
    )
    pane, agent = stage.play()
    stage.type(pane, "please [[bash: touch made]]")
    by_status(stage, agent, "waiting", "permission prompt")
    stage.keys(pane, "Enter")
    until(lambda: stage.seen("PostToolUse", "PostToolBatch", "Stop"))
    gate.touch()
    until(lambda: stage.seen("Stop", "PermissionRequest"))


def test_a_session_end_hook_has_little_time(stage: Stage) -> None:
    stage.write_hooks(SessionEnd=f"sleep 300; sh {stage.recorder} {stage.records} SessionEnd")
    pane, agent = stage.play()
    stage.type(pane, "/exit")
    until(lambda: not psutil.pid_exists(agent.pid), what="the process is gone")
    assert "SessionEnd" not in stage.events()


def test_impossible_steps_are_refused_with_a_reason(stage: Stage) -> None:
    _, agent = stage.play()
    for step, reason in [
        ("approve", "no dialog is open"),
        ("interrupt", "not busy"),
        ("dance", "no step is named 'dance'"),
        ("drop Nothing", "no hook event is named 'Nothing'"),
        ("background-end", "no background shell runs"),
        ("wait long", "no number of seconds"),
    ]:
        with pytest.raises(AgentError, match=reason):
            agent.do(step)
    assert agent.do("stop still there")["status"] == "idle"


def test_no_agent_is_said_in_time(sandbox: Sandbox) -> None:
    with pytest.raises(AgentError, match="no agent at"):
        Control(sandbox.root / "nobody.sock", timeout=0.1)


def test_a_headless_run_prints_its_answer(sandbox: Sandbox) -> None:
    done = sandbox.run(
        sys.executable, "-m", "tools.fake_agent", "play", "--print", "x [[say: forty-two]]"
    )
    assert (done.returncode, done.stdout) == (0, b"forty-two\n"), done.stderr


def test_ctrl_z_and_back_on_a_dialog(stage: Stage) -> None:
    pane = stage.tmux.new_session("shell", "sh")
    path = stage.sandbox.root / "z.sock"
    stage.type(pane, shlex.join(command_line(control=path)))
    agent = stage.control(path)
    agent.do("permission touch made")
    before = stage.events()
    stage.keys(pane, "C-z")
    until(lambda: stage.tmux.show("#{pane_current_command}", pane) == "sh")
    assert psutil.Process(agent.pid).status() == psutil.STATUS_STOPPED
    assert stage.status(agent)["status"] == "waiting"
    stage.type(pane, "fg")
    until(lambda: "Do you want to proceed?" in stage.tmux.screen(pane))
    assert stage.events() == before
    stage.keys(pane, "1")
    by_status(stage, agent, "idle")


@pytest.mark.parametrize(
    "options",
    [
        "--agents 50 --rate 300/s --seconds 2 --seed 7",
        "load --agents 12 --rate 20 --seconds 2 --seed 7 --through-front",
    ],
    ids=["pushed", "through the front"],
)
def test_a_real_broker_holds_what_the_load_says(sandbox: Sandbox, options: str) -> None:
    sandbox.env["TRAILBOSS_TMUX_SOCKETS"] = str(sandbox.root / "no-server")
    sandbox.spawn(sys.executable, "-m", "trailboss", "broker")
    until(lambda: (sandbox.runtime / "api.sock").exists(), what="the broker is up")
    words = [*options.split(), "--check", "--deadline", "30", "--json"]
    done = sandbox.run(sys.executable, "-m", "tools.fake_agent", *words, timeout=120)
    report = json.loads(done.stdout)
    assert (done.returncode, report["differences"]) == (0, []), done.stderr
    assert report["truth"]
