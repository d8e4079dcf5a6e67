"""`trailboss start` where tmux is missing, or is not one that will do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer


@pytest.fixture
def tools(sandbox: Sandbox) -> Iterator[Path]:
    """The only directory on PATH, with no tmux in it."""
    directory = sandbox.root / "tools"
    directory.mkdir()
    for name in ("env", "true"):
        (directory / name).symlink_to(shutil.which(name) or name)
    script(directory, "sudo", 'shift; exec "$@"')
    usual = sandbox.env["PATH"]
    sandbox.env["PATH"] = str(directory)
    yield directory
    sandbox.env["PATH"] = usual


def script(directory: Path, name: str, text: str) -> None:
    file = directory / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def refused(sandbox: Sandbox) -> str:
    done = sandbox.trailboss("start")
    assert done.returncode == 1
    assert done.stdout == b""
    return done.stderr.decode()


def test_it_is_installed_where_that_may_be_done(
    sandbox: Sandbox, tmux: TmuxServer, tools: Path
) -> None:
    log = sandbox.root / "apt.log"
    known = sandbox.root / "known"
    real = shutil.which("tmux")
    # As on a machine whose package lists were never fetched.
    script(
        tools,
        "apt-get",
        f'echo "$@" >>{log}\n'
        f'case "$*" in *update*) : >{known} ;;\n'
        f"*) [ -e {known} ] || {{ echo E: no such package; exit 100; }}\n"
        f"/bin/ln -s {real} {tools}/tmux ;; esac",
    )
    done = sandbox.trailboss("start", timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.decode() == "trailboss: installing tmux with apt-get…\n"
    sandbox.env["PATH"] += ":/usr/bin:/bin:/usr/local/bin"
    assert tmux.show("#{window_name}", "=trail-boss:") == "dashboard"
    assert [line.split()[1] for line in log.read_text().splitlines()] == [
        "install",
        "update",
        "install",
    ]


def test_a_failure_to_install_it_is_told_in_the_installers_words(
    sandbox: Sandbox, tmux: TmuxServer, tools: Path
) -> None:
    script(tools, "apt-get", "echo E: the mirror is on holiday >&2; exit 100")
    said = refused(sandbox).splitlines()
    assert said[-1] == "trailboss: apt-get could not install tmux: E: the mirror is on holiday"
    assert len(said) == 2


def test_where_it_cannot_be_installed_the_way_is_told(
    sandbox: Sandbox, tmux: TmuxServer, tools: Path
) -> None:
    said = refused(sandbox)
    assert said == "trailboss: tmux is missing: install tmux 3.2 or newer and run this again\n"


def test_one_that_is_too_old_is_named(sandbox: Sandbox, tmux: TmuxServer, tools: Path) -> None:
    script(tools, "tmux", "echo tmux 2.9a")
    assert "tmux 2.9 at" in refused(sandbox)
