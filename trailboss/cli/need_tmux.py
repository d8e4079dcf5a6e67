"""tmux itself: found, or installed where that is ours to do. `python -m` runs it for bin/test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import IO

#: display-popup, and `-e` on new-session, came with this one.
OLDEST = (3, 2)

#: (program, its command line, who must run it); the first that is on PATH counts.
INSTALLERS = (
    ("apt-get", ("apt-get", "-qq", "install", "-y", "--no-install-recommends", "tmux"), "root"),
    ("dnf", ("dnf", "-q", "install", "-y", "tmux"), "root"),
    ("brew", ("brew", "install", "--quiet", "tmux"), "user"),
)


class NoTmux(Exception):
    """No tmux that will do; the text says what to do about it."""


def ensure_tmux() -> str:
    """The path of a tmux of 3.2 or newer, installed first where none is there and we may.

    Raises NoTmux with a sentence for the user.
    """
    path = shutil.which("tmux")
    if path is None:
        _install()
        path = shutil.which("tmux")
        if path is None:
            raise NoTmux("tmux was installed but is not on PATH")
    shown = version(path)
    if shown is not None and shown < OLDEST:
        have, want = (".".join(map(str, pair)) for pair in (shown, OLDEST))
        raise NoTmux(f"tmux {have} at {path} is too old: Trail Boss needs {want} or newer")
    return path


def version(path: str) -> tuple[int, int] | None:
    """(3, 3) of `tmux 3.3a`; None where it does not say (a development build)."""
    done = subprocess.run([path, "-V"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = re.search(r"(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else None


def _install() -> None:
    installer = next((entry for entry in INSTALLERS if shutil.which(entry[0])), None)
    if installer is None:
        raise NoTmux("tmux is missing: install tmux 3.2 or newer and run this again")
    program, command, who = installer
    prefix = _become(who)
    if prefix is None:
        hint = " ".join((*(("sudo",) if who == "root" else ()), program, "install", "tmux"))
        raise NoTmux(f"tmux is missing: run `{hint}` and try again")
    print(f"trailboss: installing tmux with {program}…", file=sys.stderr, flush=True)
    with tempfile.TemporaryFile() as log:
        if _run((*prefix, *command), log):
            return
        # A machine that never asked its mirrors yet knows no package.
        if program == "apt-get" and _run((*prefix, program, "-qq", "update"), log):
            log.truncate(0)
            if _run((*prefix, *command), log):
                return
        log.seek(0)
        said = log.read().decode(errors="replace").split("\n")
    reason = next((line.strip() for line in reversed(said) if line.strip()), "it gave no reason")
    raise NoTmux(f"{program} could not install tmux: {reason}")


def _become(who: str) -> tuple[str, ...] | None:
    """What to put before a command to run it as root, () when we are; None when we may not."""
    if who == "user":
        return () if os.geteuid() else None
    quiet = ("env", "DEBIAN_FRONTEND=noninteractive")
    if os.geteuid() == 0:
        return quiet
    if shutil.which("sudo") and _run(("sudo", "-n", "true"), subprocess.DEVNULL):
        return ("sudo", "-n", *quiet)
    return None


def _run(command: tuple[str, ...], log: int | IO[bytes]) -> bool:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False
    )
    return done.returncode == 0


def main() -> int:
    try:
        ensure_tmux()
    except NoTmux as missing:
        print(f"trailboss: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
