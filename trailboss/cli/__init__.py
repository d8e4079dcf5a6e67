"""`trailboss VERB`: one table of verbs, each in its family's module, imported only when asked.

A family's module has `run(verb, argv) -> exit code` and parses its own arguments.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

#: Exit codes (contract, section 5).
DONE, NOTHING, USAGE, UNREACHABLE = 0, 1, 2, 3

#: verb: (module in trailboss.cli, one line of help). The order is that of the help.
VERBS: dict[str, tuple[str, str]] = {
    "start": ("start", "bring everything up and go to the dashboard"),
    "stop": ("service", "stop the broker; the queue is kept"),
    "broker": ("service", "run the broker in the foreground"),
    "status": ("show", "is the broker there, and how long is the queue"),
    "queue": ("show", "the stuck sessions, oldest first"),
    "sessions": ("show", "every known session, stuck or not"),
    "explain": ("show", "why a session is, or is not, in the queue"),
    "why": ("show", "why a pane is not in the queue"),
    "next": ("navigate", "go to the session that has waited longest"),
    "jump-next": ("navigate", "the same as next"),
    "jump": ("navigate", "go to a session"),
    "skip": ("navigate", "skip the head of the queue and go to the new one"),
    "return": ("navigate", "go to the dashboard"),
    "back": ("navigate", "go back to where you were before the first jump"),
    "snooze": ("queue", "hide an item for a while"),
    "popup": ("screens", "the picker, inside tmux's display-popup"),
    "dashboard": ("screens", "the queue in a window of its own"),
    "preview": ("screens", "a live picture of the pane under the cursor"),
    "reconcile": ("queue", "look at every source once, now"),
    "install": ("install", "wire hooks (claude) and keys (tmux)"),
    "uninstall": ("install", "take the wiring out again"),
    "api": ("queue", "one raw request to the broker"),
}


def main(argv: list[str] | None = None) -> int:
    """Run one verb; the exit code."""
    args = sys.argv[1:] if argv is None else argv
    if not args or args[0] in ("-h", "--help", "help"):
        print(usage())
        return DONE
    if args[0] in ("-V", "--version"):
        from trailboss import __version__

        print(f"trailboss {__version__}")
        return DONE
    verb = args[0]
    if verb not in VERBS:
        print(f"trailboss: no verb {verb!r} (trailboss --help lists them)", file=sys.stderr)
        return USAGE
    try:
        return _run(verb, args[1:])
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has seen enough; the interpreter must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def _run(verb: str, argv: list[str]) -> int:
    from trailboss.client import Unreachable
    from trailboss.paths import PathTooLong, UnsafeDirectory
    from trailboss.wire import ApiError

    family = import_module(f"trailboss.cli.{VERBS[verb][0]}")
    try:
        code: int = family.run(verb, argv)
        return code
    except Unreachable as error:
        print(f"trailboss: {error}", file=sys.stderr)
        return UNREACHABLE
    except (PathTooLong, UnsafeDirectory) as error:
        print(f"trailboss: {error}", file=sys.stderr)
        return UNREACHABLE if isinstance(error, PathTooLong) else NOTHING
    except ApiError as error:
        print(f"trailboss: {error.message}", file=sys.stderr)
        return USAGE if error.code == "bad_request" else NOTHING


def usage() -> str:
    """The help of `trailboss` itself."""
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {text}" for verb, (_, text) in VERBS.items()]
    return "\n".join(
        [
            "usage: trailboss VERB [--help] …",
            "",
            "Which agents wait for me, oldest first.",
            "",
            *lines,
        ]
    )
