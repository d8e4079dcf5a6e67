"""Fixtures of the emitter's tests: a collector in the broker's place, a front without Python."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.harness.emitter import EMIT, Collector
from tests.harness.sandbox import Sandbox


@pytest.fixture
def collector(sandbox: Sandbox) -> Iterator[Collector]:
    made = Collector(sandbox)
    yield made
    made.close()


@pytest.fixture
def no_python(sandbox: Sandbox) -> str:
    """The front where no worker can be started: a copy with no interpreter beside it."""
    sandbox.env["PATH"] = str(sandbox.root / "nowhere")
    copy = sandbox.root / "bin" / "trailboss-emit"
    copy.parent.mkdir()
    shutil.copy(EMIT, copy)
    return str(copy)
