"""Section F: a locked, full, broken or old database, with a real broker and real hooks."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import orjson
import pytest

from tests.cases.emitter import Emitter
from tests.harness.broker import BrokerProcess
from tests.harness.sandbox import Sandbox
from tests.harness.wait import until
from trailboss import paths


@pytest.fixture
def emitter(sandbox: Sandbox) -> Emitter:
    return Emitter(sandbox)


def saved(database: Path) -> list[str]:
    """The stuck sessions that are on disk, oldest first."""
    with reading(database) as db:
        try:
            rows = db.execute(
                "select session_id from sessions where state = 'stuck' order by since, session_id"
            )
            return [row[0] for row in rows]
        except sqlite3.DatabaseError:
            return ["a copy that was taken in the midst of a checkpoint"]


@contextmanager
def reading(database: Path) -> Iterator[sqlite3.Connection]:
    """A copy of it: SQLite would follow /proc/PID/root to a file of the same name elsewhere."""
    with tempfile.TemporaryDirectory() as directory:
        for suffix in ("", "-wal"):
            source = Path(f"{database}{suffix}")
            if source.exists():
                shutil.copyfile(source, Path(directory) / f"copy{suffix}")
        with closing(sqlite3.connect(Path(directory) / "copy")) as db:
            yield db


# B67: locked

LOCKER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
database.execute("begin immediate")
print("locked", flush=True)
time.sleep(8)
database.execute("rollback")
print("free", flush=True)
for n in range(20):
    with sqlite3.connect(":memory:") as copy:
        database.backup(copy)
print("copied", flush=True)
sys.stdin.read()
"""


def test_b67_another_process_holds_the_lock(broker: BrokerProcess, emitter: Emitter) -> None:
    database = paths.database(broker.sandbox.state)
    broker.event("stuck", "s00")
    until(lambda: saved(database) == ["s00"], what="the first one is saved")
    locker = broker.sandbox.spawn(
        sys.executable, "-c", LOCKER, str(database), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert locker.stdout is not None
    assert locker.stdout.readline() == b"locked\n"
    sessions = [f"s{n:02}" for n in range(51)]
    for session in sessions[1:49]:
        broker.event("stuck", session)
        assert broker.call("queue.list")["depth"] >= 1
    # A hook's time is that of a file, which is by some ms behind the clock.
    late = time.monotonic() + 0.05
    until(lambda: time.monotonic() > late)
    for session in sessions[49:]:
        emitter.hook("Stop", session, last_assistant_message="Done.")
    broker.wait_queue(*sessions)
    assert saved(database) == ["s00"]
    assert locker.stdout.readline() == b"free\n"
    until(lambda: saved(database) == sessions, what="all is saved, in its order")
    assert locker.stdout.readline() == b"copied\n"
    until(lambda: not broker.call("status")["alerts"], what="nothing is amiss any more")
    assert broker.process is not None
    assert broker.process.poll() is None
    done = broker.sandbox.trailboss("queue")
    assert done.stdout.count(b"\n") == 51
    assert b"Traceback" not in done.stderr
    until(lambda: not list(paths.journal_dir(broker.sandbox.state).iterdir()), what="journal empty")


# B68: full


class Confined(BrokerProcess):
    """A broker in a mount namespace of its own, in which `prepare` (sh) has been run.

    `state` is its state dir as the test sees it.
    """

    def __init__(self, sandbox: Sandbox, prepare: str) -> None:
        super().__init__(sandbox)
        self._prepare = prepare

    def start(self) -> Confined:
        self.spawn()
        until(self._answers, what="the broker answers")
        return self

    def spawn(self) -> None:
        """Start it without waiting."""
        script = f'set -e\n{self._prepare}\nexec "$@"'
        with open(self.sandbox.root / "broker.stderr", "ab") as stderr:
            self.process = self.sandbox.spawn(
                "unshare", *namespace(), "sh", "-c", script, "sh",
                sys.executable, "-m", "trailboss", "broker", env=self.env, stderr=stderr,
            )  # fmt: skip

    @property
    def state(self) -> Path:
        assert self.process is not None
        return Path(f"/proc/{self.process.pid}/root{self.sandbox.state}")


def namespace() -> list[str]:
    for flags in (["-m"], ["-Urm"]):
        if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode == 0:
            return flags
    pytest.skip("no mount namespace may be made here")


@pytest.fixture
def on_a_small_disk(sandbox: Sandbox) -> Iterator[Confined]:
    sandbox.state.mkdir(mode=0o700)
    mount = f"mount -t tmpfs -o size=1m,mode=700 tmpfs {sandbox.state}"
    process = Confined(sandbox, mount).start()
    yield process
    process.close()


def fill(state: Path) -> Path:
    """Fill that disk to its last byte; the file that takes the room."""
    filler = state / "filler"
    with open(filler, "ab", buffering=0) as file:
        size = 65536
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
    return filler


def test_b68_the_disk_is_full(on_a_small_disk: Confined, emitter: Emitter) -> None:
    broker = on_a_small_disk
    assert broker.process is not None
    pid, database = broker.process.pid, paths.database(broker.state)
    broker.event("stuck", "s00")
    until(lambda: saved(database) == ["s00"], what="the first one is saved")
    filler = fill(broker.state)
    assert filler.stat().st_size > 65536
    sessions = [f"s{n:02}" for n in range(26)]
    # Long enough to need more room than the write-ahead log has left.
    for session in sessions[1:21]:
        broker.event("stuck", session, message="m" * 20_000)
    broker.wait_queue(*sessions[:21])
    until(
        lambda: [a for a in broker.call("status")["alerts"] if a.startswith("not saved")],
        what="it says that nothing is saved",
    )
    emitter.hook("Stop", "lost", env={"TRAILBOSS_STATE_DIR": str(broker.state)})
    broker.call("reconcile.run")
    assert broker.queue() == sessions[:21]
    filler.unlink()
    for session in sessions[21:]:
        broker.event("stuck", session)
    until(lambda: saved(database) == sessions, what="the queue as it is now is saved")
    until(lambda: not broker.call("status")["alerts"], what="and that is said")
    assert broker.call("ping")["pid"] == pid
    with reading(database) as db:
        assert db.execute("pragma integrity_check").fetchall() == [("ok",)]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_b68_no_room_for_the_log_alone(sandbox: Sandbox) -> None:
    sandbox.state.mkdir(mode=0o700)
    paths.log_file(sandbox.state).symlink_to("/dev/full")
    broker = BrokerProcess(sandbox).start()
    try:
        broker.push(b"not an event")
        broker.event("stuck", "s1")
        broker.wait_queue("s1")
        until(lambda: saved(paths.database(sandbox.state)) == ["s1"], what="it is saved")
        assert broker.call("status")["events"]["rejected"] == 1
        assert broker.stop() == 0
    finally:
        broker.close()


# B70: broken, old, not writable


@pytest.mark.parametrize("content", [b"", os.urandom(4096)], ids=["zero bytes", "random"])
def test_b70_a_file_that_is_no_database(sandbox: Sandbox, emitter: Emitter, content: bytes) -> None:
    sandbox.state.mkdir(mode=0o700)
    database = paths.database(sandbox.state)
    database.write_bytes(content)
    broker = BrokerProcess(sandbox).start()
    try:
        assert broker.queue() == []
        emitter.hook("Stop", "s1", last_assistant_message="Done.")
        broker.wait_queue("s1")
        until(lambda: saved(database) == ["s1"], what="the new one is used")
        aside = list(sandbox.state.glob("trailboss.db.bad-*"))
        assert [path.read_bytes() for path in aside] == [content] * bool(content)
        said = [line for line in broker.log.splitlines() if "kept as" in line]
        assert len(said) == bool(content)
        assert [a for a in broker.call("status")["alerts"] if "kept as" in a] or not content
    finally:
        broker.close()


def test_b70_a_database_of_an_older_release(broker: BrokerProcess) -> None:
    """Fields that it did not know are missing, one that it had is gone since, and the steps of
    its schema have not been made."""
    broker.event("stuck", "s1", message="Old.")
    broker.wait_queue("s1")
    database = paths.database(broker.sandbox.state)
    until(lambda: saved(database) == ["s1"], what="it is saved")
    (before,) = broker.items()
    assert broker.stop() == 0
    with sqlite3.connect(database) as db:
        ((raw,),) = db.execute("select data from sessions").fetchall()
        data = orjson.loads(raw)
        for name in ("suspended", "attach", "home", "note"):
            del data[name]
        del data["evidence"]["ran_at"]
        data["was_once_kept"] = data["entry"]["was_too"] = 1
        db.execute("update sessions set data = ?", [orjson.dumps(data)])
        db.execute("delete from meta where key = 'schema'")
        db.execute("drop table events")
    broker.start()
    (after,) = broker.items()
    assert (after["message"], after["since"]) == ("Old.", before["since"])
    assert not list(broker.sandbox.state.glob("trailboss.db.bad-*"))
    broker.event("stuck", "s2")
    until(lambda: saved(database) == ["s1", "s2"], what="it is written again")


def test_b70_a_database_of_a_newer_release_is_left_alone(broker: BrokerProcess) -> None:
    assert broker.stop() == 0
    database = paths.database(broker.sandbox.state)
    with sqlite3.connect(database) as db:
        db.execute("update meta set value = '99' where key = 'schema'")
    done = broker.sandbox.trailboss("broker")
    assert done.returncode == 1
    assert b"newer Trail Boss" in done.stderr
    assert done.stderr.count(b"\n") == 1
    with sqlite3.connect(database) as db:
        assert db.execute("select value from meta where key = 'schema'").fetchall() == [("99",)]
    assert not list(broker.sandbox.state.glob("trailboss.db.bad-*"))


@pytest.mark.parametrize("what", ["file", "directory"])
def test_b70_a_database_that_cannot_be_written(
    broker: BrokerProcess, emitter: Emitter, what: str
) -> None:
    assert broker.stop() == 0
    state, database = broker.sandbox.state, paths.database(broker.sandbox.state)
    content = database.read_bytes()
    place = database if what == "file" else state
    confined = Confined(
        broker.sandbox, f"mount --bind {place} {place}\nmount -o remount,ro,bind {place}"
    )
    confined.spawn()
    assert confined.process is not None
    assert confined.process.wait(60) == 1
    confined.close()
    told = (broker.sandbox.root / "broker.stderr").read_text()
    assert "cannot be written" in told or "Read-only file system" in told
    assert "Traceback" not in told
    assert database.read_bytes() == content
    emitter.hook("Stop", "s1", last_assistant_message="Done.")
    broker.start()
    broker.wait_queue("s1")
