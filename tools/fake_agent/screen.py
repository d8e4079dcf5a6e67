"""What the terminal shows: the conversation, and below it the prompt box or a dialog."""

from __future__ import annotations

import os
import textwrap
import time
from dataclasses import dataclass, field
from typing import Any

from tools.fake_agent.versions import Version

SPINNER = "·✢✳✶✻✽"
VERBS = ("Deliberating", "Gesticulating", "Precipitating", "Percolating")
DONE_VERBS = ("Baked", "Worked", "Cogitated", "Sautéed")


@dataclass(slots=True)
class Dialog:
    """A question to the person, in place of the prompt box.

    `kind`: `permission`, `question`, `plan`, `form` or `local` (a settings screen). `options` are
    what the keys choose among, `cursor` the one that Enter takes; the last one denies.
    """

    kind: str
    heading: str
    body: list[str]
    options: list[str]
    cursor: int = 0
    footer: str = "Esc to cancel · Tab to amend"
    numbered: bool = True
    typed: str = ""


@dataclass(slots=True)
class View:
    """All that the screen is made of."""

    version: Version
    folder: str
    blocks: list[str] = field(default_factory=list)
    dialog: Dialog | None = None
    input: str = ""
    busy_since: float | None = None
    tokens: int = 0
    queued: list[str] = field(default_factory=list)
    note: str = ""
    permission_mode: str = "default"

    def say(self, text: str) -> None:
        self.blocks.append(f"● {text}")

    def person(self, text: str) -> None:
        self.blocks.append(f"❯ {text}")

    def finished(self, seconds: float, note: str = "") -> None:
        """The line under a turn that is over."""
        verb = DONE_VERBS[len(self.blocks) % len(DONE_VERBS)]
        clock = time.strftime(" · done %-I:%M %p") if self.version.modern else ""
        self.blocks.append(f"✻ {verb} for {int(seconds)}s{clock}{note}")


def render(view: View, columns: int, rows: int, now: float = 0.0) -> list[str]:
    """The rows from the top, at most `rows` of at most `columns` cells.

    The newer version uses the alternate screen with the prompt at its bottom, the older one grows
    downward from its header. Only the end of a conversation that is too long is shown.
    """
    body = _header(view) + _conversation(view, columns, now)
    bottom = _dialog(view, columns) if view.dialog else _prompt_box(view, columns)
    room = max(0, rows - len(bottom))
    if len(body) > room:
        body = body[len(body) - room :]
    elif view.version.modern:
        body = body + [""] * (room - len(body))
    return [row[:columns].rstrip() for row in body + bottom][-rows:]


def _header(view: View) -> list[str]:
    version = view.version
    words = (
        f"Claude Code v{version.number}",
        f"{version.model_name} · API Usage Billing",
        view.folder,
    )
    top = [""] if version.modern else []
    return [*top, *(f"{art} {word}" for art, word in zip(version.logo, words, strict=True)), "", ""]


def _conversation(view: View, columns: int, now: float) -> list[str]:
    rows: list[str] = []
    for block in view.blocks:
        for line in block.split("\n"):
            rows.extend(
                textwrap.wrap(line, max(20, columns), subsequent_indent="  ", tabsize=4) or [""]
            )
        rows.append("")
    if view.busy_since is not None and view.dialog is None:
        seconds = max(0, int(now - view.busy_since))
        spark = SPINNER[int(now * 4) % len(SPINNER)]
        verb = VERBS[len(view.blocks) % len(VERBS)]
        rows.extend([f"{spark} {verb}… ({seconds}s · ↓ {view.tokens} tokens)", ""])
    for text in view.queued:
        rows.extend([f"  ❯ {text}", ""])
    return rows


def _prompt_box(view: View, columns: int) -> list[str]:
    rule = "─" * columns
    busy = view.busy_since is not None
    if view.version.modern:
        mode = {
            "auto": "⏵⏵ auto mode on",
            "plan": "⏸ plan mode on",
            "acceptEdits": "⏵⏵ accept edits on",
        }.get(view.permission_mode, "⏸ manual mode on")
        hint = "esc to interrupt · ← for agents" if busy else "? for shortcuts · ← for agents"
        footer = [f"  {mode} · {view.note}{hint}"]
        above = [f"{'◐ ' + view.version.effort + ' · /effort':>{columns - 2}}"]
    else:
        hint = "esc to interrupt" if busy else "? for shortcuts"
        left = f"  {view.note}{hint} · ← for agents"
        right = f"● {view.version.effort} · /effort"
        footer = [left + f"{right:>{max(0, columns - len(left) - 2)}}"]
        above = []
    text = view.input.split("\n")
    lines = [f"❯ {text[0]}"] + [f"  {line}" for line in text[1:]]
    return [*above, rule, *lines, rule, *footer]


def _dialog(view: View, columns: int) -> list[str]:
    dialog = view.dialog
    assert dialog is not None
    rule, dashes = "─" * columns, "╌" * columns
    rows = [rule]
    if dialog.kind == "permission" and view.version.modern:
        rows += [f" {dialog.heading}", dashes, *(f" {line}" for line in dialog.body), dashes]
        rows.append(" Do you want to proceed?")
    elif dialog.kind == "permission":
        rows += [f" {dialog.heading}", "", *(f"   {line}" for line in dialog.body), ""]
        rows.append(" Do you want to proceed?")
    else:
        rows += [f" {dialog.heading}", "", *dialog.body, ""]
    indent = "" if dialog.kind == "question" else " "
    for number, option in enumerate(dialog.options):
        mark = "❯" if number == dialog.cursor else " "
        count = f"{number + 1}. " if dialog.numbered else ""
        rows.append(f"{indent}{mark} {count}{option}")
    if dialog.typed:
        rows.append(f"   {dialog.typed}")
    return [*rows, "", f" {dialog.footer}"]


def permission_dialog(
    view: View, command: str, description: str, options: tuple[str, ...], subagent: str | None
) -> Dialog:
    """The dialog that asks whether a command may run."""
    heading = "Bash command" + (f" · from the {subagent} agent" if subagent else "")
    if view.version.modern:
        return Dialog("permission", heading, [command], list(options))
    footer = "Esc to cancel · Tab to amend · ctrl+e to explain"
    return Dialog("permission", heading, [command, description], list(options), footer=footer)


def question_dialog(question: dict[str, Any]) -> Dialog:
    """The dialog of AskUserQuestion."""
    options = [option["label"] for option in question["options"]]
    return Dialog(
        "question",
        f"☐ {question['header']}",
        [question["question"]],
        [*options, "Type something.", "Chat about this"],
        footer="Enter to select · ↑/↓ to navigate · Esc to cancel",
    )


class Terminal:
    """The real terminal: raw while it is open, drawn whole at each change.

    Without a terminal on standard output nothing is drawn.
    """

    def __init__(self, alternate: bool) -> None:
        self._alternate = alternate
        self._saved: list[Any] | None = None
        self._title: str | None = None
        self.drawn: list[str] = []
        self.live = os.isatty(1)
        self.reads = os.isatty(0)

    def open(self) -> None:
        if self.reads:
            import termios
            import tty

            self._saved = termios.tcgetattr(0)
            tty.setraw(0, termios.TCSANOW)
        self._send("\x1b[?1049h" * self._alternate + "\x1b[2J\x1b[?2004h")
        self.drawn = []

    def close(self, keep_title: bool = False) -> None:
        """Give the terminal back: without the title, and without the alternate screen."""
        end = "" if self._alternate else f"\x1b[{len(self.drawn) + 1};1H"
        title = "" if keep_title else "\x1b]2;\x07"
        self._send(f"{end}\x1b[?2004l\x1b[?25h{title}" + "\x1b[?1049l" * self._alternate)
        if self._saved is not None:
            import termios

            try:
                termios.tcsetattr(0, termios.TCSANOW, self._saved)
            except (termios.error, OSError):
                pass
            self._saved = None

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        try:
            size = os.get_terminal_size(1)
        except OSError:
            return 80, 24
        return max(20, size.columns), max(6, size.lines)

    def title(self, text: str) -> None:
        if text != self._title:
            self._title = text
            self._send(f"\x1b]2;{text}\x07")

    def draw(self, rows: list[str]) -> None:
        """Show these rows; nothing is sent when they are there already."""
        if rows == self.drawn:
            return
        self.drawn = rows
        lines = "".join(f"\x1b[{at};1H{row}\x1b[K" for at, row in enumerate(rows, 1))
        self._send(f"\x1b[?25l{lines}\x1b[J\x1b[?25h")

    def _send(self, text: str) -> None:
        if not self.live:
            return
        data = text.encode("utf-8", "replace")
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError:
            self.live = False
