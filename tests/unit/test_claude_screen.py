"""Claude Code's screen: every captured one, and what must not be taken for a dialog."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.data.screens.shelf import Shot, shots, wrapped
from trailboss.adapters.claude_screen import ASKING, Screen, claim, read

CASES = Path(__file__).parents[1] / "data" / "cases"
RULE = "─" * 100
IDLE_BOX = ["", RULE, "❯ ", RULE, "  ? for shortcuts · ← for agents"]

every_shot = pytest.mark.parametrize("shot", shots(), ids=lambda shot: shot.id)
wide = pytest.mark.parametrize(
    "shot", [s for s in shots() if s.file.startswith("captured")], ids=lambda shot: shot.id
)


def says(kind: str) -> str | None:
    """What a kind means for the queue."""
    seen = claim(Screen(kind), 1)  # type: ignore[arg-type]
    return None if seen is None else seen.says


def seen(shot: Shot, rows: list[str] | None = None) -> Screen:
    given = list(shot.rows) if rows is None else rows
    return read(given, shot.width, 0 if rows else shot.height, shot.alternate)


def case(name: str) -> list[str]:
    return (CASES / name).read_text(encoding="utf-8").splitlines()


@every_shot
def test_each_captured_screen_is_what_it_shows(shot: Shot) -> None:
    assert seen(shot).kind in shot.kinds


def test_all_kinds_are_among_the_captured_screens() -> None:
    """A lost file would otherwise pass for a clean run."""
    kinds = Counter(shot.kinds[0] for shot in shots())
    assert sum(1 for s in shots() if s.file.startswith("captured")) == 224
    assert {*ASKING, "menu", "busy", "idle", "error", "shell", "unknown"} <= {*kinds, "login"}
    assert all(kinds[kind] >= 10 for kind in ASKING - {"login"})


@every_shot
def test_padding_as_capture_pane_joins_rows_changes_nothing(shot: Shot) -> None:
    padded = [row.ljust(shot.width) for row in shot.rows] + [" " * shot.width] * 5
    assert read(padded, shot.width, 0, shot.alternate).kind == seen(shot).kind


@wide
@pytest.mark.parametrize("width", [100, 60, 40, 32])
def test_a_screen_cut_at_a_narrower_edge_says_the_same_or_nothing(shot: Shot, width: int) -> None:
    screen = read(wrapped(shot.rows, width), width, 0, shot.alternate)
    if shot.kinds[0] in ASKING:
        assert screen.kind in shot.kinds
    else:
        assert says(screen.kind) in (says(shot.kinds[0]), None)


@pytest.mark.parametrize(
    "shot", [s for s in shots() if s.kinds[0] != "menu"], ids=lambda shot: shot.id
)
def test_the_last_fifteen_rows_say_the_same_or_nothing(shot: Shot) -> None:
    """But for menus: who opened one shows over it."""
    screen = seen(shot, list(shot.rows)[-15:])
    assert screen.kind in shot.kinds or says(screen.kind) in (says(shot.kinds[0]), None)


@pytest.mark.parametrize(
    "shot",
    [s for s in shots() if s.file.startswith("captured") and s.kinds[0] in ASKING],
    ids=lambda shot: shot.id,
)
def test_fifteen_rows_are_enough_for_what_asks(shot: Shot) -> None:
    assert seen(shot, list(shot.rows)[-15:]).kind in shot.kinds


QUOTED = [
    "● The prompt looks like this in the docs:",
    "",
    "  Do you want to proceed?",
    "  ❯ 1. Yes",
    "    2. Yes, and don't ask again",
    "    3. No",
    "",
    "  Esc to cancel · Tab to amend",
    "  ❯ 1. Red",
    "    2. Green",
    "  Enter to select · ↑/↓ to navigate · Esc to cancel",
    "",
] * 5


@every_shot
def test_quoted_dialogs_above_change_nothing(shot: Shot) -> None:
    """Sixty rows of them, as far up as the scrollback of a tall pane shows (case B79)."""
    above = [*QUOTED, "● That was the last of them.", ""]
    screen = seen(shot, [*above, *shot.rows])
    assert screen.kind in shot.kinds or says(screen.kind) is None
    if shot.kinds[0] in ASKING:
        assert screen.kind in shot.kinds


@pytest.mark.parametrize(
    "shot", [s for s in shots() if s.kinds[0] in ASKING], ids=lambda shot: shot.id
)
def test_a_dialog_that_an_answer_quotes_is_no_dialog(shot: Shot) -> None:
    quoted = [f"  {row}" for row in shot.rows if row.strip()]
    screen = read(["● So it looks:", "", *quoted, *IDLE_BOX], 100)
    assert screen.kind in ("idle", "error", "unknown")


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("B79/screen-1-quoted.txt", "idle"),
        ("B79/screen-2-real.txt", "permission"),
        ("B79/screen-3-scrollback.txt", "idle"),
        ("B80/screen-hard-100.txt", "permission"),
        ("B80/screen-hard-60.txt", "permission"),
        ("B80/screen-hard-32.txt", "permission"),
        ("B80/screen-soft-100.txt", "permission"),
        ("B80/screen-soft-60.txt", "permission"),
        ("B80/screen-soft-32.txt", "permission"),
        ("B80/screen-idle-32.txt", "idle"),
        ("B82/screen-1-working.txt", "busy"),
        ("B82/screen-2-working.txt", "busy"),
        ("B82/screen-3-working.txt", "busy"),
        ("B82/screen-4-idle.txt", "idle"),
        ("B82/screen-5-unknown.txt", "unknown"),
    ],
)
def test_the_screens_of_the_cases(file: str, kind: str) -> None:
    rows = case(file)
    assert read(rows).kind == kind
    assert read(rows, max(map(len, rows))).kind == kind


@pytest.mark.parametrize("glyph", "✻✽✶✢·*⚙◐⣾")
@pytest.mark.parametrize(
    "words",
    [
        "Flummoxing…",
        "Running the whole test suite and\n  fixing what fails… (12s · ↑ 3 tokens)",
        "Zesting… (esc to interrupt)",
        "API error · Retrying in 8s · attempt 5/10",
    ],
)
@pytest.mark.parametrize("typed", ["", "half a thought"])
def test_a_spinner_of_any_glyph_and_verb_is_work(glyph: str, words: str, typed: str) -> None:
    """B82, and text in the box, which hides the footer's hint."""
    rows = ["● Update(a.py)", "", *f"{glyph} {words}".split("\n"), "", RULE, f"❯ {typed}", RULE]
    assert read(rows, 100).kind == "busy"


@pytest.mark.parametrize(
    "last",
    [
        "✻ Worked for 1m 52s",
        "✻ Sautéed for 3s · done 9:45 PM",
        "✻ Baked for 3m 0s · 1 shell still running",
        "  ⎿  Interrupted · What should Claude do instead?",
    ],
)
@pytest.mark.parametrize("typed", ["", "1. Yes", "esc to interrupt"])
def test_a_finished_turn_rests_whatever_is_typed(last: str, typed: str) -> None:
    rows = ["● Done.", "", last, "", RULE, f"❯ {typed}", RULE, ""]
    assert read(rows, 100).kind == "idle"


def test_text_in_the_box_under_a_streaming_answer_proves_nothing() -> None:
    """No spinner, and the footer's hint is hidden: it may be working."""
    assert read(["● Some words", "", RULE, "❯ and then", RULE], 100).kind == "unknown"
    assert read(["● Some words", "", RULE, "❯ ", RULE, "  -- INSERT --"], 100).kind == "unknown"


def test_a_panel_over_the_spinner_is_not_idle() -> None:
    """B111, as `/diff` of 2.1.332 draws one; a frame inside an answer is none."""
    panel = [
        "╭────────────────────────✕─╮",
        "│ A side panel             │",
        "╰──────────────────────────╯",
    ]
    work = ["❯ go on", "", "● Update(a.py)", "  ⎿  2 additions"]
    assert read([*work, *panel, *IDLE_BOX], 100).kind == "unknown"
    floating = [*work, "✻ Pondering…    ╭──────────╮", "                │ tasks    │"]
    assert read([*floating, *IDLE_BOX], 100).kind == "unknown"
    inside = ["  ⎿  User rejected Claude's plan:", *(f"     {row}" for row in panel)]
    assert read([*work, *inside, *IDLE_BOX], 100).kind == "idle"


MENU = """
────────────────────────────────────────
Which database?

❯ 1. SQLite
     A file
  2. Postgres
     A server

Enter to select · ↑/↓ to navigate · Esc
to cancel
"""


@pytest.mark.parametrize("width", [100, 40])
def test_a_menu_of_the_agents_own_words_is_a_question(width: int) -> None:
    """B116."""
    rows = MENU.strip().split("\n")
    if width == 100:
        rows = [*rows[:-2], " ".join(rows[-2:])]
    screen = read(["● I need a decision.", *rows], width)
    assert (screen.kind, screen.text) == ("question", "Which database?")
    assert screen.options == ("SQLite", "Postgres")
    assert read(rows[1:], width).kind == "question"


@pytest.mark.parametrize(
    "prose",
    [
        ["● Do you want me to proceed? I can", "  1. split the file", "  2. keep it"],
        ["● Which database?", "  1. SQLite", "  2. Postgres", "  Enter to select one"],
        ["❯ 1. Yes 2. No", "● Fine.", "  1. a", "  2. b"],
    ],
)
def test_prose_with_a_list_is_no_dialog(prose: list[str]) -> None:
    """B116's other half, with the input box and without."""
    assert read([*prose, *IDLE_BOX], 100).kind == "idle"
    assert read(prose, 100).kind in ("unknown", "menu")


def test_a_dialog_that_is_over_is_none() -> None:
    """What stands below it tells: a shell, a conversation (captures 12c, 12d, 38)."""
    dialog = [RULE, " Bash command", "", " Do you want to proceed?", " ❯ 1. Yes", "   2. No", ""]
    hints = [" Esc to cancel · Tab to amend", ""]
    assert read([*dialog, *hints], 100).kind == "permission"
    assert read([*dialog, *hints, "$ "], 100).kind == "unknown"
    assert read([*dialog, "me@host:~/src$ ls", "a.py"], 100).kind == "unknown"
    assert read([*dialog, *hints, "● Bash(touch x)", "  ⎿  Done"], 100).kind == "unknown"


def find(file: str, scenario: str, what: str) -> Shot:
    (shot,) = [
        s for s in shots() if (s.file, s.scenario, s.what) == (f"{file}.txt", scenario, what)
    ]
    return shot


NEWEST, CLASSIC = "captured-2.1.332", "captured-2.1.197"


@pytest.mark.parametrize(
    ("file", "scenario", "what", "text", "options"),
    [
        (
            NEWEST,
            "10-subagent-permission",
            "permission dialog of a subagent",
            "Bash command · from the general-purpose agent\nRun touch made-10\ntouch made-10\n"
            "Do you want to proceed?",
            4,
        ),
        (
            CLASSIC,
            "24-write-file",
            "file creation dialog",
            "Create file\nnew-file.txt\n1 written by the fake model\n"
            "Do you want to create new-file.txt?",
            3,
        ),
        (CLASSIC, "06-ask-answer", "question open", "Which color should the button be?", 5),
        (
            NEWEST,
            "07-plan-approve",
            "plan approval open",
            "Ready to code?\nHere is Claude's plan:\nPlan\n1. Make a button.\n2. Paint it green.\n"
            "Claude has written up a plan and is ready to execute. Would you like to proceed?",
            3,
        ),
        (
            NEWEST,
            "34-mcp-elicitation",
            "elicitation dialog open",
            "MCP server “form” requests your input\nWhich color do you want?",
            2,
        ),
    ],
)
def test_the_words_of_a_dialog(
    file: str, scenario: str, what: str, text: str, options: int
) -> None:
    screen = seen(find(file, scenario, what))
    assert screen.text.startswith(text)
    assert len(screen.options) == options


def test_the_options_without_numbers() -> None:
    trust = seen(find(NEWEST, "22-trust-dialog", "trust dialog"))
    assert trust.options == ("No, exit", "Yes, I trust this folder")
    unchecked = seen(find(NEWEST, "41-auto-mode-cannot-check", "permission dialog in auto mode"))
    assert unchecked.options == ("No", "Yes")


def test_a_wrapped_option_is_one() -> None:
    screen = read(case("B80/screen-hard-32.txt"), 32)
    assert screen.options == (
        "Yes",
        "Yes, and don't ask again for make test commands in /proj/demo/app",
        "No, and tell the agent what to do differently (esc)",
    )


@pytest.mark.parametrize("kind", sorted(ASKING))
def test_what_asks_is_stuck(kind: str) -> None:
    told = claim(Screen(kind, "Which?", ("A", "Type something.")), 5)  # type: ignore[arg-type]
    assert told is not None
    assert (told.source, told.says, told.reason, told.cause, told.at) == (
        *("screen", "stuck", "permission"),
        *(kind, 5),
    )
    assert told.text == ("Which?" if kind == "elicitation" else "Which? (A)")


def test_work_and_rest_claim_and_the_rest_says_nothing() -> None:
    going, idle = claim(Screen("busy"), 5), claim(Screen("idle"), 5)
    assert going is not None
    assert (going.says, going.reason) == ("going", None)
    assert idle is not None
    assert (idle.says, idle.reason) == ("idle", "stopped")
    assert [claim(Screen(kind), 5) for kind in ("menu", "unknown", "shell")] == [None] * 3


def test_a_tools_output_that_reads_like_an_error_is_none() -> None:
    """What ends a turn stands under the prompt or as a message of its own (captures 08a, 08e)."""
    output = ["❯ go on", "", "● Bash(curl x)", "  ⎿  API Error: 529 overloaded"]
    assert read([*output, *IDLE_BOX], 100).kind == "idle"
    assert read([*output, "", RULE, "❯ and then", RULE], 100).kind == "unknown"
    answered = ["● API Error: 400 no", "", "❯ again", "", "● Fine.", "", "✻ Baked for 3s"]
    assert read([*answered, *IDLE_BOX], 100).kind == "idle"
    assert read(["❯ go", "  ⎿  Invalid API key · Fix it", *IDLE_BOX], 100).kind == "error"


@pytest.mark.parametrize(
    ("scenario", "name"),
    [
        ("08a-error-400", "unknown"),
        ("08b-error-429", "rate_limit"),
        ("08c-error-529", "server_error"),
        ("08e-error-401", "authentication_failed"),
        ("08h-error-403", "authentication_failed"),
        ("08i-error-404", "model_not_found"),
        ("08j-error-413", "invalid_request"),
    ],
)
def test_an_error_has_the_name_that_the_hook_gives_it(scenario: str, name: str) -> None:
    told = claim(seen(find(CLASSIC, scenario, "after the error")), 5)
    assert told is not None
    assert told.says == "idle"
    assert told.detail == {"error": name}
    assert told.text
