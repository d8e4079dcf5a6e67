"""Other people's files: read once, changed whole or not at all, the old one kept.

A link (settings in a dotfiles repository) is written through to its target; mode and owner stay.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".trailboss-backup"


class Refused(Exception):
    """Nothing was changed; the text is the sentence for the person."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file as it was when read: `path` as people name it, `real` behind its links.

    `data` is None when there is no such file.
    """

    path: Path
    real: Path
    data: bytes | None
    mode: int
    uid: int
    gid: int


def read(path: Path, new_mode: int = 0o600) -> Snapshot:
    """Read a file that may be absent (it would be made with `new_mode`). Raises Refused."""
    try:
        real = Path(os.path.realpath(path, strict=False))
        facts = os.stat(real)
        if not stat.S_ISREG(facts.st_mode):
            raise Refused(f"{path} is not a file")
        data = real.read_bytes()
    except FileNotFoundError:
        return Snapshot(path, real, None, new_mode, os.getuid(), os.getgid())
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from None
    return Snapshot(path, real, data, stat.S_IMODE(facts.st_mode), facts.st_uid, facts.st_gid)


def check_writable(snapshot: Snapshot) -> None:
    """Raise Refused where the file is not meant to be written: before anybody is asked.

    The mode counts for root too: a file that nobody may write is made by something else.
    """
    path, real = snapshot.path, snapshot.real
    if snapshot.data is not None and (
        not snapshot.mode & 0o222 or not os.access(real, os.W_OK, effective_ids=_effective())
    ):
        raise Refused(f"{path} is read-only: nothing was changed")
    directory = real.parent
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    if not directory.is_dir():
        raise Refused(f"{path} cannot be made: {directory} is not a directory")
    facts = os.stat(directory)
    if not facts.st_mode & 0o222 or not os.access(directory, os.W_OK, effective_ids=_effective()):
        raise Refused(f"{directory} is read-only: nothing was changed")


def _effective() -> bool:
    return os.access in os.supports_effective_ids


def write(snapshot: Snapshot, data: bytes | None, backup: bool = True) -> Path | None:
    """Put `data` in the place of the snapshot (None: remove the file); the new backup or None.

    Raises Refused with nothing changed: also when the file is no longer as it was read.
    """
    check_writable(snapshot)
    made: Path | None = None
    try:
        snapshot.real.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone(snapshot.real.parent):
            if read(snapshot.path).data != snapshot.data:
                raise Refused(f"{snapshot.path} was changed meanwhile: nothing was changed by us")
            if backup and snapshot.data is not None:
                made = _back_up(snapshot)
            if data is None:
                snapshot.real.unlink()
            else:
                _exchange(snapshot, data)
            _sync(snapshot.real.parent)
    except OSError as error:
        if made is not None:
            made.unlink(missing_ok=True)
        raise Refused(f"{snapshot.path} cannot be written: {error.strerror}") from None
    if read(snapshot.path).data != data:
        raise Refused(f"{snapshot.path} does not read back as it was written: look at {made}")
    return made


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Hold the directory's lock: two installs at once take turns. It leaves no lock file."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Some network file systems lock no directories; the comparison before the write remains.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _exchange(snapshot: Snapshot, data: bytes) -> None:
    """Temporary file beside it, fsync, rename."""
    real = snapshot.real
    descriptor, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if os.getuid() != snapshot.uid or os.getgid() != snapshot.gid:
                # Only root can give a file away; of a group-owned one the user may lack the group.
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, snapshot.uid, snapshot.gid)
            os.fchmod(descriptor, snapshot.mode)
            os.fsync(descriptor)
        os.rename(name, real)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Not every file system syncs directories; the file itself is on the disk already.
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _back_up(snapshot: Snapshot) -> Path | None:
    """Keep the old bytes beside the file, under a name of their own; None if they are kept."""
    kept = backups(snapshot.path)
    if any(_bytes(each) == snapshot.data for each in kept):
        return None
    number = 1
    while True:
        name = SUFFIX if number == 1 else f"{SUFFIX}.{number}"
        path = snapshot.path.with_name(snapshot.path.name + name)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            break
        except FileExistsError:
            number += 1
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(snapshot.data or b"")
            file.flush()
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, snapshot.uid, snapshot.gid)
            os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def backups(path: Path) -> list[Path]:
    """Our backups of this file, the newest first."""
    first = path.name + SUFFIX
    numbered: list[tuple[int, Path]] = []
    with contextlib.suppress(OSError):
        for each in path.parent.iterdir():
            if each.name == first:
                numbered.append((1, each))
            elif (number := each.name.removeprefix(first + ".")).isdigit() and number != each.name:
                numbered.append((int(number), each))
    return [each for _, each in sorted(numbered, reverse=True)]


def backup_data(path: Path) -> list[bytes]:
    """What the backups hold, the newest first; those that cannot be read are left out."""
    return [data for each in backups(path) if (data := _bytes(each)) is not None]


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if stat.S_ISREG(os.lstat(path).st_mode) else None
    except OSError:
        return None


def forget_backups(path: Path) -> None:
    """Remove our backups of this file, once it is again as it was."""
    for each in backups(path):
        with contextlib.suppress(OSError):
            each.unlink()
