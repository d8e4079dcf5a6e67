"""The real CLIs, installed once into a cache outside the clone.

Standard library only: `tests/real/setup` runs it before the project's environment exists.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = "@anthropic-ai/claude-code"

#: The oldest and the newest version that people run; hooks, dialogs and status files differ.
VERSIONS = ("2.1.197", "2.1.332")

#: Seconds for one npm or apt run: 400 MB over a slow line.
PATIENCE = 900


class SetupFailed(Exception):
    """The text is a sentence for whoever ran the tests."""


def root() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path(os.path.expanduser("~")) / ".cache"
    return Path(cache) / "trailboss-test"


def home(version: str) -> Path:
    """The npm prefix of that version; complete if it exists, since it is moved there whole."""
    return root() / f"claude-{version}"


def binary_dir(version: str) -> Path:
    """The directory to put on PATH so that `claude` is that version."""
    return home(version) / "node_modules" / ".bin"


def ensure(version: str) -> bool:
    """Install that version if it is absent; whether it was. Raises SetupFailed."""
    if home(version).exists():
        return False
    root().mkdir(parents=True, exist_ok=True)
    with (root() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if home(version).exists():
            return False
        print(f"tests/real: fetching Claude Code {version} …", file=sys.stderr, flush=True)
        _install(version)
    return True


def _install(version: str) -> None:
    building = root() / f"building-{version}"
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    # The package's own post-install step only links the platform's binary over a placeholder;
    # linking it here means that nothing from the package runs before it is asked to.
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"]
    _run(
        [_npm(), "install", "--prefix", str(building), *quiet, f"{PACKAGE}@{version}"],
        f"npm could not install {PACKAGE}@{version}",
    )
    scope = building / "node_modules" / PACKAGE.partition("/")[0]
    placeholder = scope / "claude-code" / "bin" / "claude.exe"
    # An npm that cannot tell the C libraries apart brings two: the one that runs is ours.
    for candidate in sorted(scope.glob("claude-code-*/claude")):
        if _says_version(candidate, version):
            placeholder.unlink(missing_ok=True)
            os.link(candidate, placeholder)
            break
    else:
        raise SetupFailed(f"npm brought no Claude Code {version} that runs on this machine")
    building.rename(home(version))


def _says_version(binary: Path, version: str) -> bool:
    try:
        said = subprocess.run(
            [binary, "--version"],
            env={"PATH": os.environ["PATH"], "HOME": str(root() / "nobody")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.stdout.decode(errors="replace").startswith(version)


def _npm() -> str:
    found = shutil.which("npm")
    if found is None and os.geteuid() == 0 and (apt := shutil.which("apt-get")):
        print("tests/real: installing npm …", file=sys.stderr, flush=True)
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        _run([apt, "update", "-qq"], "apt-get could not read its package lists", quiet)
        _run(
            [apt, "install", "-y", "-qq", "--no-install-recommends", "nodejs", "npm"],
            "apt-get could not install nodejs and npm",
            quiet,
        )
        found = shutil.which("npm")
    if found is None:
        raise SetupFailed("the tests with the real Claude Code need npm: install Node.js with npm")
    return found


def _run(argv: list[str], failure: str, env: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            argv,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupFailed(f"{failure}: {error}") from None
    if done.returncode:
        said = [line.strip() for line in done.stdout.decode(errors="replace").splitlines()]
        why = "; ".join([line for line in said if line][:2]) or f"exit {done.returncode}"
        raise SetupFailed(f"{failure}: {why}")


def main() -> int:
    """Install what is absent; 0, or 1 after one sentence on stderr."""
    try:
        for version in VERSIONS:
            ensure(version)
    except (SetupFailed, OSError) as failure:
        print(f"tests/real/setup: {failure}", file=sys.stderr)
        return 1
    return 0
