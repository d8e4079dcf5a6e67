"""Fixtures: a real CLI of each version, with the hooks that Trail Boss installs and a broker."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import holds, until
from tests.real.cache import VERSIONS
from tests.real.cli import Claude, Model, Pane
from trailboss import paths
from trailboss.client import Client, Unreachable

Item = dict[str, Any]


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(sandbox: Sandbox) -> Iterator[Model]:
    """The fake model; at the end the CLI must have asked nobody else."""
    model = Model(sandbox)
    yield model
    assert model.escapes() == []


@pytest.fixture
def claude(version: str, sandbox: Sandbox, tmux: TmuxServer, model: Model) -> Claude:
    """The CLI without any hook."""
    return Claude(version, sandbox, tmux, model)


class Queue:
    """The queue of the test's broker, asked over its API."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Run a broker, and wait until it answers."""
        self.process = self.sandbox.spawn(sys.executable, "-m", "trailboss", "broker")
        until(lambda: self._answers(), what="the broker answers")

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "the broker ended at once"
        if not paths.api_socket(self.sandbox.runtime).exists():
            return False
        try:
            return bool(self.call("ping"))
        except Unreachable:
            return False

    def call(self, op: str, **args: Any) -> dict[str, Any]:
        with Client(self.sandbox.runtime, timeout_ms=10_000) as client:
            return client.call(op, **args)

    def items(self) -> list[Item]:
        return list(self.call("queue.list")["items"])

    def of(self, pane: Pane) -> list[Item]:
        """The items that name this pane."""
        return [item for item in self.items() if item["pane_id"] == pane.id]

    def wait_for(self, pane: Pane, reason: str, text: str = "") -> Item:
        """The pane's only item, once it has that reason and that text in its message."""

        def fitting() -> list[Item]:
            return [
                item
                for item in self.of(pane)
                if item["reason"] == reason and text in (item["message"] or "")
            ]

        self._wait(fitting, f"{reason} {text!r} in the queue", pane)
        (item,) = self.of(pane)
        return item

    def wait_out(self, pane: Pane) -> None:
        """Until the pane has no item."""
        self._wait(lambda: not self.of(pane), "out of the queue", pane)

    def stays_out(self, pane: Pane, seconds: float = 2) -> None:
        holds(lambda: not self.of(pane), seconds, "out of the queue")

    def _wait(self, condition: Callable[[], object], what: str, pane: Pane) -> None:
        try:
            until(condition, 30, what, interval=0.05)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.items()}\n{pane.screen()}") from None


@pytest.fixture
def unhooked(claude: Claude, sandbox: Sandbox) -> Queue:
    """A broker beside a CLI that has no hook."""
    queue = Queue(sandbox)
    queue.start()
    return queue


@pytest.fixture
def hooked(claude: Claude, sandbox: Sandbox) -> None:
    """Trail Boss's hooks in the CLI's settings."""
    done = sandbox.trailboss("install", "claude", "--yes")
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


@pytest.fixture
def queue(hooked: None, unhooked: Queue) -> Queue:
    """A broker, and a CLI with Trail Boss's hooks."""
    return unhooked
