"""What a hook costs, beside `sh -c :` in the same run. `python -m tests.bench.bench_hook [RUNS]`.

The runs of all variants are interleaved, and medians compared: times drift, ratios hold. Each
process is started from a small one by posix_spawn and fed 2 kB on a pipe, so nearly all of a
figure is the hook's own; the ratios by `subprocess.run`, which adds the same to both sides, are
in the last column. The hooks run below a real tmux server, as an agent's do, for the ancestors.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.harness.sandbox import REPO, Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from trailboss.emit import marks

EMIT = str(REPO / "bin" / "trailboss-emit")
BODY = json.dumps({"session_id": "s", "hook_event_name": "Stop", "cwd": "/x", "m": "x" * 1930})
#: name: (command, target ratio or None).
VARIANTS: dict[str, tuple[list[str], float | None]] = {
    "sh -c :": (["/bin/sh", "-c", ":"], None),
    "sh -c 'cat >/dev/null; :'": (["/bin/sh", "-c", "cat >/dev/null; :"], None),
    "front, worker resident": ([EMIT, "--event", "Stop"], 3.0),
    "front, JSON as argument": ([EMIT, "--event", "Stop", BODY], None),
    "front, starting a worker": ([EMIT, "--event", "Stop"], None),
    "early exit, worker resident": ([EMIT, "--event", "PostToolUse"], 2.0),
    "early exit, no worker": ([EMIT, "--event", "PostToolUse"], None),
}


def spawn_time(argv: list[str], env: dict[str, str]) -> float:
    """ms from the start of a process to its end, 2 kB written to it."""
    reader, writer = os.pipe()
    begun = time.perf_counter()
    pid = os.posix_spawn(
        argv[0],
        argv,
        env,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, reader, 0),
            (os.POSIX_SPAWN_CLOSE, reader),
            (os.POSIX_SPAWN_CLOSE, writer),
        ],
    )
    os.close(reader)
    try:
        os.write(writer, BODY.encode())
    except BrokenPipeError:
        pass
    os.close(writer)
    os.waitpid(pid, 0)
    return (time.perf_counter() - begun) * 1000


def run_time(argv: list[str], env: dict[str, str]) -> float:
    """The same by subprocess.run with captured output, as most harnesses do it."""
    begun = time.perf_counter()
    subprocess.run(argv, input=BODY.encode(), env=env, capture_output=True, check=True)
    return (time.perf_counter() - begun) * 1000


class Places:
    """A state dir with a resident worker, and one in which each front finds none.

    Where a start is measured, the front is a copy beside an interpreter that ends at once: its
    start is what the hook pays, and a crowd of real ones would disturb the other variants.
    """

    def __init__(self, root: Path) -> None:
        self.base = {"PATH": "/usr/bin:/bin", "HOME": str(root), "CLAUDE_CODE_SESSION_ID": "s-1"}
        self.warm = {**self.base, "TRAILBOSS_STATE_DIR": str(root / "warm")}
        self.cold = {**self.base, "TRAILBOSS_STATE_DIR": str(root / "cold")}
        for env in (self.warm, self.cold):
            env["TRAILBOSS_RUNTIME_DIR"] = str(root / "none")
            marks.put(Path(env["TRAILBOSS_STATE_DIR"]), "another")
        beside = root / "bin"
        beside.mkdir()
        shutil.copy(EMIT, beside)
        (beside / "python").symlink_to("/bin/true")
        self.copy = str(beside / "trailboss-emit")
        subprocess.run([EMIT, "--event", "Stop", BODY], env=self.warm, check=True)
        until((root / "warm" / "emit.pid").exists, what="the worker is resident")

    def of(self, name: str) -> dict[str, str]:
        return self.cold if name.endswith(("starting a worker", "no worker")) else self.warm

    def tidy(self) -> None:
        """Forget what the last round left: entries, and the claim of a started worker."""
        for env in (self.warm, self.cold):
            state = Path(env["TRAILBOSS_STATE_DIR"])
            for file in state.glob("journal/*"):
                file.unlink(missing_ok=True)
            (state / "emit.starting").unlink(missing_ok=True)


def measure(root: Path, runs: int) -> None:
    """Print the table."""
    places = Places(root)
    columns: list[tuple[str, Callable[[list[str], dict[str, str]], float]]] = [
        ("posix_spawn", spawn_time),
        ("subprocess", run_time),
    ]
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(runs):
        for name, (argv, _target) in VARIANTS.items():
            env = places.of(name)
            if env is places.cold:
                argv = [places.copy, *argv[1:]]
            for column, clock in columns:
                times.setdefault((name, column), []).append(clock(argv, env))
                places.tidy()
    print(f"{'':30}{'ms':>8}{'ratio':>8}{'target':>8}{'by subprocess':>16}")
    for name, (_argv, target) in VARIANTS.items():
        ms, by_run = (median(times[name, column]) for column, _ in columns)
        ratio, run_ratio = (
            median(times[name, column]) / median(times["sh -c :", column]) for column, _ in columns
        )
        wanted = f"≤ {target:.1f}" if target else ""
        print(f"{name:30}{ms:8.2f}{ratio:8.2f}{wanted:>8}{by_run:8.2f}{run_ratio:8.2f}")


def main() -> None:
    """Run the bench inside a pane of a private tmux server, and print what it printed."""
    runs = sys.argv[1] if len(sys.argv) > 1 else "200"
    sandbox = Sandbox()
    tmux = TmuxServer(sandbox)
    try:
        out, done = sandbox.root / "out", sandbox.root / "done"
        inner = f"{sys.executable} -m tests.bench.bench_hook --inside {sandbox.root} {runs}"
        tmux.new_session("bench", f"cd {REPO} && {inner} >{out} 2>&1; touch {done}; sleep 60")
        until(done.exists, seconds=600, what="the bench ends")
        print(out.read_text(), end="")
    finally:
        tmux.close()
        sandbox.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        measure(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
