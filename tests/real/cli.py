"""Drives a real Claude Code in a pane: starts it, types, presses keys, reads its screen.

Nothing leaves the machine: the CLI is told to talk to the fake model alone, its proxy is the fake
model too (which refuses and records), and where the system allows it (Linux, root) both live in a
network namespace that has nothing but a loopback.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from tests.real.cache import binary_dir

KEY = "sk-ant-not-a-real-key"
SIZE = (120, 40)

#: The input line stands under a rule; what was typed before is repeated above without one.
PROMPT = r"─\n❯(?!\s*\d+\.)"
#: The line under the cursor in a dialog that waits for an answer.
CHOICE = r"(?m)^\s*❯\s*\d+\. "
PERMISSION = r"Do you want to proceed\?"


class Model:
    """The fake model's process, in a network of its own where that can be had."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.log = sandbox.root / "model.jsonl"
        apart = own_network()
        self.process = sandbox.spawn(
            *(["unshare", "--net"] if apart else []),
            *(sys.executable, "-m", "tests.real.fake_model", "--log", str(self.log)),
            *(["--raise-loopback"] if apart else []),
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url.startswith("http://127.0.0.1:"), "the fake model did not start"
        #: What a command starts with to be in the model's network.
        self.inside = ["nsenter", f"--net=/proc/{self.process.pid}/ns/net"] if apart else []

    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def escapes(self) -> list[dict[str, Any]]:
        """Requests that were meant for anybody else."""
        return [
            asked
            for asked in self.requests()
            if asked["method"] == "CONNECT" or not asked["path"].startswith("/")
        ]


@cache
def own_network() -> bool:
    """Whether this user may make a network namespace and enter it."""
    try:
        tried = subprocess.run(
            ["unshare", "--net", "nsenter", "--net=/proc/self/ns/net", "true"],
            capture_output=True,
            timeout=20,
        )
    except OSError:
        return False
    return tried.returncode == 0


class Claude:
    """One version of the CLI with one home, from which any number of panes can be started."""

    def __init__(self, version: str, sandbox: Sandbox, server: TmuxServer, model: Model) -> None:
        self.version = version
        self.sandbox = sandbox
        self.server = server
        self.model = model
        self.config = sandbox.home / ".claude"
        self.project = sandbox.home / "project"
        assert (binary_dir(version) / "claude").exists(), "run tests/real/setup first"
        self.path = f"{binary_dir(version)}:{sandbox.env['PATH']}"
        self.env = {
            "PS1": "$ ",
            "TERM": "tmux-256color",
            "TMPDIR": str(sandbox.root / "tmp"),
            "CLAUDE_CODE_TMPDIR": str(sandbox.root / "tmp"),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": KEY,
            "HTTP_PROXY": model.url,
            "HTTPS_PROXY": model.url,
            "NO_PROXY": "127.0.0.1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
        }
        self._write_home()

    def _write_home(self) -> None:
        """A home in which nothing is left to ask: theme, login, trust, and the offer of auto mode.

        The permission mode is set, since newer versions would start in auto mode and hardly ask.
        """
        (self.sandbox.root / "tmp").mkdir()
        self.config.mkdir()
        self.project.mkdir()
        subprocess.run(["git", "init", "-q", self.project], check=True, env=self.sandbox.env)
        settings = {"permissions": {"defaultMode": "default"}}
        (self.config / "settings.json").write_text(json.dumps(settings, indent=2))
        state = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": "99.0.0",
            "theme": "dark",
            "numStartups": 5,
            "autoUpdates": False,
            "hasSeenAutoDefaultNudge": True,
            "hasSeenAutoDefaultNotice": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.project): {"hasTrustDialogAccepted": True}},
        }
        (self.sandbox.home / ".claude.json").write_text(json.dumps(state, indent=2))

    def settings(self, **values: Any) -> None:
        """Set top-level keys of settings.json."""
        file = self.config / "settings.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **values}, indent=2))

    def asker(self) -> Path:
        """An MCP configuration whose tool `ask` opens a form, and may be called unasked."""
        self.settings(permissions={"defaultMode": "default", "allow": ["mcp__asker__ask"]})
        server = {"command": sys.executable, "args": ["-m", "tests.real.asker"]}
        file = self.sandbox.root / "mcp.json"
        file.write_text(json.dumps({"mcpServers": {"asker": server}}))
        return file

    def shell(self, name: str, env: Mapping[str, str] | None = None) -> Pane:
        """A tmux session whose pane runs a shell in the model's network."""
        setting = [f"-e{key}={value}" for key, value in {**self.env, **(env or {})}.items()]
        pane = self.server.tmux(
            *("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", name),
            *("-x", str(SIZE[0]), "-y", str(SIZE[1]), "-c", str(self.project)),
            *setting,
            # Not by -e: tmux gives a new pane the PATH of the client that asked for it.
            *(*self.model.inside, "env", f"PATH={self.path}", "sh", "-i"),
        )
        shell = Pane(self, pane)
        shell.wait(r"(?m)^\$")
        return shell

    def start(self, name: str, *args: str, env: Mapping[str, str] | None = None) -> Pane:
        """A pane with a session that is ready for its first prompt."""
        pane = self.shell(name, env)
        pane.run("claude", *args)
        pane.ready()
        return pane


class Pane:
    """A pane of the test's tmux server, as the person at it sees and uses it."""

    def __init__(self, claude: Claude, pane: str) -> None:
        self.claude = claude
        self.server = claude.server
        self.id = pane

    def screen(self) -> str:
        return self.server.screen(self.id)

    def wait(self, pattern: str, seconds: float = 40) -> str:
        """The screen, once it matches."""
        return self._until(lambda: re.search(pattern, self.screen()), pattern, seconds)

    def _until(
        self, condition: Callable[[], object], what: str, seconds: float, interval: float = 0.05
    ) -> str:
        try:
            until(condition, seconds, what, interval)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.screen()}") from None
        return self.screen()

    def _soon(self, condition: Callable[[], object], seconds: float = 3) -> bool:
        try:
            return bool(until(condition, seconds, interval=0.05))
        except AssertionError:
            return False

    def run(self, *command: str) -> None:
        """A command line for the pane's shell."""
        self._keys("-l", shlex.join(command))
        self._keys("Enter")

    def ready(self) -> None:
        """Wait until the CLI takes input: its status file says so, and its input line is there."""
        self._until(lambda: self.status() == "idle", "an idle session", 60)
        self.wait(PROMPT)

    def type(self, text: str) -> None:
        """Type a prompt and send it off.

        Enter goes out once the text stands in the input line: together they would be a paste.
        Text typed too early is lost, and Enter may be swallowed, so both are done until seen.
        """
        shown = PROMPT + r"[^\n]*" + re.escape(text[-30:])

        def standing() -> bool:
            return re.search(shown, self.screen()) is not None

        def written() -> bool:
            if standing():
                return True
            self._keys("C-u")
            self._keys("-l", text)
            return self._soon(standing)

        def sent() -> bool:
            # A CLI that ended leaves its last input line on the screen.
            if not standing() or self.pid() is None:
                return True
            self._keys("Enter")
            return self._soon(lambda: not standing() or self.pid() is None)

        self._until(written, f"{text!r} in the input line", 30)
        self._until(sent, f"{text!r} sent", 30)

    def press(self, *keys: str) -> None:
        """Keys as tmux names them (Escape, Down, C-c), one after the other."""
        for key in keys:
            self._keys(key)

    def dialog(self) -> str:
        """The screen from its first rule down: above it, spinners turn while a dialog waits."""
        screen = self.screen()
        rule = re.search(r"(?m)^[─▔]{60,}$", screen)
        return screen[rule.start() :] if rule else screen

    def settled(self, pattern: str) -> str:
        """The dialog, once it matches and stands still: newer versions ignore a key pressed in
        the first 0.2 s of one."""
        seen = [""] * 6

        def still() -> bool:
            seen.append(self.dialog())
            del seen[0]
            return len(set(seen)) == 1 and re.search(pattern, seen[0]) is not None

        self._until(still, f"a dialog with {pattern}", 40, interval=0.08)
        return seen[0]

    def choose(self, option: str, dialog: str = CHOICE) -> None:
        """Pick the option that starts with that text in the dialog that is on the screen."""
        shown = self.settled(dialog)
        found = re.search(rf"(?m)^[\s❯]*(\d+)\. {option}", shown)
        assert found, f"no option {option!r}:\n{shown}"
        self.answer(found[1], dialog)

    def approve(self) -> None:
        """Say yes to the permission dialog."""
        self.answer("Enter", PERMISSION)

    def answer(self, key: str, dialog: str) -> None:
        """Press a key in a dialog until it shows something else, or is gone."""
        before = self.settled(dialog)

        def taken() -> bool:
            if self.dialog() == before:
                self._keys(key)
            return self._soon(lambda: self.dialog() != before, 8)

        self._until(taken, f"{key} taken by the dialog", 40)

    def _keys(self, *keys: str) -> None:
        self.server.tmux("send-keys", "-t", self.id, *keys)

    def pid(self) -> int | None:
        """The CLI's process: the pane's shell's child."""
        shell = psutil.Process(int(self.server.show("#{pane_pid}", self.id)))
        children = [child.pid for child in shell.children() if child.name().startswith("claude")]
        return children[0] if children else None

    def registry(self) -> dict[str, Any]:
        """What the CLI writes about itself (`sessions/<pid>.json`); empty without a session."""
        file = self.claude.config / "sessions" / f"{self.pid()}.json"
        try:
            facts: dict[str, Any] = json.loads(file.read_text())
        except (OSError, ValueError):
            return {}
        return facts

    def status(self) -> str:
        return str(self.registry().get("status", ""))

    def session_id(self) -> str:
        return str(self.registry().get("sessionId", ""))

    def kill(self) -> None:
        """End the CLI as a crash would: no hook, files left behind."""
        pid = self.pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        self._until(lambda: self.pid() is None, "the process gone", 20)
