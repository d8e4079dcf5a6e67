"""Whose `cat` is ended, and whose is not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.wait import until
from trailboss.emit import fronts, procs
from trailboss.emit.fronts import Fronts
from trailboss.emit.journal import Entry, now_ms


@pytest.fixture
def reader(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """A shell script, by the name of the test's choice, whose `cat` waits for ever."""
    script = tmp_path / request.param
    script.write_text("cat\n:\n")
    process = subprocess.Popen(["sh", script], stdin=subprocess.PIPE)
    until(lambda: procs.cats_of(process.pid), what="the cat runs")
    yield process
    for cat in procs.cats_of(process.pid):
        os.kill(cat, 9)
    assert process.stdin is not None
    process.stdin.close()
    process.kill()
    process.wait()


def entry_of(process: subprocess.Popen[bytes], tmp_path: Path, age_ms: int) -> Entry:
    up = int(Path("/proc/uptime").read_text().split()[0].replace(".", ""))
    return Entry(f"{up:012}-{process.pid:07}", tmp_path, now_ms() - age_ms)


@pytest.mark.parametrize("reader", ["any-name"], indirect=True)
def test_an_entrys_front_is_freed(reader: subprocess.Popen[bytes], tmp_path: Path) -> None:
    watch = Fronts(tmp_path)
    watch.watch(entry_of(reader, tmp_path, fronts.PATIENCE_MS + 100))
    assert len(watch) == 1
    watch.look()
    assert reader.wait(20) == 0
    watch.look()
    assert len(watch) == 0


@pytest.mark.parametrize("reader", ["any-name"], indirect=True)
def test_one_that_has_just_begun_is_left_alone(
    reader: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    watch = Fronts(tmp_path)
    watch.watch(entry_of(reader, tmp_path, -3_600_000))
    watch.look()
    assert procs.cats_of(reader.pid)


@pytest.mark.parametrize("reader", ["any-name"], indirect=True)
def test_an_old_entrys_pid_is_somebody_elses(
    reader: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    watch = Fronts(tmp_path)
    watch.watch(entry_of(reader, tmp_path, 3_600_000))
    assert len(watch) == 0


@pytest.mark.parametrize(
    ("reader", "freed"),
    [("trailboss-emit", True), ("a-shell", False)],
    indirect=["reader"],
)
def test_of_the_list_only_fronts_are_freed(
    reader: subprocess.Popen[bytes], freed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fronts, "PATIENCE_MS", 0)
    (tmp_path / "emit.drains").write_text(f"x\n9999999\n{reader.pid}\n")
    watch = Fronts(tmp_path)
    assert watch.look()
    assert not watch.look()
    if freed:
        assert reader.wait(20) == 0
    else:
        assert procs.cats_of(reader.pid)


def test_the_list_is_bounded(tmp_path: Path) -> None:
    drains = tmp_path / "emit.drains"
    drains.write_text("9999999\n" * 10_000)
    watch = Fronts(tmp_path)
    assert watch.look()
    assert drains.stat().st_size == 0
    assert not watch.look()
    with open(drains, "a") as file:
        file.write(f"{os.getpid()}\n")
    assert watch.look()
