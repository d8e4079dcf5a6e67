"""The emitter's worker: its life and death, and brokers that are away."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.harness.emitter import (
    EMIT,
    SESSION,
    Collector,
    emit,
    end_worker,
    entries,
    lives,
    payload,
    start_worker,
    wait_for_worker,
    workers,
)
from tests.harness.sandbox import REPO, Sandbox
from tests.harness.wait import holds, until
from trailboss.emit import marks


def test_a_worker_killed_in_the_midst_loses_nothing(
    sandbox: Sandbox, collector: Collector, no_python: str
) -> None:
    emit(sandbox, "--event", "Stop", body=payload(), script=no_python)
    template = entries(sandbox)[0]
    for number in range(2000):
        name = f"{number:012}-9999999"
        shutil.copy(template.env_file, template.directory / f"{name}.env")
        (template.directory / f"{name}.json").write_bytes(payload(session=f"s{number}"))
    worker = start_worker(sandbox)
    until(lambda: len(collector.poll()) >= 20, what="the worker is in the midst")
    worker.kill()
    worker.wait()
    collector.poll()
    start_worker(sandbox)
    events = collector.wait_for(2001)
    assert {f"s{number}" for number in range(2000)} <= {event["session_id"] for event in events}
    assert len(entries(sandbox)) == 2001


def test_a_worker_that_ends_misses_no_hook(sandbox: Sandbox, collector: Collector) -> None:
    """Hooks that come just while an idle worker ends, with a worker that is idle at once."""
    checkout = sandbox.root / "checkout"
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (checkout / "bin").mkdir()
    (checkout / "trailboss").symlink_to(REPO / "trailboss")
    script = checkout / "bin" / "trailboss-emit"
    shutil.copy(EMIT, script)
    python.write_text(
        f"#!/bin/sh\nshift 4\nexec {sys.executable} -c 'from trailboss.emit import worker;"
        ' worker.IDLE_S = 0.02; worker.TICK_S = 0.005; worker.main()\' "$@"\n'
    )
    python.chmod(0o755)
    for number in range(25):
        emit(sandbox, "--event", "Stop", body=payload(session=f"s{number}"), script=str(script))
        collector.wait_for(number + 1)
        if number % 2:
            time.sleep(number / 1000)
    until(lambda: not (sandbox.state / "emit.pid").exists(), what="the worker ends")
    until(lambda: not workers(sandbox), what="its process ends")


def test_a_resident_worker_is_woken_not_started_anew(
    sandbox: Sandbox, collector: Collector
) -> None:
    emit(sandbox, "--event", "Stop", body=payload())
    collector.wait_for(1)
    pid = wait_for_worker(sandbox)
    for number in range(5):
        emit(sandbox, "--event", "Stop", body=payload(session=f"s{number}"))
    collector.wait_for(6)
    assert workers(sandbox) == [pid]
    assert os.getsid(pid) == pid
    assert len(collector.events) == 6


@pytest.mark.parametrize("whose", ["nobody", "a stranger", "nonsense"])
def test_a_stale_pid_file_is_no_obstacle(
    sandbox: Sandbox, collector: Collector, whose: str
) -> None:
    emit(sandbox, "--event", "Stop", body=payload())
    collector.wait_for(1)
    end_worker(sandbox)
    stranger = sandbox.spawn("sleep", "300")
    content = {"nobody": "9999999 3", "a stranger": f"{stranger.pid} 0", "nonsense": "x; y"}
    (sandbox.state / "emit.pid").write_text(content[whose] + "\n")
    emit(sandbox, "--event", "Stop", body=payload(session="again"))
    collector.wait_for(2)
    assert stranger.poll() is None


def test_a_worker_whose_state_dir_is_gone_ends(sandbox: Sandbox, collector: Collector) -> None:
    emit(sandbox, "--event", "Stop", body=payload())
    collector.wait_for(1)
    pid = wait_for_worker(sandbox)
    shutil.rmtree(sandbox.state)
    until(lambda: not lives(pid), what="the worker ends")
    assert not sandbox.state.exists()
    emit(sandbox, "--event", "Stop", body=payload(session="again"))
    collector.wait_for(2)


def test_what_means_nothing_is_removed(sandbox: Sandbox, collector: Collector) -> None:
    emit(sandbox, "--event", "Notification", body=payload("Notification", message="hi"))
    emit(sandbox, "--harness", "nobody-knows", body=b'{"a": 1}')
    emit(sandbox, "--event", "FutureEvent", body=payload("FutureEvent"))
    until(lambda: not entries(sandbox), what="the entries go")
    until(lambda: not marks.of_session(sandbox.state, SESSION), what="the mark goes")
    assert collector.poll() == []


def test_one_bad_entry_stops_no_other(sandbox: Sandbox, collector: Collector) -> None:
    for body in (b"\x00\xff\xfe", b'{"session_id": ', b"[1]", b'{"a": ' + b"[" * 100_000):
        emit(sandbox, "--event", "Stop", body=body)
    wrong = {"session_id": 42, "hook_event_name": ["Stop"], "cwd": None}
    emit(sandbox, body=json.dumps(wrong).encode())
    emit(sandbox, "--event", "Stop", body=payload(last_assistant_message="good"))
    assert collector.wait_for(1)[-1]["message"] == "good"
    assert len(entries(sandbox)) >= 5
    text = (sandbox.state / "emit.log").read_text()
    assert "not JSON" in text
    assert "session_id" not in text


def test_surrogates_and_nul_arrive_cleaned(sandbox: Sandbox, collector: Collector) -> None:
    """Cases B64 and B41: also in a locale that knows ASCII alone."""
    body = payload().replace(b'"done"', b'"a\\udc88b\\u0000c na\xc3\xafve \xe6\xbc\xa2 \xff"')
    emit(sandbox, "--event", "Stop", body=body, env={"LC_ALL": "C", "LANG": None})
    message = collector.wait_for(1)[0]["message"]
    assert message == "a?b�c naïve 漢 �"


def test_without_a_broker_the_event_waits_in_the_journal(sandbox: Sandbox) -> None:
    emit(sandbox, "--event", "Stop", body=payload())
    wait_for_worker(sandbox)
    assert len(entries(sandbox)) == 1
    late = Collector(sandbox)
    late.wait_for(1)
    late.close()


def test_a_dead_socket_file_delays_nothing(sandbox: Sandbox) -> None:
    dead = Collector(sandbox)
    socket = sandbox.runtime / "events.sock"
    kept = sandbox.root / "kept"
    os.link(socket, kept)
    dead.close()
    os.replace(kept, socket)
    emit(sandbox, "--event", "Stop", body=payload())
    assert len(entries(sandbox)) == 1


def test_a_stopped_collector_delays_nothing(sandbox: Sandbox) -> None:
    sandbox.runtime.mkdir(mode=0o700)
    stopped = sandbox.spawn(
        sys.executable,
        "-c",
        "import os, signal, sys, zmq; s = zmq.Context().socket(zmq.PULL);"
        f"s.bind('ipc://{sandbox.runtime}/events.sock'); print('bound', flush=True);"
        "os.kill(os.getpid(), signal.SIGSTOP);"
        "print(len([s.recv() for _ in range(20)]), flush=True)",
        stdout=subprocess.PIPE,
    )
    assert stopped.stdout is not None
    assert stopped.stdout.readline() == b"bound\n"
    for number in range(20):
        emit(sandbox, "--event", "Stop", body=payload(session=f"s{number}"))
    assert len(entries(sandbox)) == 20
    stopped.send_signal(signal.SIGCONT)
    assert stopped.stdout.readline() == b"20\n"


def test_the_pointer_is_followed(sandbox: Sandbox, collector: Collector) -> None:
    """A hook with another idea of the runtime dir finds the broker of its state dir."""
    start = int(Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19])
    sandbox.state.mkdir(mode=0o700)
    (sandbox.state / "broker.json").write_text(
        json.dumps(
            {"pid": os.getpid(), "start_time": start, "runtime_dir": str(sandbox.runtime)}
            | {"version": "0"}
        )
    )
    elsewhere = str(sandbox.root / "elsewhere")
    emit(sandbox, "--event", "Stop", body=payload(), env={"TRAILBOSS_RUNTIME_DIR": elsewhere})
    collector.wait_for(1)


def test_a_runtime_dir_that_others_may_write_gets_no_event(
    sandbox: Sandbox, collector: Collector
) -> None:
    sandbox.runtime.chmod(0o777)
    emit(sandbox, "--event", "Stop", body=payload())
    wait_for_worker(sandbox)
    holds(lambda: not collector.poll(), 1.0, "nothing is sent")
    sandbox.runtime.chmod(0o700)
    collector.wait_for(1)
