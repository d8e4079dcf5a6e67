"""Steps, markers, keys, hook selection and the screen of the fake agent."""

from __future__ import annotations

import pytest

from tools.fake_agent import keys
from tools.fake_agent.hooks import find
from tools.fake_agent.screen import View, permission_dialog, question_dialog, render
from tools.fake_agent.script import (
    Action,
    BadStep,
    Step,
    harmless,
    parse_steps,
    seconds_of,
    turn_plan,
)
from tools.fake_agent.turn import CLOSING
from tools.fake_agent.versions import NEW, OLD, Version


def test_steps_stand_one_a_line_or_with_semicolons() -> None:
    text = "# a comment; not a step\nstop First answer; permission touch made\n\napprove ;end\n"
    assert parse_steps(text) == [
        Step("stop", "First answer"),
        Step("permission", "touch made"),
        Step("approve"),
        Step("end"),
    ]


def test_a_semicolon_in_a_marker_or_escaped_is_no_separator() -> None:
    steps = parse_steps(r"prompt [[bash: a; b]] and; permission a\; b; approve")
    assert [step.argument for step in steps] == ["[[bash: a; b]] and", "a; b", ""]


@pytest.mark.parametrize("text", ["sing", "prompt", "wait", "drop", "key "])
def test_a_bad_step_is_named(text: str) -> None:
    with pytest.raises(BadStep, match=text.split()[0]):
        parse_steps(text)


@pytest.mark.parametrize(
    ("prompt", "plan"),
    [
        ("hello", [("say", ("Hello. This is a plain answer from the fake model.",))]),
        ("x [[bash: touch a; ls]] y", [("tools", ("touch a; ls",))]),
        ("[[two: a || b]]", [("tools", ("a", "b"))]),
        ("[[steps: a || b]]", [("tools", ("a",)), ("tools", ("b",))]),
        ("[[bash: a]] then [[say: done]]", [("tools", ("a",)), ("say", ("done",))]),
        ("[[error: 429]]", [("error", ("429",))]),
        ("[[ask]]", [("ask", ())]),
        ("[[slow: 4]]", [("stream", ("4",))]),
        ("[[agent: touch b]]", [("delegate", ("touch b",))]),
        (
            "[[nobody-knows-this]] x",
            [("say", ("Hello. This is a plain answer from the fake model.",))],
        ),
    ],
)
def test_markers_choose_what_the_model_does(
    prompt: str, plan: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert [(action.kind, action.arguments) for action in turn_plan(prompt)] == plan


def test_run_does_not_ask() -> None:
    assert turn_plan("[[run: make]]") == [Action("tools", ("make",), asks=False)]


@pytest.mark.parametrize(
    ("command", "free"),
    [("ls -l", True), ("sleep 20", True), ("touch x", False), ("ls; rm x", False), ("lsof", False)],
)
def test_harmless_commands_run_without_asking(command: str, free: bool) -> None:
    assert harmless(command) is free


def test_a_command_takes_as_long_as_its_sleeps() -> None:
    assert seconds_of("touch a && sleep 2; sleep 0.5") == 2.5


def test_closing_words_cover_only_known_actions() -> None:
    kinds = {action.kind for name in CLOSING for action in turn_plan(f"[[{_marker(name)}: x]]")}
    assert kinds == set(CLOSING)


def _marker(kind: str) -> str:
    return {"delegate": "agent", "background": "bg"}.get(kind, kind)


def test_keys_of_a_terminal() -> None:
    decoder = keys.Decoder()
    assert decoder.feed(b"a\xc3") == ["a"]
    assert decoder.feed(b"\xa9\r\x7f\x03") == ["é", "Enter", "Backspace", "C-c"]
    assert decoder.feed(b"\x1b[A\x1b[B\x1bOC\x1b[I") == ["Up", "Down", "Right"]
    assert decoder.feed(b"\x1b") == []
    assert decoder.waiting
    assert decoder.flush() == ["Esc"]
    assert decoder.feed(b"\x1b[200~hi\x1b[201~") == ["h", "i"]


def test_an_escape_sequence_in_two_reads_is_one_key() -> None:
    decoder = keys.Decoder()
    assert decoder.feed(b"\x1b[") == []
    assert decoder.feed(b"B") == ["Down"]


def test_names_of_keys_in_a_step() -> None:
    assert keys.names("Down Enter 4 Escape yes") == ["Down", "Enter", "4", "Esc", "y", "e", "s"]


HOOKS = {
    "PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": "one"}]},
        {"matcher": "Write|Edit", "hooks": [{"type": "command", "command": "two"}]},
        {"hooks": [{"type": "command", "command": "three", "async": True, "timeout": 5}]},
    ],
    "Stop": [{"matcher": "ignored", "hooks": [{"type": "command", "command": "four"}] * 2}],
}


@pytest.mark.parametrize(
    ("event", "more", "commands"),
    [
        ("PreToolUse", {"tool_name": "Bash"}, ["one", "three"]),
        ("PreToolUse", {"tool_name": "Edit"}, ["two", "three"]),
        ("Stop", {}, ["four"]),
        ("SessionEnd", {"reason": "other"}, []),
    ],
)
def test_hooks_are_found_by_matcher(event: str, more: dict[str, str], commands: list[str]) -> None:
    assert [hook.command for hook in find(HOOKS, event, more, "emit")] == commands


def test_without_settings_the_emitter_is_the_hook() -> None:
    [hook] = find({}, "Stop", {}, "/my path/trailboss-emit")
    assert hook.command == "'/my path/trailboss-emit' --harness claude --event Stop"
    assert find({}, "Stop", {}) == []
    assert find(HOOKS, "PreToolUse", {"tool_name": "Bash"})[1].background


@pytest.mark.parametrize("version", [OLD, NEW], ids=lambda version: version.number)
class TestScreen:
    def test_idle(self, version: Version) -> None:
        rows = render(_view(version), 80, 24)
        assert f"Claude Code v{version.number}" in "\n".join(rows)
        assert "❯" in [row.strip() for row in rows]
        assert "? for shortcuts" in rows[-1]
        assert (len(rows) == 24) is version.modern

    def test_busy_shows_the_way_out(self, version: Version) -> None:
        view = _view(version)
        view.busy_since = 1.0
        rows = render(view, 80, 24, now=4.0)
        assert "esc to interrupt" in rows[-1]
        assert any("(3s · ↓ 0 tokens)" in row for row in rows)

    def test_permission_dialog(self, version: Version) -> None:
        view = _view(version)
        options = version.permission_options("/home/dev/project")
        view.dialog = permission_dialog(view, "touch made", "Run touch made", options, None)
        rows = [row.strip() for row in render(view, 90, 30)]
        assert "Bash command" in rows
        assert "touch made" in rows
        assert "Do you want to proceed?" in rows
        assert "❯ 1. Yes" in rows
        assert f"{len(options)}. No" in rows
        assert rows[-1].startswith("Esc to cancel · Tab to amend")

    def test_a_subagents_dialog_says_so(self, version: Version) -> None:
        view = _view(version)
        options = version.permission_options("/p")
        view.dialog = permission_dialog(view, "ls", "List", options, "general-purpose")
        assert "Bash command · from the general-purpose agent" in "\n".join(render(view, 80, 24))

    def test_question_dialog(self, version: Version) -> None:
        view = _view(version)
        question = {"header": "Color", "question": "Which?", "options": [{"label": "Red"}]}
        view.dialog = question_dialog(question)
        rows = [row.strip() for row in render(view, 80, 24)]
        assert "☐ Color" in rows
        assert "❯ 1. Red" in rows
        assert rows[-1].startswith("Enter to select")

    def test_a_long_conversation_shows_its_end(self, version: Version) -> None:
        view = _view(version)
        view.blocks = [f"● line {number}" for number in range(50)]
        rows = render(view, 40, 12)
        assert len(rows) == 12
        assert "● line 49" in rows
        assert "● line 0" not in rows
        assert all(len(row) <= 40 for row in rows)


def _view(version: Version) -> View:
    return View(version, "~/project")
