"""hooks/: what each harness and system is given, as files to look at."""

from __future__ import annotations

from pathlib import Path

import trailboss
from trailboss.install import claude

HOOKS = Path(trailboss.__file__).parent / "hooks"


def test_the_example_is_what_install_writes() -> None:
    written = claude.install("", "/path/to/bin/trailboss-emit")
    assert (HOOKS / "claude" / "settings.json").read_text() == written


def test_the_unit_starts_the_broker() -> None:
    unit = (HOOKS / "systemd" / "trailboss.service").read_text()
    assert "trailboss broker" in unit
    assert "PrivateTmp=no" in unit
