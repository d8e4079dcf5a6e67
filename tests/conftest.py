"""Fixtures that every layer of tests shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.broker import BrokerProcess
from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.world import World


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A home, state and runtime of the test's own."""
    box = Sandbox()
    yield box
    box.close()


@pytest.fixture
def tmux(sandbox: Sandbox) -> Iterator[TmuxServer]:
    """A private tmux server (started by the first session made on it)."""
    server = TmuxServer(sandbox)
    sandbox.env["TRAILBOSS_TMUX_SOCKETS"] = str(server.socket)
    yield server
    server.close()


@pytest.fixture
def broker(sandbox: Sandbox) -> Iterator[BrokerProcess]:
    """A real broker that runs already, with a sweep every second."""
    process = BrokerProcess(sandbox)
    process.start()
    yield process
    process.close()


@pytest.fixture
def world(sandbox: Sandbox, tmux: TmuxServer) -> Iterator[World]:
    """tmux, broker and agents together."""
    tmux.new_session("desk", "cat")
    process = BrokerProcess(sandbox)
    process.start()
    out = World(sandbox, tmux, process)
    yield out
    out.close()
    process.close()
