"""The command lines in other programs' files: they run anywhere and never fail an agent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.sandbox import REPO
from trailboss.install import command
from trailboss.install.files import Refused

SHELLS = [shell for shell in ("sh", "dash", "bash", "zsh", "fish", "ksh") if shutil.which(shell)]
BIG = b"x" * 300_000

NAMES = ["plain", "two words", "it's", 'say "hi"', "$HOME `id` ;&|", "[a]*?", "-n", "öß世", "a\\b"]


@pytest.fixture(params=NAMES)
def emitter(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A stand-in that records its arguments and its input, in a directory with an odd name."""
    program = tmp_path / request.param / "trailboss-emit"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\nhere = pathlib.Path(__file__).parent\n"
        '(here / "args").write_text("\\n".join(sys.argv[1:]))\n'
        '(here / "stdin").write_bytes(sys.stdin.buffer.read())\n'
    )
    program.chmod(0o755)
    return program


def run(shell: str, line: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([shell, "-c", line], input=BIG, capture_output=True, timeout=30, cwd="/")


@pytest.mark.parametrize("shell", SHELLS)
def test_it_runs_in_every_shell_from_any_path(shell: str, emitter: Path) -> None:
    done = run(shell, command.hook(str(emitter), "claude", "Stop"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    said = (emitter.parent / "args").read_text().splitlines()
    assert said == ["--harness", "claude", "--event", "Stop"]
    assert (emitter.parent / "stdin").read_bytes() == BIG


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("state", ["gone", "a directory", "not executable", "a dead link"])
def test_without_the_emitter_the_agent_notices_nothing(
    shell: str, state: str, tmp_path: Path
) -> None:
    program = tmp_path / "it's gone" / "trailboss-emit"
    if state != "gone":
        program.parent.mkdir()
    if state == "a directory":
        program.mkdir()
    elif state == "not executable":
        program.write_text("#!/bin/sh\nexit 2\n")
    elif state == "a dead link":
        program.symlink_to(tmp_path / "nowhere")
    done = run(shell, command.hook(str(program), "claude", "PreToolUse"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_known_again(name: str) -> None:
    path = f"/opt/{name}/trailboss-emit"
    assert command.emitter_of(command.hook(path, "claude", "Stop"), "claude") == path
    assert command.emitter_of(command.hook(path, "codex", "Stop"), "claude") is None


# --- which program is named --------------------------------------------------------------------


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_what_lies_beside_the_running_program_is_taken(tmp_path: Path) -> None:
    made = program(tmp_path / "venv" / "bin" / "trailboss-other")
    found = command.find("trailboss-other", {"PATH": "/usr/bin"}, str(made.with_name("trailboss")))
    assert found == str(made)


def test_a_link_that_outlives_an_upgrade_is_preferred(tmp_path: Path) -> None:
    made = program(tmp_path / "pipx" / "venvs" / "trailboss" / "bin" / "trailboss-other")
    link = tmp_path / "home" / ".local" / "bin" / "trailboss-other"
    link.parent.mkdir(parents=True)
    link.symlink_to(made)
    env = {"HOME": str(tmp_path / "home"), "PATH": ""}
    assert command.find("trailboss-other", env, str(made.with_name("trailboss"))) == str(link)
    # As it is when pipx's own link was typed.
    assert command.find("trailboss-other", env, str(link.with_name("trailboss"))) == str(link)
    on_path = tmp_path / "brew" / "bin" / "trailboss-other"
    on_path.parent.mkdir(parents=True)
    on_path.symlink_to(made)
    link.unlink()
    env["PATH"] = f"relative:{on_path.parent}"
    assert command.find("trailboss-other", env, str(made.with_name("trailboss"))) == str(on_path)


def test_a_link_in_an_environment_lasts_no_longer_than_that(tmp_path: Path) -> None:
    made = program(tmp_path / "lib" / "trailboss-other")
    link = tmp_path / "venv" / "bin" / "trailboss-other"
    link.parent.mkdir(parents=True)
    link.symlink_to(made)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    env = {"HOME": str(tmp_path), "PATH": str(link.parent)}
    assert command.find("trailboss-other", env, str(made.with_name("trailboss"))) == str(made)


def test_in_a_clone_the_clones_own_programs_are_named() -> None:
    beside_python = Path(sys.executable).parent
    env = {"HOME": "/nonexistent", "PATH": str(beside_python)}
    for name in ("trailboss", "trailboss-emit"):
        assert command.find(name, env, str(beside_python / "trailboss")) == str(REPO / "bin" / name)


def test_another_program_of_that_name_is_not_taken_for_ours(tmp_path: Path) -> None:
    made = program(tmp_path / "venv" / "bin" / "trailboss-other")
    foreign = tmp_path / "home" / ".local" / "bin" / "trailboss-other"
    foreign.parent.mkdir(parents=True)
    foreign.symlink_to(program(tmp_path / "elsewhere" / "trailboss-other"))
    env = {"HOME": str(tmp_path / "home"), "PATH": str(foreign.parent)}
    assert command.find("trailboss-other", env, str(made.with_name("trailboss"))) == str(made)


def test_nothing_to_name_is_said(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="install Trail Boss again"):
        command.find("trailboss-nowhere", {"PATH": ""}, str(tmp_path / "trailboss"))


def test_a_path_that_json_cannot_hold_is_refused(tmp_path: Path) -> None:
    made = program(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")) / "trailboss-other")
    with pytest.raises(Refused, match="not UTF-8"):
        command.find("trailboss-other", {"PATH": ""}, str(made.with_name("trailboss")))
