"""Where everything lies, the same for broker, clients and hooks (contract, section 1).

Every function takes the environment as a mapping, so that tests and the emitter (which works
with the environment of another process) can name their own.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

#: Bytes that fit into sockaddr_un.sun_path on every system we run on (Linux 107, macOS 103).
SOCKET_PATH_MAX = 103 if os.uname().sysname == "Darwin" else 107


class UnsafeDirectory(Exception):
    """A directory of ours belongs to somebody else or is open to others."""


class PathTooLong(Exception):
    """A socket path does not fit into a Unix socket address."""


def _home(env: Mapping[str, str]) -> Path:
    home = env.get("HOME")
    return Path(home) if home else Path(os.path.expanduser("~"))


def runtime_dir(env: Mapping[str, str] = os.environ) -> Path:
    """The directory of the sockets and the lock; not created here."""
    if named := env.get("TRAILBOSS_RUNTIME_DIR"):
        return Path(named)
    if xdg := env.get("XDG_RUNTIME_DIR"):
        return Path(xdg) / "trailboss"
    return Path(env.get("TMPDIR") or tempfile.gettempdir()) / f"trailboss-{os.getuid()}"


def state_dir(env: Mapping[str, str] = os.environ) -> Path:
    """The directory of the database, the journal and the log; not created here."""
    if named := env.get("TRAILBOSS_STATE_DIR"):
        return Path(named)
    if xdg := env.get("XDG_STATE_HOME"):
        return Path(xdg) / "trailboss"
    return _home(env) / ".local" / "state" / "trailboss"


def config_file(env: Mapping[str, str] = os.environ) -> Path:
    """The user's config.toml, which may be absent."""
    if named := env.get("TRAILBOSS_CONFIG"):
        return Path(named)
    if xdg := env.get("XDG_CONFIG_HOME"):
        return Path(xdg) / "trailboss" / "config.toml"
    return _home(env) / ".config" / "trailboss" / "config.toml"


def events_socket(runtime: Path) -> Path:
    return runtime / "events.sock"


def api_socket(runtime: Path) -> Path:
    return runtime / "api.sock"


def pub_socket(runtime: Path) -> Path:
    return runtime / "pub.sock"


def lock_file(directory: Path) -> Path:
    """The broker's lock; one lies in the runtime dir and one in the state dir."""
    return directory / "broker.lock"


def database(state: Path) -> Path:
    return state / "trailboss.db"


def journal_dir(state: Path) -> Path:
    return state / "journal"


def marks_dir(state: Path) -> Path:
    """One file per request that a hook's front has seen and nobody has settled yet."""
    return state / "marks"


def pointer_file(state: Path) -> Path:
    return state / "broker.json"


def log_file(state: Path) -> Path:
    return state / "broker.log"


def endpoint(socket_path: Path) -> str:
    """The ZeroMQ address of a Unix socket.

    Raises PathTooLong with the limit and the path, since ZeroMQ's own error names neither.
    """
    size = len(os.fsencode(socket_path))
    if size > SOCKET_PATH_MAX:
        raise PathTooLong(
            f"the socket path is {size} bytes long and a Unix socket takes {SOCKET_PATH_MAX}: "
            f"{socket_path} (set TRAILBOSS_RUNTIME_DIR to a shorter directory)"
        )
    return f"ipc://{socket_path}"


def ensure_private(directory: Path, tighten: bool = False) -> Path:
    """Make the directory 0700 if it is absent, and refuse it if it is not ours alone.

    With `tighten`, one of ours that others may read is made 0700 (a state dir made by hand); one
    that others may write to, a symlink, or another user's is always refused (case B52).
    Raises UnsafeDirectory with a sentence for the user, OSError where it cannot be made.
    """
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass
    check_private(directory, tighten)
    return directory


def check_private(directory: Path, tighten: bool = False) -> None:
    """Raise UnsafeDirectory unless the directory is a real one, ours, and 0700."""
    facts = os.lstat(directory)
    if not stat.S_ISDIR(facts.st_mode):
        raise UnsafeDirectory(f"{directory} is not a directory of its own (a link or a file)")
    if facts.st_uid != os.getuid():
        raise UnsafeDirectory(f"{directory} belongs to user {facts.st_uid}, not to you")
    if facts.st_mode & 0o022:
        raise UnsafeDirectory(f"{directory} is writable by others (mode {facts.st_mode & 0o777:o})")
    if facts.st_mode & 0o077:
        if not tighten:
            raise UnsafeDirectory(
                f"{directory} is open to others (mode {facts.st_mode & 0o777:o}); chmod 700 it"
            )
        os.chmod(directory, 0o700)
