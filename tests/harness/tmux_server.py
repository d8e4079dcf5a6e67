"""A private tmux server, and real clients attached to it on ptys."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading

import pyte

from tests.harness.sandbox import Sandbox
from tests.harness.wait import until


class TmuxServer:
    """`tmux -S <socket> -f /dev/null` with the sandbox's environment; ended by its own socket."""

    def __init__(self, sandbox: Sandbox, name: str = "main") -> None:
        self.sandbox = sandbox
        directory = sandbox.tmux_tmp / f"tmux-{os.getuid()}"
        directory.mkdir(mode=0o700, exist_ok=True)
        self.socket = directory / name
        self.clients: list[PtyClient] = []

    def tmux(self, *args: str, check: bool = True, env: dict[str, str] | None = None) -> str:
        """Run one tmux command; its output without the last newline."""
        done = subprocess.run(
            ["tmux", "-u", "-S", str(self.socket), "-f", "/dev/null", *args],
            env={**self.sandbox.env, **(env or {})},
            capture_output=True,
            timeout=20,
            cwd=self.sandbox.home,
        )
        if check and done.returncode:
            raise AssertionError(f"tmux {args}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="replace").rstrip("\n")

    def new_session(self, name: str, *command: str, size: tuple[int, int] = (100, 30)) -> str:
        """A detached session; the id of its pane."""
        pane = self.tmux(
            "new-session",
            "-d",
            "-P",
            "-F",
            "#{pane_id}",
            "-s",
            name,
            "-x",
            str(size[0]),
            "-y",
            str(size[1]),
            *command,
        )
        # On a busy machine tmux's client now and then ends before what -P printed has come.
        return pane or self.tmux("list-panes", "-t", f"={name}:", "-F", "#{pane_id}")

    def new_window(self, session: str, *command: str) -> str:
        """A window behind the current one; the id of its pane."""
        return self.tmux(
            "new-window", "-d", "-P", "-F", "#{pane_id}", "-t", f"={session}:", *command
        )

    def show(self, fmt: str, target: str | None = None) -> str:
        """One format, expanded."""
        where = ["-t", target] if target else []
        return self.tmux("display-message", "-p", *where, fmt)

    def option(self, name: str, pane: str | None = None) -> str:
        """A user option, global or of a pane; empty when unset."""
        where = ["-pqv", "-t", pane] if pane else ["-gqv"]
        return self.tmux("show-options", *where, name, check=False)

    def screen(self, pane: str) -> str:
        return self.tmux("capture-pane", "-p", "-t", pane)

    @property
    def pid(self) -> int:
        return int(self.show("#{pid}"))

    def attach(self, session: str, size: tuple[int, int] = (100, 30)) -> PtyClient:
        """A real client on a pty."""
        client = PtyClient(self, session, size)
        self.clients.append(client)
        return client

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.tmux("kill-server", check=False)


class PtyClient:
    """`tmux attach` on a pty of its own, its screen kept by a terminal emulator."""

    def __init__(self, server: TmuxServer, session: str, size: tuple[int, int]) -> None:
        self.server = server
        self.size = size
        self.emulator = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.emulator)
        self._lock = threading.Lock()
        self.bytes_seen = 0
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(server.sandbox.home)
            os.execvpe(
                "tmux",
                ["tmux", "-u", "-S", str(server.socket), "attach", "-t", f"={session}"],
                server.sandbox.env,
            )
        self.pid = pid
        self.resize(*size)
        threading.Thread(target=self._drain, daemon=True).start()
        self.name = until(self._find_name, what="the client is attached")

    def _find_name(self) -> str:
        rows = self.server.tmux("list-clients", "-F", "#{client_pid} #{client_name}", check=False)
        for row in rows.splitlines():
            pid, _, name = row.partition(" ")
            if pid == str(self.pid):
                return name
        return ""

    def _drain(self) -> None:
        while True:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return
            if not data:
                return
            with self._lock:
                self.bytes_seen += len(data)
                self._stream.feed(data)

    def resize(self, columns: int, rows: int) -> None:
        self.size = (columns, rows)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        with self._lock:
            self.emulator.resize(rows, columns)
        os.kill(self.pid, signal.SIGWINCH)

    def type(self, keys: str | bytes) -> None:
        """Type on the terminal, as a person would: \\x02 is the prefix."""
        os.write(self.fd, keys.encode() if isinstance(keys, str) else keys)

    def text(self) -> str:
        """What the person sees."""
        with self._lock:
            return "\n".join(line.rstrip() for line in self.emulator.display)

    def pane(self) -> str:
        """The pane this client shows: its current session's current window's active pane."""
        rows = self.server.tmux(
            "list-clients", "-F", "#{client_pid} #{session_id} #{window_id} #{pane_id}"
        )
        for row in rows.splitlines():
            pid, _session, _window, pane = row.split()
            if pid == str(self.pid):
                return pane
        return ""

    def session(self) -> str:
        rows = self.server.tmux("list-clients", "-F", "#{client_pid} #{session_name}")
        for row in rows.splitlines():
            pid, _, session = row.partition(" ")
            if pid == str(self.pid):
                return session
        return ""

    def close(self) -> None:
        try:
            os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        try:
            os.close(self.fd)
        except OSError:
            pass
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass
