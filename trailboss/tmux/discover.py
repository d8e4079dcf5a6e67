"""Which tmux servers are ours to look at (contract, section 1)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path


def sockets(
    env: Mapping[str, str], config_sockets: Iterable[str] = (), named: Iterable[str] = ()
) -> list[str]:
    """The sockets of the user's tmux servers, as real paths, each once.

    TRAILBOSS_TMUX_SOCKETS (colon-separated), when set, is all of them. Else: those that events
    named, those of the config, and those in the user's tmux socket directory. A path that is
    absent, no socket, or another user's is left out; whether a server answers is not asked.
    """
    only = env.get("TRAILBOSS_TMUX_SOCKETS")
    if only is not None:
        wanted = only.split(":")
    else:
        wanted = [*named, *config_sockets, *_in_directory(socket_directory(env))]
    out: list[str] = []
    for path in wanted:
        if path and (real := own_socket(path)) and real not in out:
            out.append(real)
    return out


def socket_directory(env: Mapping[str, str]) -> Path:
    """Where tmux puts the sockets of `-L` names for this environment."""
    return Path(env.get("TMUX_TMPDIR") or "/tmp") / f"tmux-{os.getuid()}"


def own_socket(path: str) -> str | None:
    """The real path, if a socket of our own lies there; else None."""
    try:
        real = os.path.realpath(path)
        facts = os.lstat(real)
    except (OSError, ValueError):
        return None
    ours = stat.S_ISSOCK(facts.st_mode) and facts.st_uid == os.getuid()
    return real if ours else None


def same(one: str | None, other: str | None) -> bool:
    """Whether two paths name the same socket, through whatever links."""
    if not one or not other:
        return False
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _in_directory(directory: Path) -> list[str]:
    try:
        return sorted(str(entry) for entry in directory.iterdir())
    except OSError:
        return []
