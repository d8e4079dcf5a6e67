"""The broker's life: one only, killed, restarted, replaying, with its state kept."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

from tests.harness.broker import BrokerProcess
from tests.harness.sandbox import Sandbox
from tests.harness.wait import until
from trailboss import paths
from trailboss.client import Changes, read_pointer


def second(box: Sandbox) -> subprocess.CompletedProcess[bytes]:
    return box.trailboss("broker")


def test_a_second_one_names_the_first_and_steals_nothing(broker: BrokerProcess) -> None:
    """Case B49."""
    assert broker.process is not None
    with ThreadPoolExecutor(4) as pool:
        for done in pool.map(second, [broker.sandbox] * 4):
            assert done.returncode == 1
            assert str(broker.process.pid) in done.stderr.decode()
    broker.event("stuck", "s1")
    broker.wait_queue("s1")


def test_another_runtime_dir_does_not_share_the_state(broker: BrokerProcess) -> None:
    box = broker.sandbox
    done = box.trailboss("broker", env={"TRAILBOSS_RUNTIME_DIR": str(box.root / "other")})
    assert done.returncode == 1
    assert broker.call("ping")["pid"]


def test_killed_and_restarted_it_has_the_same_queue(broker: BrokerProcess) -> None:
    """Case B54, and contract, rule 10."""
    broker.event("stuck", "a", reason="permission", message="Bash: ls")
    broker.event("stuck", "b")
    broker.event("stuck", "c")
    broker.wait_queue("a", "b", "c")
    broker.call("queue.skip", session_id="a")
    broker.call("queue.snooze", session_id="b", for_s=600)
    before = broker.items()
    rev = broker.call("queue.list")["rev"]
    until(lambda: saved(broker) >= {"a", "b", "c"})
    broker.kill()
    broker.start()
    after = broker.items()
    for item in before + after:
        del item["stuck_ms"]
    assert after == before
    assert broker.call("queue.list")["rev"] >= rev


def saved(broker: BrokerProcess) -> set[str]:
    with sqlite3.connect(paths.database(broker.sandbox.state)) as database:
        return {row[0] for row in database.execute("select session_id from sessions")}


def test_left_over_sockets_are_no_obstacle_and_a_file_is_never_removed(sandbox: Sandbox) -> None:
    """Case B50."""
    broker = BrokerProcess(sandbox).start()
    broker.kill()
    assert paths.api_socket(sandbox.runtime).exists()
    broker.start()
    assert broker.stop() == 0
    assert not paths.api_socket(sandbox.runtime).exists()
    precious = paths.api_socket(sandbox.runtime)
    precious.write_text("data")
    done = second(sandbox)
    assert done.returncode == 1
    assert str(precious) in done.stderr.decode()
    assert precious.read_text() == "data"
    broker.close()


def test_the_pointer_leads_a_client_with_another_runtime_dir(broker: BrokerProcess) -> None:
    box = broker.sandbox
    pointer = read_pointer(box.state)
    assert pointer is not None
    assert pointer["runtime_dir"] == str(box.runtime)
    done = box.trailboss("status", env={"TRAILBOSS_RUNTIME_DIR": str(box.root / "nowhere")})
    assert done.returncode == 0, done.stderr
    broker.stop()
    assert read_pointer(box.state) is None


def test_stop(broker: BrokerProcess) -> None:
    box = broker.sandbox
    broker.pause()
    done = box.trailboss("stop")
    assert done.returncode == 0, done.stderr
    assert broker.process is not None
    assert broker.process.wait(10) is not None
    assert box.trailboss("stop").returncode == 1
    done = box.trailboss("status")
    assert done.returncode == 3
    assert done.stderr.decode().count("\n") == 1


def test_a_hung_broker_is_told_within_two_seconds(broker: BrokerProcess) -> None:
    broker.pause()
    begun = time.monotonic()
    done = broker.sandbox.trailboss("queue")
    assert done.returncode == 3
    assert time.monotonic() - begun < 10


def test_unsafe_directories_are_refused(sandbox: Sandbox) -> None:
    """Case B52."""
    sandbox.runtime.mkdir(mode=0o777)
    os.chmod(sandbox.runtime, 0o777)
    done = second(sandbox)
    assert done.returncode == 1
    assert b"writable by others" in done.stderr
    os.chmod(sandbox.runtime, 0o755)
    done = second(sandbox)
    assert done.returncode == 1
    assert b"open to others" in done.stderr
    sandbox.runtime.rmdir()
    sandbox.runtime.symlink_to(sandbox.home)
    assert second(sandbox).returncode == 1


def test_a_path_too_long_is_said(sandbox: Sandbox) -> None:
    """Case B51."""
    deep = sandbox.root / ("d" * 120)
    env = {"TRAILBOSS_RUNTIME_DIR": str(deep)}
    done = sandbox.trailboss("broker", env=env)
    assert done.returncode == 3
    assert b"107" in done.stderr
    assert str(deep).encode() in done.stderr
    assert sandbox.trailboss("queue", env=env).returncode == 3


@pytest.mark.parametrize("content", [b"", os.urandom(4096), b"SQLite format 3\0 and rubbish"])
def test_a_broken_database_is_kept_aside(sandbox: Sandbox, content: bytes) -> None:
    """Case B70."""
    sandbox.state.mkdir(mode=0o700)
    paths.database(sandbox.state).write_bytes(content)
    broker = BrokerProcess(sandbox).start()
    broker.event("stuck", "s1")
    broker.wait_queue("s1")
    broker.close()
    aside = list(sandbox.state.glob("trailboss.db.bad-*"))
    if content:
        assert aside[0].read_bytes() == content
        assert "kept as" in broker.log


def test_a_locked_database_loses_nothing(broker: BrokerProcess) -> None:
    """Case B67: somebody else holds the lock while events arrive and queries are asked."""
    database = sqlite3.connect(paths.database(broker.sandbox.state), isolation_level=None)
    broker.event("stuck", "before")
    broker.wait_queue("before")
    until(lambda: "before" in saved(broker))
    database.execute("begin immediate")
    for n in range(20):
        broker.event("stuck", f"s{n:02}")
    until(lambda: len(broker.queue()) == 21)
    database.execute("rollback")
    database.close()
    until(lambda: len(saved(broker)) == 21)
    assert broker.process is not None
    assert broker.process.poll() is None


def test_changes_are_published_and_rev_never_goes_down(broker: BrokerProcess) -> None:
    changes = Changes(broker.sandbox.runtime)
    seen: list[dict[str, object]] = []

    def heard(depth: int) -> bool:
        found = changes.poll(100)
        if found:
            seen.append(found)
        return bool(seen) and seen[-1]["depth"] == depth

    def push_until_heard() -> bool:
        broker.event("stuck", "s1", message=f"m{time.time_ns()}")
        return heard(1)

    until(push_until_heard)
    broker.event("unstuck", "s1")
    until(lambda: heard(0))
    assert set(seen[-1]) == {"v", "rev", "depth", "ready", "head", "head_session"}
    broker.kill()
    broker.start()
    until(push_until_heard)
    revs = [m["rev"] for m in seen]
    assert revs == sorted(revs)
    changes.close()


def test_the_same_id_counts_once_over_a_restart(broker: BrokerProcess) -> None:
    stuck = {
        "v": 1, "id": "once", "type": "stuck", "harness": "claude", "session_id": "s1",
        "timestamp": time.time_ns() // 1_000_000, "reason": "stopped", "message": "x",
    }  # fmt: skip
    broker.push(orjson.dumps(stuck))
    broker.wait_queue("s1")
    broker.event("ended", "s1")
    broker.wait_queue()
    broker.stop()
    broker.start()
    broker.push(orjson.dumps({**stuck, "timestamp": time.time_ns() // 1_000_000 + 1000}))
    broker.event("stuck", "s2")
    broker.wait_queue("s2")


def test_broker_ends_cleanly_on_sigterm(broker: BrokerProcess) -> None:
    assert broker.stop() == 0
    assert not list(broker.sandbox.runtime.glob("*.sock"))
