"""Claude Code's status files: both versions' shapes, foreign ones, and what is never opened."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness.opened import Opened
from tests.harness.replay import scenarios
from trailboss.adapters.claude_registry import FILE_NAME, Status, claim, read
from trailboss.broker import processes
from trailboss.broker.survey import Live, Survey

OLD = {
    "pid": 17121,
    "sessionId": "402a7f3f",
    "cwd": "/home/dev/project",
    "startedAt": 1000,
    "procStart": "420779",
    "version": "2.1.197",
    "kind": "interactive",
    "entrypoint": "cli",
    "name": "project-72",
    "nameSource": "derived",
    "status": "waiting",
    "waitingFor": "permission prompt",
    "updatedAt": 5000,
    "statusUpdatedAt": 4000,
}
NEW = {**OLD, "version": "2.1.332", "tmux": "work:@4.%17", "waitingFor": "input needed"}


def status(**fields: Any) -> Status:
    found = read(orjson.dumps({**OLD, **fields}))
    assert found is not None
    return found


def test_both_shapes() -> None:
    old, new = read(orjson.dumps(OLD)), read(orjson.dumps(NEW))
    assert old is not None
    assert new is not None
    assert (old.pid, old.session_id, old.cwd) == (17121, "402a7f3f", "/home/dev/project")
    assert (old.status, old.waiting_for, old.updated_at) == ("waiting", "permission prompt", 4000)
    assert (old.proc_start, old.started_at, old.place) == (420779, 1000, None)
    assert (new.waiting_for, new.place) == ("input needed", ("work", "@4", "%17"))


def test_what_is_there_before_the_first_status() -> None:
    found = read(orjson.dumps({"pid": 7, "sessionId": "s", "startedAt": 1000}))
    assert found is not None
    assert (found.status, found.updated_at) == (None, 1000)
    assert claim(found, 9) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{", orjson.dumps(OLD)[:-20], b"7", b"null", b"[]", b"\xff", b"[" * 100_000,
        b'{"session_id": "x", "cwd": "/home/dev"}',  # the older generation (case B113)
        orjson.dumps({**OLD, "pid": "17121"}), orjson.dumps({**OLD, "pid": True}),
        orjson.dumps({**OLD, "pid": None}), orjson.dumps({**OLD, "sessionId": ""}),
        orjson.dumps({**OLD, "sessionId": 7}),
    ],
    ids=lambda raw: repr(raw[:24]),
)  # fmt: skip
def test_half_and_foreign_ones_are_none(raw: bytes) -> None:
    assert read(raw) is None


@pytest.mark.parametrize(
    "field",
    ["status", "waitingFor", "statusUpdatedAt", "updatedAt", "startedAt", "procStart", "cwd",
     "tmux", "name", "nameSource", "kind", "entrypoint", "jobId", "parkedJobId"],
)  # fmt: skip
@pytest.mark.parametrize(
    "value", [None, 7, "x", [], {"a": 1}, True, 1e300, "\x00", "", "²", "9" * 5000]
)
def test_a_field_of_another_type_harms_nothing(field: str, value: Any) -> None:
    found = status(**{field: value})
    told = claim(found, 9)
    assert told is None or isinstance(told.at, int)
    assert found.session_id == "402a7f3f"


@pytest.mark.parametrize(
    ("word", "says", "reason", "cause"),
    [
        ("busy", "going", None, "busy"),
        ("waiting", "stuck", "permission", "permission prompt"),
        ("idle", "idle", "stopped", "idle"),
        ("shell", "idle", "stopped", "shell"),
    ],
)
def test_claims(word: str, says: str, reason: str | None, cause: str) -> None:
    told = claim(status(status=word), 9000, "approve Bash: ls")
    assert told is not None
    assert (told.source, told.says, told.reason, told.cause) == ("registry", says, reason, cause)
    assert (told.at, told.checked_at) == (4000, 9000)
    assert told.text == ("approve Bash: ls" if says == "stuck" else "")


def test_a_word_that_nobody_knows_says_nothing() -> None:
    assert claim(status(status="levitating"), 9) is None


@pytest.mark.parametrize(
    ("field", "is_session"),
    [
        ({}, True), ({"entrypoint": "sdk-cli"}, False), ({"entrypoint": "sdk-py"}, False),
        ({"spare": True}, False), ({"kind": "bg", "jobId": "98b4cbc1"}, True),
        ({"entrypoint": None}, True),
    ],
)  # fmt: skip
def test_who_is_a_session(field: dict[str, Any], is_session: bool) -> None:
    assert status(**field).is_session is is_session


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("work:@4.%17", ("work", "@4", "%17")),
        ("a:b.c:@0.%0", ("a:b.c", "@0", "%0")),
        (":@0.%0", ("", "@0", "%0")),
        ("line\nbreak:@1.%2", ("line\nbreak", "@1", "%2")),
        ("work:@4.%17 ", None), ("work:4.17", None), ("%17", None), ("work:@4.%1;kill", None),
        ("work:@4.%" + "9" * 40, None),
    ],
)  # fmt: skip
def test_places(value: str, place: Any) -> None:
    assert status(tmux=value).place == place


@pytest.mark.parametrize(("source", "name"), [("user", "n"), ("auto", "n"), ("derived", None)])
def test_names_that_the_program_made_up_are_none(source: str, name: str | None) -> None:
    assert status(name="n", nameSource=source).name == name


@pytest.mark.parametrize("version", ["2.1.197", "2.1.332"])
def test_every_captured_file_is_read(version: str) -> None:
    words = set()
    for entries in scenarios(version).values():
        for entry in entries:
            if entry.get("content") is not None:
                found = read(orjson.dumps(entry["content"]))
                assert found is not None
                assert FILE_NAME.match(entry["registry"])
                assert entry["registry"] == f"{found.pid}.json"
                words.add(found.status)
                words.add(found.waiting_for)
    assert {"busy", "idle", "waiting", "shell", None, "permission prompt"} <= words


# The folder, with files and processes


@pytest.fixture
def sleeper() -> Iterator[int]:
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def folder(home: Path) -> Path:
    path = home / "sessions"
    path.mkdir(parents=True, exist_ok=True)
    return path


def live(home: Path, survey: Survey | None = None) -> list[Live]:
    return (survey or Survey()).look([], [str(home)], 9000, None, False).live


def write(home: Path, pid: int, **fields: Any) -> Path:
    found = processes.look(pid)
    data = {**OLD, "pid": pid, "procStart": str(found.start) if found else "1", **fields}
    path = folder(home) / f"{pid}.json"
    path.write_bytes(orjson.dumps(data))
    return path


def test_the_process_must_live_and_be_that_one(tmp_path: Path, sleeper: int) -> None:
    write(tmp_path, sleeper)
    (found,) = live(tmp_path)
    assert found.status.pid == sleeper
    assert found.chain[:2] == (sleeper, os.getpid())
    write(tmp_path, sleeper, procStart="1")
    assert live(tmp_path) == []
    # A version that does not write it is believed.
    write(tmp_path, sleeper, procStart=None)
    assert len(live(tmp_path)) == 1


def test_a_dead_process_has_none(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    found = processes.look(process.pid)
    process.wait()
    write(tmp_path, process.pid, procStart=str(found.start) if found else "1")
    assert live(tmp_path) == []


def test_keys_and_other_files_are_never_opened(tmp_path: Path, sleeper: int) -> None:
    path = write(tmp_path, sleeper)
    names = [f"{sleeper}.{'a' * 64}.key", f"{sleeper}.{'b' * 64}.key.tmp.12", f"pid-{sleeper}.json"]
    names += ["NOTES.md", f"{sleeper}.json.tmp", f".{sleeper}.json", f"{sleeper}.jsonx", "+1.json"]
    for name in names:
        (folder(tmp_path) / name).write_text("secret")
        assert not FILE_NAME.match(name)
    with Opened() as opened:
        assert len(live(tmp_path)) == 1
    assert {p for p in opened.paths if str(tmp_path) in p} == {str(path)}


def test_links_pipes_folders_and_huge_files_are_passed_over(tmp_path: Path, sleeper: int) -> None:
    path = write(tmp_path, sleeper)
    other = tmp_path / "elsewhere.json"
    path.replace(other)
    path.symlink_to(other)
    os.mkfifo(folder(tmp_path) / "55.json")
    (folder(tmp_path) / "66.json").mkdir()
    (folder(tmp_path) / "77.json").write_bytes(b" " * (2 << 20))
    with Opened() as opened:
        assert live(tmp_path) == []
    assert not [p for p in opened.paths if p.startswith(str(folder(tmp_path))) and "json" in p]


def test_an_unchanged_file_is_read_once_and_a_changed_one_again(
    tmp_path: Path, sleeper: int
) -> None:
    path, survey = write(tmp_path, sleeper), Survey()
    live(tmp_path, survey)
    with Opened() as opened:
        assert len(live(tmp_path, survey)) == 1
    assert str(path) not in opened.paths
    path.write_bytes(path.read_bytes()[:-9])
    assert live(tmp_path, survey) == []
    write(tmp_path, sleeper, status="busy")
    (found,) = live(tmp_path, survey)
    assert found.status.status == "busy"
    path.unlink()
    assert live(tmp_path, survey) == []


def test_what_a_background_session_needs(tmp_path: Path, sleeper: int) -> None:
    job = tmp_path / "jobs" / "98b4cbc1"
    job.mkdir(parents=True)
    write(tmp_path, sleeper, kind="bg", jobId="98b4cbc1")
    for content, needs in (
        (b'{"needs":"approve Bash: ls"}', "approve Bash: ls"),
        (b'{"needs":7}', ""), (b"[]", ""), (b"{", ""),
    ):  # fmt: skip
        (job / "state.json").write_bytes(content)
        assert [found.needs for found in live(tmp_path)] == [needs]
    (tmp_path / "state.json").write_bytes(b'{"needs":"elsewhere"}')
    write(tmp_path, sleeper, kind="bg", jobId="..")
    assert [found.needs for found in live(tmp_path)] == [""]


def test_no_folder_is_no_error(tmp_path: Path) -> None:
    assert live(tmp_path / "absent") == []
    (tmp_path / "sessions").write_text("a file")
    assert live(tmp_path) == []
