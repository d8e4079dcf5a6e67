"""The verbs that take a whole screen: popup, dashboard, preview.

prompt_toolkit is imported here and nowhere else, and only when one of them runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from trailboss.cli import NOTHING, VERBS

_TEXT = {
    "popup": (
        "The queue over whatever is running; Enter goes to a session and closes it. The key "
        "binding opens it in tmux's display-popup; it runs in any terminal."
    ),
    "dashboard": "The queue in a window of its own. Enter moves the client; the list stays.",
    "preview": "A read-only live picture of the pane that the head of the queue is in.",
}


def run(verb: str, argv: list[str]) -> int:
    """Run one of the screens until it is closed; the exit code."""
    args = _parser(verb).parse_args(argv)
    if not (os.isatty(0) and os.isatty(1)):
        print(
            f"trailboss {verb}: needs a terminal (trailboss queue prints the list)",
            file=sys.stderr,
        )
        return NOTHING
    if verb == "preview":
        from trailboss.ui.preview import Preview

        _end(Preview().run())
    from trailboss.ui.dashboard import Dashboard
    from trailboss.ui.jump import jumper
    from trailboss.ui.picker import Picker

    screen = (Picker if verb == "popup" else Dashboard)(jumper(args.client))
    code = screen.run()
    if screen.parting:
        print(screen.parting)
    _end(code)


def _end(code: int) -> NoReturn:
    """End the process here and now.

    Taking the interpreter down costs another 50 ms, in which a popup stands there empty and
    swallows what is typed. Nothing is left to tidy up: the terminal is back, nothing is stored.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _parser(verb: str) -> argparse.ArgumentParser:
    from trailboss.ui import keys

    known = [f"  {key.label:8} {key.help}" for key in keys.table(verb)]
    parser = argparse.ArgumentParser(
        prog=f"trailboss {verb}",
        description=f"{VERBS[verb][1].capitalize()}. {_TEXT[verb]}",
        epilog="\n".join(["keys:", *known]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if verb != "preview":
        parser.add_argument(
            "--client", metavar="NAME", help="the tmux client to move (default: the one here)"
        )
    return parser
