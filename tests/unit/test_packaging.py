"""What setup.cfg says against what the code does, and the shell scripts as shell scripts."""

from __future__ import annotations

import ast
import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]

#: What a requirement is imported as, where that is another name.
IMPORTED_AS = {
    "pyzmq": {"zmq"},
    "peewee": {"peewee", "playhouse"},
    # Which measures and cuts with it, and cannot do without.
    "prompt_toolkit": {"prompt_toolkit", "wcwidth"},
}
SCRIPTS = [
    path
    for folder in ("bin", ".ci")
    for path in sorted((REPO / folder).iterdir())
    if path.is_file() and path.suffix != ".py"
]


@pytest.fixture
def config() -> configparser.ConfigParser:
    parsed = configparser.ConfigParser()
    parsed.read(REPO / "setup.cfg")
    return parsed


def requirements(text: str) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", line)[0] for line in text.split("\n") if line}


def imported(folder: str) -> set[str]:
    """The top-level names that the modules below a folder import."""
    found = set()
    for file in (REPO / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.add(node.module.partition(".")[0])
    return found


def test_the_package_imports_what_it_requires_and_nothing_else(
    config: configparser.ConfigParser,
) -> None:
    wanted = requirements(config["options"]["install_requires"])
    required = set().union(*(IMPORTED_AS.get(name, {name}) for name in wanted))
    ours = imported("trailboss") | imported("tools/fake_agent")
    foreign = ours - set(sys.stdlib_module_names) - {"trailboss", "tools"}
    assert foreign <= required
    # Every one of them is used, by one of its names.
    unused = {name for name in wanted if not IMPORTED_AS.get(name, {name}) & foreign}
    assert unused == set()


def test_the_set_up_needs_nothing_but_python() -> None:
    """It runs before anything is installed."""
    tree = ast.parse((REPO / "bin" / "_setup.py").read_text())
    names = {
        name.name if isinstance(node, ast.Import) else node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert {name.partition(".")[0] for name in names} <= set(sys.stdlib_module_names)


def test_everyone_agrees_on_the_oldest_python(config: configparser.ConfigParser) -> None:
    assert config["options"]["python_requires"] == ">=3.11"
    assert "sys.version_info < (3, 11)" in (REPO / "bin" / "_python").read_text()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_one(script: Path) -> None:
    text = script.read_text()
    first = text.split("\n", 1)[0]
    if not script.name.startswith("_"):
        assert os.access(script, os.X_OK)
        assert first in ("#!/bin/sh", "#!/usr/bin/env bash")
    shell = "bash" if "bash" in first else "sh"
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
