"""Tails of growing files: every line once, whatever happens to the file meanwhile."""

from __future__ import annotations

import os
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.opened import bytes_read
from trailboss.broker.tails import FIRST, LINE, PASS, Tail

MB = 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


def append(path: Path, data: bytes) -> None:
    with open(path, "ab") as file:
        file.write(data)


def all_of(tail: Tail) -> list[bytes]:
    """Every new line, in as many passes as it takes."""
    found, more = tail.read()
    while more:
        lines, more = tail.read()
        found += lines
    return found


def test_each_line_once(path: Path) -> None:
    tail = Tail(path)
    path.write_bytes(b"one\ntwo\n")
    assert tail.read() == ([b"one", b"two"], False)
    assert tail.read() == ([], False)
    append(path, b"three\n")
    assert tail.read() == ([b"three"], False)
    assert tail.size == 14


def test_a_half_written_line_waits_for_its_rest(path: Path) -> None:
    tail = Tail(path)
    path.write_bytes(b"one\nhal")
    assert tail.read() == ([b"one"], False)
    append(path, b"f ")
    assert tail.read() == ([], False)
    append(path, b"a line\nnext")
    assert tail.read() == ([b"half a line"], False)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_cut_anywhere(path: Path, end: bytes) -> None:
    """Inside a character of several bytes, and between CR and LF."""
    lines = ["größer", "漢字 \u2028 and \u2029", "👩\u200d👧", "\x85\x0b\x0c\x1c", ""]
    raw = b"".join(line.encode() + end for line in lines)
    for cut in range(len(raw) + 1):
        path.write_bytes(raw[:cut])
        tail = Tail(path)
        found = tail.read()[0]
        append(path, raw[cut:])
        assert [line.decode() for line in found + tail.read()[0]] == lines
        path.unlink()


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(0, 2**32))
def test_however_it_grows(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes],
                          seed: int) -> None:  # fmt: skip
    path = tmp_path_factory.mktemp("tail") / "file"
    rng = random.Random(seed)
    tail, found = Tail(path), []
    for part in parts:
        append(path, part + rng.choice([b"", b"\n", b"\r\n"]))
        if rng.random() < 0.6:
            found += tail.read()[0]
    raw = path.read_bytes() if parts else b""
    expected = [line.removesuffix(b"\r") for line in raw.split(b"\n")[:-1]]
    assert found + tail.read()[0] == expected


def test_truncated(path: Path) -> None:
    tail = Tail(path)
    path.write_bytes(b"one\ntwo\nthree")
    tail.read()
    path.write_bytes(b"new\n")
    assert tail.read() == ([b"new"], False)
    path.write_bytes(b"")
    assert tail.read() == ([], False)
    append(path, b"again\n")
    assert tail.read() == ([b"again"], False)


def test_truncated_and_grown_beyond_what_was_read(path: Path) -> None:
    """Between two looks: the size tells nothing."""
    tail = Tail(path)
    path.write_bytes(b"one\ntwo\n")
    tail.read()
    path.write_bytes(b"first of others\nsecond\n")
    assert tail.read() == ([b"first of others", b"second"], False)


def test_truncated_to_the_very_size(path: Path) -> None:
    tail = Tail(path)
    path.write_bytes(b"one\ntwo\n")
    tail.read()
    path.write_bytes(b"eno\nowt\n")
    assert tail.read() == ([b"eno", b"owt"], False)


def test_replaced_by_a_rename(path: Path) -> None:
    tail = Tail(path)
    path.write_bytes(b"one\nhal")
    tail.read()
    other = path.with_name("other")
    other.write_bytes(b"one\ntwo\nthree\n")
    other.replace(path)
    assert tail.read() == ([b"one", b"two", b"three"], False)


def test_rotated(path: Path) -> None:
    tail = Tail(path)
    path.write_bytes(b"one\n")
    tail.read()
    path.rename(path.with_name("transcript.1"))
    assert tail.read() == ([], False)
    path.write_bytes(b"two\n")
    assert tail.read() == ([b"two"], False)


@pytest.mark.parametrize("new", [b"x\n", b"one\n", b"much longer than the old one\n"])
def test_deleted_and_recreated(path: Path, new: bytes) -> None:
    """The new file often gets the inode of the old one."""
    tail = Tail(path)
    for round_ in range(5):
        path.write_bytes(b"one %d\n" % round_)
        assert tail.read()[0] == [b"one %d" % round_]
        path.unlink()
        assert tail.read() == ([], False)
        path.write_bytes(new)
        assert tail.read()[0] == [new[:-1]]
        path.unlink()


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("absent", "pipe", ".", "a\0b", "absent/below"):
        assert Tail(Path(f"{tmp_path}/{name}")).read() == ([], False)


def test_begun_in_the_middle(path: Path) -> None:
    """Of a file that was there before, its last FIRST bytes, from a line's begin."""
    lines = [b"%07d " % n + b"x" * 100 for n in range(10_000)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert path.stat().st_size > 4 * FIRST
    tail = Tail(path)
    found = all_of(tail)
    assert found == lines[-len(found) :]
    assert len(b"\n".join(found)) > FIRST - 2 * 110
    append(path, b"more\n")
    assert tail.read() == ([b"more"], False)


def test_begun_inside_a_long_line(path: Path) -> None:
    path.write_bytes(b"y" * (3 * FIRST))
    tail = Tail(path)
    assert all_of(tail) == []
    append(path, b"its end\nnext\n")
    assert all_of(tail) == [b"next"]


def test_passes_are_bounded(path: Path) -> None:
    tail = Tail(path)
    path.write_bytes(b"")
    tail.read()
    line = b"z" * 1023 + b"\n"
    append(path, line * (5 * PASS // 1024))
    sizes, more = [], True
    while more:
        lines, more = tail.read()
        sizes.append(len(lines))
    assert len(sizes) == 5
    assert sum(sizes) == 5 * PASS // 1024


@pytest.fixture
def memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def test_a_line_of_30_mb(path: Path, memory: None) -> None:
    tail = Tail(path)
    path.write_bytes(b"before\n")
    assert tail.read()[0] == [b"before"]
    with open(path, "ab") as file:
        for _ in range(30):
            file.write(b"x" * MB)
        file.write(b"\nafter\n")
    tracemalloc.reset_peak()
    assert all_of(tail) == [b"after"]
    assert tracemalloc.get_traced_memory()[1] < 26 * MB
    assert LINE < 30 * MB


def test_a_line_that_is_just_taken(path: Path) -> None:
    tail = Tail(path)
    path.write_bytes(b"")
    tail.read()
    append(path, b"x" * LINE + b"\nafter\n")
    assert [len(line) for line in all_of(tail)] == [LINE, 5]


def test_a_sparse_file_of_1_gb(path: Path, memory: None) -> None:
    """Read in bounded time and memory: its end alone, once."""
    with open(path, "wb") as file:
        file.truncate(1024 * MB)
        file.seek(1024 * MB)
        file.write(b"\nlast\n")
    tail = Tail(path)
    tracemalloc.reset_peak()
    before = bytes_read()
    assert all_of(tail) == [b"last"]
    assert tail.read() == ([], False)
    assert bytes_read() - before < FIRST + 64 * 1024
    assert tracemalloc.get_traced_memory()[1] < 4 * MB
    before = bytes_read()
    append(path, b"new\n")
    assert all_of(tail) == [b"new"]
    assert bytes_read() - before < 64 * 1024


def test_a_hole_of_1_gb_that_comes_later(path: Path, memory: None) -> None:
    tail = Tail(path)
    path.write_bytes(b"one\n")
    tail.read()
    with open(path, "r+b") as file:
        file.truncate(64 * MB)
    append(path, b"\ntwo\n")
    tracemalloc.reset_peak()
    assert all_of(tail) == [b"two"]
    assert tracemalloc.get_traced_memory()[1] < 26 * MB
