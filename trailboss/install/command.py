"""The command lines that other programs keep for us: how they are written and known again."""

from __future__ import annotations

import os
import re
import shlex
import sys
import sysconfig
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import trailboss
from trailboss.install.files import Refused

EMITTER = "trailboss-emit"
_SEPARATORS = frozenset((";", "&&", "||", "&", "|", ";;"))
_REDIRECTION = re.compile(r"[<>&]*[<>][<>&]*")
_EVENT = re.compile(r"[A-Za-z_.-]+")


def hook(emitter: str, harness: str, event: str) -> str:
    """The command of one hook, for sh (and valid in bash, zsh and fish alike).

    An emitter that is gone must not fail the agent: 127 is shown to the person, and 2, which some
    shells give, blocks the tool call (case B55). Both tests are built in, and `exec` leaves no
    shell behind, so the guard costs nothing.
    """
    there = shlex.quote(emitter)
    return (
        f"[ -f {there} ] && [ -x {there} ] && exec {there} --harness {harness} --event {event}; "
        "cat >/dev/null 2>&1; exit 0"
    )


@lru_cache(maxsize=256)
def emitter_of(command: str, harness: str) -> str | None:
    """The emitter's path if the command is one that some version of ours wrote, else None.

    Ours is what does nothing but call the emitter with our own arguments, guarded or bare. A
    command that does more, or only mentions the name, is the person's.
    """
    path = None
    for simple in _simple_commands(command):
        if simple[0] == "exec":
            simple = simple[1:]
        if simple and simple[0].rpartition("/")[2] == EMITTER:
            if path is not None or not _our_arguments(simple[1:], harness):
                return None
            path = simple[0]
        elif not _is_guard(simple):
            return None
    return path


def _simple_commands(command: str) -> list[list[str]]:
    """The words of each simple command, redirections left out; [[""]] where it is no shell."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:
        return [[""]]
    commands: list[list[str]] = [[]]
    redirected = False
    for token in tokens:
        if token in _SEPARATORS:
            commands.append([])
        elif _REDIRECTION.fullmatch(token):
            # The digit before `>&` is a word to shlex.
            if commands[-1] and commands[-1][-1].isdigit():
                commands[-1].pop()
            redirected = True
            continue
        elif not redirected:
            commands[-1].append(token)
        redirected = False
    return [words for words in commands if words]


def _our_arguments(words: list[str], harness: str) -> bool:
    """Nothing, or `--harness` with this harness's name and `--event` with a name."""
    flat = [part for word in words for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    pairs = list(zip(flat[::2], flat[1::2], strict=False))
    return len(flat) % 2 == 0 and all(
        (name == "--harness" and value == harness)
        or (name == "--event" and _EVENT.fullmatch(value) is not None)
        for name, value in pairs
    )


def _is_guard(words: list[str]) -> bool:
    match words:
        case ["[", *_, "]"] | ["test", *_] | ["cat"] | ["exit", "0"] | ["true"] | [":"]:
            return True
    return False


def find(name: str, env: Mapping[str, str] = os.environ, started_as: str | None = None) -> str:
    """The absolute path of a program of ours that lasts longest: what other programs' files name.

    In a clone that is its own `bin/`. Else it is what lies beside the running program or in the
    scripts of its environment, or rather a link to it on PATH or in ~/.local/bin, as pipx and
    Homebrew make it: that outlives an upgrade which moves the environment. Raises Refused.
    """
    clone = Path(os.path.abspath(trailboss.__file__)).parent.parent / "bin" / name
    if _runs(clone):
        return _text(clone)
    started = Path(os.path.abspath(sys.argv[0] if started_as is None else started_as))
    for directory in (started.parent, Path(sysconfig.get_path("scripts"))):
        program = directory / name
        if _runs(program):
            return _text(_lasting_link(program, env) or program)
    raise Refused(f"{name} is not beside this program: install Trail Boss again")


def _runs(program: Path) -> bool:
    return program.is_file() and os.access(program, os.X_OK)


def _lasting_link(program: Path, env: Mapping[str, str]) -> Path | None:
    real = os.path.realpath(program)
    directories = [os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "bin")]
    directories += [entry for entry in env.get("PATH", "").split(":") if entry.startswith("/")]
    for directory in directories:
        link = Path(directory) / program.name
        in_a_venv = (link.parent.parent / "pyvenv.cfg").exists()
        if link.is_symlink() and os.path.realpath(link) == real and not in_a_venv:
            return link
    return None


def _text(program: Path) -> str:
    """The path as text. Raises Refused where it is none: JSON could not hold it."""
    path = os.fspath(program)
    try:
        path.encode()
    except UnicodeEncodeError:
        raise Refused(
            f"the path of {program.name} is not UTF-8, and settings cannot name it"
        ) from None
    return path
