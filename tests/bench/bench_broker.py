"""`python -m tests.bench.bench_broker`: what the broker's answers cost, as ratios side by side.

- `trailboss queue --json` beside `python -c 'import zmq, orjson'` (wanted: at most 1.5);
- a hook's effect in @trailboss_status, in ms beyond the hold-off of the contract's rule 9 (150);
- a sweep over 1,000 known transcripts, 50 of them changed, in ms of the broker's own processor
  time (50), and the slowest answer meanwhile beside the median one (20 ms).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import orjson

from tests.harness.broker import BrokerProcess
from tests.harness.sandbox import REPO, Sandbox
from tests.harness.tmux_server import TmuxServer


def timed(box: Sandbox, argv: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(argv, env=box.env, cwd=REPO, check=True, capture_output=True)
    return (time.perf_counter() - begun) * 1000


def queue_json(box: Sandbox) -> None:
    plain = [sys.executable, "-c", "import zmq, orjson"]
    ours = [sys.executable, "-m", "trailboss", "queue", "--json"]
    pairs = [(timed(box, plain), timed(box, ours)) for _ in range(25)]
    a, b = (statistics.median(x) for x in zip(*pairs, strict=True))
    print(f"queue --json       {b:7.1f} ms   import zmq, orjson {a:7.1f} ms   ratio {b / a:.2f}")


def effect(box: Sandbox, broker: BrokerProcess, tmux: TmuxServer, pane: str) -> None:
    """From the start of the hook's front to the option's new text."""
    emit = str(REPO / "bin" / "trailboss-emit")
    env = {"TMUX": f"{tmux.socket},{tmux.pid},0", "TMUX_PANE": pane}
    late = []
    for n in range(12):
        for name, hold in (("Stop", 80), ("UserPromptSubmit", 0)):
            payload = {
                "session_id": "bench", "hook_event_name": name, "cwd": "/",
                "last_assistant_message": f"done {n}", "prompt": "go",
            }  # fmt: skip
            begun = time.perf_counter()
            box.run(emit, "--event", name, env=env, input=orjson.dumps(payload))
            wanted = "⚠ 1 stuck" if name == "Stop" else ""
            while tmux.option("@trailboss_status") != wanted:
                if time.perf_counter() - begun > 10:
                    raise SystemExit(f"{name}: the status never became {wanted!r}")
            late.append((time.perf_counter() - begun) * 1000 - hold)
            time.sleep(0.6)  # the publisher writes at most twice a second
    print(
        f"hook to status     {statistics.median(late):7.1f} ms median, {max(late):.1f} ms worst,"
        " beyond the hold-off"
    )


def sweep(box: Sandbox, broker: BrokerProcess) -> None:
    projects = box.home / ".claude" / "projects" / "-bench"
    projects.mkdir(parents=True)
    paths = []
    for n in range(1000):
        session = str(uuid.uuid4())
        path = projects / f"{session}.jsonl"
        path.write_bytes(line("user", "go", session) * 20)
        paths.append((session, path))
        broker.event("registered", session, transcript_path=str(path), cwd="/bench")
        if n % 200 == 0:
            time.sleep(0.1)
    while broker.call("status")["sessions"] < 1000:
        time.sleep(0.1)
    broker.call("reconcile.run")
    assert broker.process is not None
    cost, slowest, usual = [], [], []
    for _ in range(5):
        for session, path in paths[:50]:
            with path.open("ab") as file:
                file.write(line("assistant", "done", session))
        answers: list[float] = []
        stop = threading.Event()
        asker = threading.Thread(target=ask, args=(broker, answers, stop))
        asker.start()
        before = cpu(broker.process.pid)
        broker.call("reconcile.run")
        cost.append(cpu(broker.process.pid) - before)
        stop.set()
        asker.join()
        slowest.append(max(answers))
        usual.append(statistics.median(answers))
    print(
        f"sweep of 1,000     {statistics.median(cost):7.1f} ms of processor, answers meanwhile: "
        f"{statistics.median(usual):.1f} ms median, {max(slowest):.1f} ms slowest"
    )


def ask(broker: BrokerProcess, answers: list[float], stop: threading.Event) -> None:
    from trailboss.client import Client

    with Client(broker.sandbox.runtime, timeout_ms=10_000) as client:
        while not stop.is_set():
            begun = time.perf_counter()
            client.call("ping")
            answers.append((time.perf_counter() - begun) * 1000)
            time.sleep(0.002)


def line(kind: str, text: str, session: str) -> bytes:
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    message = {"role": kind, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    entry = {"type": kind, "timestamp": now, "sessionId": session, "cwd": "/b", "message": message}
    return orjson.dumps(entry) + b"\n"


def cpu(pid: int) -> float:
    """Processor time of a process so far, ms (to the clock tick)."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def main() -> None:
    box = Sandbox()
    tmux = TmuxServer(box)
    box.env["TRAILBOSS_TMUX_SOCKETS"] = str(tmux.socket)
    pane = tmux.new_session("bench", "cat")
    broker = BrokerProcess(box, TRAILBOSS_RECONCILE_SWEEP_S="3600").start()
    try:
        queue_json(box)
        effect(box, broker, tmux, pane)
        sweep(box, broker)
    finally:
        broker.close()
        tmux.close()
        box.close()


if __name__ == "__main__":
    main()
