"""The hooks in Claude Code's settings, as text: whatever the file looks like, it comes back."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trailboss.install import claude, command
from trailboss.install.files import Refused

EMITTER = "/opt/it's here/trailboss-emit"
OLD = "/old/venv/bin/trailboss-emit"

# What 2.1.197 knows. A newer version opens a warning screen for a name that it does not know.
KNOWN_TO_2_1_197 = """
    PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit
    UserPromptExpansion SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop
    PreCompact PostCompact PermissionRequest PermissionDenied Setup TeammateIdle TaskCreated
    TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove
    InstructionsLoaded CwdChanged FileChanged MessageDisplay
"""


def groups_of(text: str) -> dict[str, Any]:
    return json.loads(text)["hooks"]


# --- what is written ---------------------------------------------------------------------------


def test_every_event_is_one_that_the_oldest_version_knows() -> None:
    assert set(claude.EVENTS) <= set(KNOWN_TO_2_1_197.split())


def test_the_shape_is_what_the_published_schema_has() -> None:
    hooks = groups_of(claude.install("{}", EMITTER))
    assert list(hooks) == list(claude.EVENTS)
    for event, groups in hooks.items():
        (group,) = groups
        assert set(group) <= {"matcher", "hooks"}
        (entry,) = group["hooks"]
        assert entry["type"] == "command"
        assert entry["command"] == command.hook(EMITTER, "claude", event)
        assert isinstance(entry["timeout"], int)
        assert 1 <= entry["timeout"] <= 10, "seconds, and few"
        assert entry.get("async", False) is (event == "PostToolUse")


@pytest.mark.parametrize("text", ["", "   \n", "\r\n"])
def test_an_empty_file_becomes_a_document(text: str) -> None:
    made = claude.install(text, EMITTER)
    assert set(json.loads(made)) == {"hooks"}
    assert made.endswith("}\n")
    assert made.startswith('{\n  "hooks": {\n    "SessionStart": [\n')


# --- other people's layout ---------------------------------------------------------------------

DOCUMENTS = {
    "four spaces": '{\n    "model": "opus",\n    "hooks": {\n        "Stop": []\n    }\n}\n',
    "tabs": '{\n\t"model": "opus"\n}',
    "CRLF": '{\r\n  "model": "opus",\r\n  "env": {}\r\n}\r\n',
    "one line": '{"model": "opus", "hooks": {"Stop": [{"hooks": []}]}}',
    "minified": '{"model":"opus","env":{"A":"ü"},"hooks":{"Stop":[]}}',
    "space before colons": '{\n  "model" : "opus",\n  "n" : 1\n}\n',
    "brackets in strings": '{\n  "a]}\\"": "{[\\\\",\n  "hooks": {"Stop": [ ] }\n}',
    "empty": "{}",
    "empty over lines": "{\n}\n",
    "blank around": '\n\n  {\n    "a": 1\n  }  \n\n',
    "hooks empty over lines": '{\n  "hooks": {\n  },\n  "a": 1\n}\n',
    "hooks first and alone": '{"hooks": {}}',
    "commas first": '{\n    "a": 1\n  , "b": 2\n}\n',
    "repeated key": '{\n  "hooks": {"Stop": [1]},\n  "hooks": {\n    "Stop": []\n  }\n}\n',
    "escaped key": '{\n  "hook\\u0073": {\n    "St\\u006fp": []\n  }\n}\n',
    "foreign shapes": '{"hooks": {"Stop": [null, {"hooks": 3}, {"matcher": "x"}], "Odd": 7}}',
    "huge number": '{"n": ' + "9" * 5000 + ', "x": 1e999}',
    "lone surrogate": '{"n": "\\ud800", "u": "\u2028"}',
}


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_the_bytes_come_back(text: str) -> None:
    made = claude.install(text, EMITTER)
    assert claude.install(made, EMITTER) == made, "a second install changes a byte"
    for event in claude.EVENTS:
        ours = [e for g in json.loads(made, parse_int=str)["hooks"][event] for e in entries(g)]
        assert claude.entry(EMITTER, event) | {"timeout": "5"} in ours
    assert claude.uninstall(made, text) == text


def entries(group: Any) -> list[Any]:
    held = group.get("hooks") if isinstance(group, dict) else None
    return held if isinstance(held, list) else []


def test_what_is_written_looks_like_its_surroundings() -> None:
    made = claude.install(DOCUMENTS["tabs"], EMITTER)
    assert '\n\t"hooks": {\n\t\t"SessionStart": [\n\t\t\t{\n' in made
    made = claude.install(DOCUMENTS["CRLF"], EMITTER)
    assert made.count("\n") == made.count("\r\n")
    assert "\n" not in claude.install(DOCUMENTS["minified"], EMITTER)
    made = claude.install(DOCUMENTS["four spaces"], EMITTER)
    assert made == json.dumps(json.loads(made), indent=4, ensure_ascii=False) + "\n"


# --- what is refused ---------------------------------------------------------------------------

REFUSED = {
    "comments": ('{\n  // mine\n  "a": 1\n}', "comments"),
    "block comment": ('{"a": 1 /* mine */}', "comments"),
    "trailing comma": ('{"a": 1,}', "not valid JSON"),
    "cut off": ('{"a": [1', "not valid JSON"),
    "two documents": ("{}\n{}", "not valid JSON"),
    "NaN": ('{"a": NaN}', "not valid JSON"),
    "control character": ('{"a": "\x01"}', "not valid JSON"),
    "deep": ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    "a list": ("[]", "not a JSON object"),
    "hooks a list": ('{"hooks": []}', '"hooks" is not an object'),
    "hooks null": ('{"hooks": null}', '"hooks" is not an object'),
    "event an object": ('{"hooks": {"Stop": {}}}', "Stop that is no list"),
}


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_valid_is_named_and_left_alone(text: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        claude.install(text, EMITTER)
    with pytest.raises(Refused, match=why):
        claude.uninstall(text)


def test_slashes_in_strings_are_no_comments() -> None:
    with pytest.raises(Refused) as refused:
        claude.install('{"a": "http://x",}', EMITTER)
    assert "comments" not in str(refused.value)
    assert "line 1, column 18" in str(refused.value)


# --- ours among others' (B72) ------------------------------------------------------------------

SHARED = Path(__file__).parent / "data" / "settings-with-foreign-hooks.json"


def test_a_hook_that_was_moved_into_a_shared_group_stays_there_and_goes_alone() -> None:
    text = SHARED.read_text()
    made = json.loads(claude.install(text, EMITTER))
    moved = made["hooks"]["Stop"].pop()["hooks"][0]
    made["hooks"]["Stop"][0]["hooks"].insert(0, moved)
    edited = json.dumps(made, indent=4, ensure_ascii=False) + "\n"
    assert claude.install(edited, EMITTER) == edited
    back = claude.uninstall(edited, text)
    assert json.loads(back) == json.loads(text)
    assert back == json.dumps(json.loads(text), indent=4, ensure_ascii=False) + "\n"


def test_an_empty_list_that_was_there_stays_and_a_mention_is_no_hook_of_ours() -> None:
    text = SHARED.read_text()
    back = json.loads(claude.uninstall(claude.install(text, EMITTER) + "\n", text))
    assert back == json.loads(text)
    assert back["hooks"]["Notification"] == []
    assert claude.mentions(text) == ["UserPromptSubmit"]


@pytest.mark.parametrize(
    "old",
    [
        OLD,
        f"{OLD} --event Stop",
        f"exec {OLD} --harness=claude --event=Stop 2>/dev/null",
        f"[ -x {OLD} ] && exec {OLD} --harness claude --event Stop; exit 0",
        f"'{OLD}' --harness claude --event Stop || true",
        "trailboss-emit --event Stop",
    ],
)
def test_an_older_entry_is_brought_up_to_date_where_it_stands(old: str) -> None:
    entry = {"type": "command", "command": old, "timeout": 5000, "async": True, "mine": [1]}
    value = {"hooks": {"Stop": [{"matcher": "*", "hooks": [entry, {"type": "x"}]}, {"hooks": []}]}}
    text = json.dumps(value, indent=2)
    made = groups_of(claude.install(text, EMITTER))["Stop"]
    renewed = {**claude.entry(EMITTER, "Stop"), "mine": [1]}
    assert made == [{"matcher": "*", "hooks": [renewed, {"type": "x"}]}, {"hooks": []}]
    back = json.loads(claude.uninstall(text))
    assert back == {"hooks": {"Stop": [{"matcher": "*", "hooks": [{"type": "x"}]}, {"hooks": []}]}}


@pytest.mark.parametrize(
    "theirs",
    [
        "echo trailboss-emit",
        f"{OLD} --event Stop; say done",
        f"say done && {OLD}",
        f"{OLD} --harness codex --event Stop",
        f"{OLD} --harness claude '{{}}'",
        f"{OLD} extra",
        "/opt/not-trailboss-emit --event Stop",
        f"TRAILBOSS_STATE_DIR=/x {OLD} --event Stop",
        f"{OLD} 'unclosed",
        "[ -x /bin/true ] && exit 0",
        "",
    ],
)
def test_a_command_of_the_users_own_is_never_taken_for_ours(theirs: str) -> None:
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": theirs}]}]}})
    assert claude.uninstall(text) == text
    made = claude.install(text, EMITTER)
    assert groups_of(made)["Stop"][0] == groups_of(text)["Stop"][0]
    assert claude.uninstall(made + " ") == text + " "


def test_one_hook_an_event_is_left_whatever_was_there() -> None:
    ours = claude.entry(OLD, "Stop")
    groups = [{"matcher": "Bash", "hooks": [ours]}, {"hooks": [ours, ours]}, {"hooks": [ours]}]
    value = {
        "hooks": {"Stop": groups, "PreToolUse": [{"hooks": [ours]}], "PostToolUse": groups[:1]}
    }
    hooks = groups_of(claude.install(json.dumps(value), EMITTER))
    assert hooks["Stop"] == [{"hooks": [claude.entry(EMITTER, "Stop")]}]
    assert hooks["PostToolUse"] == [{"hooks": [claude.entry(EMITTER, "PostToolUse")]}]
    assert "PreToolUse" not in hooks, "an event that is not asked for any more"


def test_of_a_repeated_key_the_one_that_counts_gets_the_hooks() -> None:
    ours = json.dumps({"Stop": [{"hooks": [claude.entry(OLD, "Stop")]}]})
    text = f'{{"hooks": {ours}, "hooks": {{"Stop": []}}}}'
    made = claude.install(text, EMITTER)
    assert groups_of(made)["Stop"] == [{"hooks": [claude.entry(EMITTER, "Stop")]}]
    assert OLD not in made
    # Taken out whole, the second `hooks` would bring the first one back to life.
    assert claude.uninstall(made) == '{"hooks": {"Stop": []}, "hooks": {}}'


def test_a_large_file_is_edited_in_place() -> None:
    value = {"permissions": {"allow": [f"Bash(x{n} *)" for n in range(60_000)]}, "hooks": {}}
    text = json.dumps(value, indent=2)
    made = claude.install(text, EMITTER)
    assert json.loads(made) == model_of_install(value)
    assert claude.uninstall(made, text) == text


# --- any document in any layout ----------------------------------------------------------------

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
foreign_hook = st.fixed_dictionaries(
    {
        "type": st.just("command"),
        "command": st.sampled_from(["say done", "x", "trailboss-emit no"]),
    },
    optional={"timeout": st.integers(1, 60)},
)
foreign_group = st.fixed_dictionaries(
    {"hooks": st.lists(foreign_hook, max_size=2)},
    optional={"matcher": st.sampled_from(["", "*", "Bash", "Edit|Write"])},
)
hooks_value = st.dictionaries(
    st.sampled_from([*claude.EVENTS, "PreToolUse", "PreCompact"]),
    st.lists(foreign_group, max_size=3),
    max_size=5,
)
documents = st.builds(
    lambda rest, hooks, place: dict(
        sorted([*rest.items(), *([("hooks", hooks)] if hooks is not None else [])], key=place)
    ),
    st.dictionaries(st.text(max_size=6).filter(lambda key: key != "hooks"), values, max_size=4),
    st.none() | hooks_value,
    st.sampled_from([lambda item: item[0], lambda item: item[0][::-1]]),
)


def set_anyhow(value: Any, dice: random.Random) -> str:
    """The value as JSON in a layout that nobody would choose: any white space anywhere."""

    def space() -> str:
        return "".join(
            dice.choice([" ", "\n", "\t", "\r\n"]) for _ in range(dice.choice([0, 0, 1, 3]))
        )

    def put(value: Any) -> str:
        if isinstance(value, dict):
            inside = [
                f"{space()}{put(k)}{space()}:{space()}{put(v)}{space()}" for k, v in value.items()
            ]
            return "{" + (",".join(inside) or space()) + "}"
        if isinstance(value, list):
            return "[" + (",".join(space() + put(v) + space() for v in value) or space()) + "]"
        return json.dumps(value, ensure_ascii=dice.random() < 0.5)

    return space() + put(value) + space()


def model_of_install(value: dict[str, Any]) -> dict[str, Any]:
    hooks = {event: list(groups) for event, groups in value.get("hooks", {}).items()}
    for event in claude.EVENTS:
        hooks.setdefault(event, []).append({"hooks": [claude.entry(EMITTER, event)]})
    return {**value, "hooks": hooks}


@given(documents, st.randoms(use_true_random=False), st.sampled_from([None, 1, 2, 4, "\t", "any"]))
@settings(max_examples=100, deadline=None)
def test_any_document_is_merged_and_comes_back(
    value: Any, dice: random.Random, indent: Any
) -> None:
    if indent == "any":
        text = set_anyhow(value, dice)
    else:
        text = json.dumps(value, indent=indent, ensure_ascii=dice.random() < 0.5)
        text = text.replace("\n", dice.choice(["\n", "\r\n"])) + dice.choice(["", "\n"])
    made = claude.install(text, EMITTER)
    assert json.loads(made) == model_of_install(value)
    assert list(json.loads(made)) == list(model_of_install(value))
    assert claude.install(made, EMITTER) == made
    moved = claude.install(made, OLD)
    assert claude.install(moved, EMITTER) == made
    assert claude.uninstall(made, text) == text
    # Touched since, be it by one blank: now only what is ours is cut out.
    back = claude.uninstall(made + " ", text)
    assert json.loads(back) == value
    if indent != "any":
        assert back == text + " "
    assert "exec " not in claude.uninstall(made), "without the original everything of ours goes too"
