"""Makes this process look like `claude` to ps, to tmux and to whoever matches by name."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence

_PR_SET_NAME = 15


def become(argv: Sequence[str]) -> bool:
    """Show `argv` as this process's command line and its first word as its name.

    tmux takes `pane_current_command` from the command line, other tools the name of the main
    thread. Linux only; elsewhere, and when the words do not fit, nothing happens. Returns whether
    the command line was changed.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NAME, ctypes.c_char_p(argv[0].encode()[:15]), 0, 0, 0)
    try:
        with open("/proc/self/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
        start, end = int(fields[45]), int(fields[46])
    except (OSError, ValueError, IndexError):
        return False
    words = b"\0".join(word.encode("utf-8", "surrogateescape") for word in argv) + b"\0"
    if not 0 < start < end or len(words) > end - start:
        return False
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, words, len(words))
    return True
