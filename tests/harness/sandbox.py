"""A home of its own for each test: directories, environment, processes that end with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


class Sandbox:
    """Short private directories, and the environment that makes Trail Boss live in them.

    `env` holds PATH, HOME, the TRAILBOSS_* directories and a UTF-8 locale, and nothing that the
    surrounding session (tmux, an agent) would leak into what is under test.
    """

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="tb-", dir="/tmp"))
        self.home = self.root / "home"
        self.home.mkdir()
        self.runtime = self.root / "run"
        self.state = self.root / "state"
        self.tmux_tmp = self.root / "tmux"
        self.tmux_tmp.mkdir(mode=0o700)
        python = Path(sys.executable).parent
        self.env: dict[str, str] = {
            "PATH": f"{python}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
            "TMUX_TMPDIR": str(self.tmux_tmp),
            "TRAILBOSS_RUNTIME_DIR": str(self.runtime),
            "TRAILBOSS_STATE_DIR": str(self.state),
            "TRAILBOSS_CONFIG": str(self.root / "config.toml"),
            "PYTHONPATH": str(REPO),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._processes: list[subprocess.Popen[bytes]] = []

    def spawn(
        self, *argv: str, env: dict[str, str] | None = None, **more: object
    ) -> subprocess.Popen[bytes]:
        """Start a process that the sandbox ends."""
        process = subprocess.Popen(  # type: ignore[call-overload]
            argv, env={**self.env, **(env or {})}, cwd=more.pop("cwd", REPO), **more
        )
        self._processes.append(process)
        return process

    def run(
        self,
        *argv: str,
        env: dict[str, str] | None = None,
        timeout: float = 30,
        input: bytes | None = None,
        cwd: Path = REPO,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a process to its end, its output captured."""
        return subprocess.run(
            argv,
            env={**self.env, **(env or {})},
            cwd=cwd,
            timeout=timeout,
            input=input,
            capture_output=True,
            stdin=subprocess.DEVNULL if input is None else None,
        )

    def trailboss(self, *argv: str, **more: object) -> subprocess.CompletedProcess[bytes]:
        """Run `trailboss VERB …` from the source tree."""
        return self.run(sys.executable, "-m", "trailboss", *argv, **more)  # type: ignore[arg-type]

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self._processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)
        self._end_workers()
        shutil.rmtree(self.root, ignore_errors=True)

    def _end_workers(self) -> None:
        """End what daemonised itself (emit workers): found by our directory in its environment."""
        needle = f"TRAILBOSS_STATE_DIR={self.state}".encode()
        for entry in Path("/proc").glob("[0-9]*/environ"):
            try:
                if needle in entry.read_bytes() and int(entry.parent.name) != os.getpid():
                    os.kill(int(entry.parent.name), signal.SIGKILL)
            except (OSError, ValueError):
                continue
