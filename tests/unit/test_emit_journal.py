"""The journal's reader: order, completeness, times, ancestors, what is set aside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trailboss import adapters
from trailboss.adapters.base import Payload
from trailboss.emit import journal, procs
from trailboss.events import Event

DEAD = 9_999_999  # above every pid_max that a 22-bit pid can have


def write(
    directory: Path,
    name: str = f"000000000100-{DEAD}",
    body: bytes | None = b'{"session_id": "s"}',
    harness: str = "claude",
    event: str = "Stop",
    ancestors: str = "",
    uptime: str = "1.00",
    age_s: float = 0,
    end: bytes = b".\0",
    **env: str,
) -> journal.Entry:
    """An entry as the front writes it."""
    directory.mkdir(exist_ok=True)
    fields = ["1", uptime, harness, event, ancestors]
    fields += [env.get(variable, "") for variable in journal.VARIABLES]
    header = directory / f"{name}.env"
    header.write_bytes("".join(f"{field}\0" for field in fields).encode() + end)
    then = time.time() - age_s
    os.utime(header, (then, then))
    if body is not None:
        (directory / f"{name}.json").write_bytes(body)
    return next(entry for entry in journal.entries(directory) if entry.name == name)


def own_name() -> str:
    """The name of an entry whose front is this process."""
    up = Path("/proc/uptime").read_text().split()[0].replace(".", "")
    return f"{int(up):012}-{os.getpid():07}"


def test_entries_are_in_the_order_of_their_names(tmp_path: Path) -> None:
    names = ["000000000200-0000009", "000000000100-0000010", "000000000100-0000009-1"]
    for name in names:
        write(tmp_path, name)
    (tmp_path / "README.txt").write_text("no entry")
    (tmp_path / "x.env").write_text("no entry")
    assert [entry.name for entry in journal.entries(tmp_path)] == sorted(names)
    assert journal.entries(tmp_path / "absent") == []
    assert journal.entries(tmp_path / "README.txt") == []


def test_a_payload_is_what_the_front_wrote(tmp_path: Path) -> None:
    entry = write(
        tmp_path, TMUX="/tmp/a b,1,2", TMUX_PANE="%3", HOME="/h\nx", harness="codex", event=""
    )
    payload = journal.read(entry)
    assert payload.data == {"session_id": "s"}
    assert (payload.harness, payload.event, payload.name) == ("codex", None, entry.name)
    assert payload.env == {"TMUX": "/tmp/a b,1,2", "TMUX_PANE": "%3", "HOME": "/h\nx"}


def test_the_time_is_the_headers_but_never_in_the_future(tmp_path: Path) -> None:
    old = write(tmp_path, "000000000100-0000009", age_s=5)
    assert 4_000 < journal.now_ms() - old.started_ms < 60_000
    future = write(tmp_path, "000000000101-0000009", age_s=-1000)
    assert future.started_ms <= journal.now_ms()


def test_a_body_that_is_being_written_is_incomplete(tmp_path: Path) -> None:
    for body in (None, b"", b'{"session_id": "s'):
        with pytest.raises(journal.Incomplete):
            journal.read(write(tmp_path, own_name(), body=body))


def test_a_body_whose_writer_is_gone_is_bad(tmp_path: Path) -> None:
    for body in (None, b"", b'{"session_id": "s', b"null"):
        with pytest.raises(journal.BadEntry):
            journal.read(write(tmp_path, body=body))


def test_a_body_whose_writers_pid_is_somebody_elses_by_now_is_bad(tmp_path: Path) -> None:
    # This process started long after the first second since boot.
    with pytest.raises(journal.BadEntry):
        journal.read(write(tmp_path, f"000000000001-{os.getpid():07}", body=b"{"))


def test_a_body_is_given_up_after_a_minute(tmp_path: Path) -> None:
    with pytest.raises(journal.BadEntry):
        journal.read(write(tmp_path, own_name(), body=b"{", age_s=61))


def test_a_header_that_is_not_whole(tmp_path: Path) -> None:
    with pytest.raises(journal.Incomplete):
        journal.read(write(tmp_path, own_name(), end=b""))
    with pytest.raises(journal.BadEntry):
        journal.read(write(tmp_path, end=b""))


def test_ancestors_get_their_start_while_they_live(tmp_path: Path) -> None:
    uptime = Path("/proc/uptime").read_text().split()[0]
    me = os.getpid()
    entry = write(
        tmp_path, own_name(), ancestors=f"{DEAD} sh\n{me} odd name\n", uptime=uptime, body=b"{}"
    )
    dead, alive = journal.read(entry).ancestors
    assert (dead.pid, dead.start, dead.comm) == (DEAD, 0, "sh")
    assert (alive.pid, alive.start, alive.comm) == (me, procs.start_ticks(me), "odd name")


def test_an_ancestor_that_started_after_the_hook_is_another_process(tmp_path: Path) -> None:
    now = Path("/proc/uptime").read_text().split()[0]
    name = own_name()
    time.sleep(0.05)  # a pid is not handed out again within a clock tick
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            entry = write(tmp_path, name, ancestors=f"{child.pid} claude\n", uptime=now, body=b"{}")
            assert journal.read(entry).ancestors[0].start == 0
        finally:
            child.kill()


def test_pids_of_another_boot_are_not_looked_up(tmp_path: Path) -> None:
    entry = write(tmp_path, own_name(), ancestors=f"{os.getpid()} x\n", uptime="99999999.0")
    assert journal.read(entry).ancestors[0].start == 0


class Twice:
    """An adapter that makes two events of each call."""

    name = "twice"

    def events(self, payload: Payload) -> list[Event]:
        return [
            Event(f"{payload.name}.{i}", "ended", "twice", str(payload.data["session_id"]), 1)
            for i in range(2)
        ]


def test_the_last_event_carries_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "find", lambda name: Twice() if name == "twice" else None)
    entry = write(tmp_path, harness="twice")
    assert [event.journal for event in journal.events_of(entry)] == [None, entry.name]
    assert journal.events_of(write(tmp_path, harness="nobody")) == []


def test_an_adapter_that_fails_makes_the_entry_bad_and_tells_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "find", lambda _name: Twice())
    with pytest.raises(journal.BadEntry) as caught:
        journal.events_of(write(tmp_path, body=b'{"my secret": 1}'))
    assert "KeyError" in str(caught.value)
    assert "test_emit_journal.py" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_removal(tmp_path: Path) -> None:
    entry = write(tmp_path)
    journal.remove(tmp_path, entry.name)
    journal.remove(tmp_path, entry.name)
    assert list(tmp_path.iterdir()) == []


def test_a_body_without_a_header_is_cleared_away(tmp_path: Path) -> None:
    kept = write(tmp_path, "000000000100-0000001")
    (tmp_path / "000000000100-0000002.json").write_text("{}")
    journal.entries(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {f"{kept.name}.env", f"{kept.name}.json"}


def test_what_is_set_aside_is_kept_privately_and_bounded(tmp_path: Path) -> None:
    directory = tmp_path / "journal"
    for number in range(journal.REJECTED_KEPT + 5):
        entry = write(directory, f"{number:012}-{DEAD}", body=b"x" * 10)
        os.chmod(entry.body_file, 0o644)
        journal.set_aside(directory, entry.name, "not JSON")
    rejected = tmp_path / "rejected"
    assert list(directory.iterdir()) == []
    assert len(list(rejected.glob("*.env"))) == journal.REJECTED_KEPT
    assert not (rejected / f"{0:012}-{DEAD}.json").exists()
    last = rejected / f"{journal.REJECTED_KEPT + 4:012}-{DEAD}.reason"
    assert last.read_text() == "not JSON\n"
    assert {file.stat().st_mode & 0o777 for file in rejected.iterdir()} == {0o600}
    assert rejected.stat().st_mode & 0o777 == 0o700


def test_a_large_body_is_set_aside_cut(tmp_path: Path) -> None:
    directory = tmp_path / "journal"
    entry = write(directory, body=b"x" * (journal.REJECTED_BODY + 1))
    journal.set_aside(directory, entry.name, "too large")
    kept = tmp_path / "rejected" / f"{entry.name}.json"
    assert kept.stat().st_size == journal.REJECTED_BODY


def test_where_nothing_can_be_set_aside_the_entry_goes(tmp_path: Path) -> None:
    (tmp_path / "rejected").write_text("a file")
    directory = tmp_path / "journal"
    entry = write(directory)
    journal.set_aside(directory, entry.name, "why")
    assert list(directory.iterdir()) == []


def test_the_worker_imports_nothing_heavy() -> None:
    code = (
        "import sys, trailboss.emit.worker, trailboss.adapters.claude; "
        "print([m for m in ('prompt_toolkit', 'peewee', 'psutil', 'watchfiles', 'asyncio')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.strip() == "[]"
