"""Running tmux: one class, argument lists only, and nothing waits longer than its timeout."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterable

#: What tmux's client says when nobody serves the socket (dead, never started, refused).
_NO_SERVER = re.compile(
    r"no server running on|error connecting to|lost server|server exited", re.IGNORECASE
)


class TmuxError(Exception):
    """tmux refused a command; the text is what it said."""


class NoServer(TmuxError):
    """No tmux server answers on that socket."""


class TmuxTimeout(TmuxError):
    """tmux did not end in time and was killed (case B110)."""


class Server:
    """One tmux server, named by its socket path. Holds no connection and no state."""

    def __init__(self, socket: str) -> None:
        self.socket = socket

    def __repr__(self) -> str:
        return f"Server({self.socket!r})"

    def run(self, *args: str, timeout: float = 2.0, stdin: bytes | None = None) -> str:
        """Run one tmux command; what it printed, without the last newline.

        Raises NoServer, TmuxTimeout (seconds), or TmuxError with tmux's own words.
        """
        code, out, err = self._call(args, timeout, stdin)
        if code:
            raise self._error(err or out or f"tmux {args[0]} ended with {code}")
        return out

    def source(self, lines: Iterable[str], timeout: float = 5.0) -> list[str]:
        """Feed command lines as one batch; what tmux said about those it refused.

        A refused line does not stop the ones after it, but a line that does not parse spoils
        the batch: put every argument through `quote`. One command line of tmux's own is limited
        to some 16 kB, a batch is not. Raises NoServer and TmuxTimeout.
        """
        code, out, err = self._feed(lines, timeout)
        said = [line for line in (err or out).splitlines() if line]
        if not code:
            return []
        failure = self._error("\n".join(said) or f"tmux source-file ended with {code}")
        if isinstance(failure, NoServer):
            raise failure
        return said or [str(failure)]

    def read(self, lines: Iterable[str], timeout: float = 5.0) -> str:
        """The same, for what the commands print; refused lines print nothing.

        Raises NoServer and TmuxTimeout.
        """
        code, out, err = self._feed(lines, timeout)
        if code and isinstance(failure := self._error(err), NoServer):
            raise failure
        return out

    def _feed(self, lines: Iterable[str], timeout: float) -> tuple[int, str, str]:
        batch = "".join(f"{line}\n" for line in lines)
        if not batch:
            return 0, "", ""
        return self._call(("source-file", "-"), timeout, batch.encode("utf-8", "replace"))

    def _call(
        self, args: tuple[str, ...], timeout: float, stdin: bytes | None
    ) -> tuple[int, str, str]:
        # -u: without a UTF-8 locale tmux prints every tab and non-ASCII character as `_` (B41).
        argv = ["tmux", "-u", "-S", self.socket, *args]
        # A group of its own, so that a wrapper called tmux is killed with its children: one of
        # them would keep our pipe open.
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,
            )
        except OSError as error:
            raise TmuxError(f"tmux cannot be run: {error.strerror}") from None
        try:
            out, err = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise TmuxTimeout(f"tmux {args[0]} took longer than {timeout:g} s") from None
        except BaseException:
            _kill(process)
            raise
        text = out.decode("utf-8", "replace")
        return (
            process.returncode,
            text[:-1] if text.endswith("\n") else text,
            err.decode("utf-8", "replace").strip(),
        )

    def _error(self, said: str) -> TmuxError:
        return NoServer(said) if _NO_SERVER.search(said) else TmuxError(said)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


_LINE_BREAKS = str.maketrans({"\n": "\\n", "\r": "\\r"})
_DOUBLE = str.maketrans({c: f"\\{c}" for c in '"$\\~'})


def quote(text: str) -> str:
    """The text as one word of tmux's command language, whatever it holds.

    Only quoting: formats in it stay formats (`#` is not touched). NUL cannot be said and goes.
    """
    text = text.replace("\x00", "")
    if "'" not in text and not ("\n" in text or "\r" in text):
        return f"'{text}'"
    # Line breaks are escaped: after one inside quotes tmux drops blanks and comments.
    return '"' + text.translate(_DOUBLE).translate(_LINE_BREAKS) + '"'
