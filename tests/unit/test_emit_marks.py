"""Marks: made and removed by name, and never outside their directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trailboss import paths
from trailboss.emit import marks


def test_a_newer_mark_survives_the_removal_of_an_older_one(tmp_path: Path) -> None:
    marks.put(tmp_path, "s-1", "000000000001-0000001")
    marks.put(tmp_path, "s-1", "000000000002-0000001")
    marks.put(tmp_path, "s-1")
    marks.put(tmp_path, "s-10")
    marks.remove(tmp_path, "s-1", ["000000000001-0000001", "absent", "broker"])
    assert marks.of_session(tmp_path, "s-1") == {"000000000002-0000001"}
    assert marks.of_session(tmp_path, "s-10") == {"broker"}


def test_modes_are_private(tmp_path: Path) -> None:
    state = tmp_path / "state"
    marks.put(state, "s")
    marks.put(state, "s")
    assert (state / "marks").stat().st_mode & 0o777 == 0o700
    assert (state / "marks" / "s.broker").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("session", ["", "../x", "a/b", "a.b", "a*", "é", "x" * 101, "a\n"])
def test_an_id_that_is_no_file_name_has_no_marks(tmp_path: Path, session: str) -> None:
    marks.put(tmp_path, session)
    assert list(tmp_path.rglob("*")) == []
    assert marks.of_session(tmp_path, session) == set()
    marks.remove(tmp_path, session, ["broker"])


def test_a_name_does_not_leave_the_directory(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("")
    marks.put(tmp_path, "s", "x/../../victim")
    marks.remove(tmp_path, "s", ["/../../victim"])
    assert (tmp_path / "victim").exists()


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "marks").write_text("a file")
    marks.put(tmp_path, "s")
    assert marks.of_session(tmp_path, "s") == set()
    marks.remove(tmp_path, "s", ["broker"])


def test_only_old_marks_are_older(tmp_path: Path) -> None:
    """A front makes its mark before its entry: a mark of now may be about to have one."""
    marks.put(tmp_path, "s1", "new")
    marks.put(tmp_path, "s1", "old")
    os.utime(paths.marks_dir(tmp_path) / "s1.old", (1, 1))
    assert marks.older_than(tmp_path, "s1", 5) == {"old"}
