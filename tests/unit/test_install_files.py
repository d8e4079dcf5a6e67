"""Other people's files: whole or not at all, the old one kept, nothing left lying about."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from pathlib import Path

import pytest

from trailboss.install import files
from trailboss.install.files import Refused


def names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    return path


def test_the_file_is_exchanged_and_the_old_one_kept_for_its_owner_alone(file: Path) -> None:
    if os.getuid() == 0:
        os.chown(file, 4321, 4322)
    before = os.stat(file)
    backup = files.write(files.read(file), b"new")
    assert file.read_bytes() == b"new"
    assert mode(file) == 0o640
    after = os.stat(file)
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino, "written in place: a reader could see half of it"
    assert backup == file.with_name("settings.json.trailboss-backup")
    assert backup.read_bytes() == b"old"
    assert mode(backup) == 0o600
    assert names(file.parent) == ["settings.json", "settings.json.trailboss-backup"]


def test_each_change_has_its_backup_and_the_first_one_is_never_overwritten(file: Path) -> None:
    for content in (b"two", b"old", b"two", b"three", b"four"):
        files.write(files.read(file), content)
    assert files.backup_data(file) == [b"three", b"two", b"old"]
    files.forget_backups(file)
    assert names(file.parent) == ["settings.json"]


def test_an_absent_file_is_made_with_its_directory_and_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "settings.json"
    assert files.write(files.read(path, 0o644), b"new") is None
    assert (path.read_bytes(), mode(path)) == (b"new", 0o644)
    files.write(files.read(path), None, backup=False)
    assert names(path.parent) == []


def test_a_link_into_a_dotfiles_repository_stays_one(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link = tmp_path / "settings.json"
    link.symlink_to(Path("dotfiles") / "claude.json")
    files.write(files.read(link), b"new")
    assert os.readlink(link) == "dotfiles/claude.json"
    assert target.read_bytes() == b"new"
    assert names(target.parent) == ["claude.json"], "the backup belongs beside the link"
    assert files.backup_data(link) == [b"old"]


def test_a_dead_link_gets_its_target(tmp_path: Path) -> None:
    link = tmp_path / "settings.json"
    link.symlink_to(tmp_path / "later.json")
    files.write(files.read(link), b"new")
    assert link.is_symlink()
    assert (tmp_path / "later.json").read_bytes() == b"new"


def test_a_file_that_changed_meanwhile_is_not_overwritten(file: Path) -> None:
    seen = files.read(file)
    file.write_bytes(b"theirs")
    with pytest.raises(Refused, match="changed meanwhile"):
        files.write(seen, b"new")
    assert file.read_bytes() == b"theirs"
    assert names(file.parent) == ["settings.json"]


def test_two_writers_take_turns(file: Path) -> None:
    seen = files.read(file)
    done = threading.Event()
    directory = os.open(file.parent, os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    writer = threading.Thread(target=lambda: (files.write(seen, b"new"), done.set()))
    writer.start()
    try:
        assert not done.wait(0.3), "it did not wait for the lock"
        assert file.read_bytes() == b"old"
    finally:
        os.close(directory)
        writer.join(20)
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_is_read_only_is_left_alone_by_root_too(file: Path, what: str) -> None:
    seen = files.read(file)
    locked = file if what == "file" else file.parent
    before = mode(locked)
    locked.chmod(0o444 if what == "file" else 0o555)
    try:
        with pytest.raises(Refused, match="read-only"):
            files.check_writable(files.read(file))
        with pytest.raises(Refused, match="read-only"):
            files.write(files.read(file), b"new")
    finally:
        locked.chmod(before)
    assert file.read_bytes() == b"old"
    assert names(file.parent) == ["settings.json"]
    assert seen.data == b"old"


def test_a_full_disk_changes_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    seen = files.read(file)
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(Refused, match="No space left"):
        files.write(seen, b"new")
    assert file.read_bytes() == b"old"
    assert names(file.parent) == ["settings.json"]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("directory", "pipe", "loop"):
        with pytest.raises(Refused):
            files.read(tmp_path / name)
    (tmp_path / "plain").write_text("")
    with pytest.raises(Refused):
        files.write(files.read(tmp_path / "plain" / "settings.json"), b"x")
