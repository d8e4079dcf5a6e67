"""Runs that ask nobody, told by their own command line.

An entry point in the environment tells most of them (the adapter drops those); a wrapper may have
scrubbed it, so the first event of a session that nobody knows is checked against its process.
"""

from __future__ import annotations

from trailboss.broker import processes
from trailboss.events import Event

#: Options, per harness, that make a run headless.
OPTIONS = {"claude": frozenset({"-p", "--print"})}


def is_headless(event: Event) -> bool:
    """Whether the process that the event names was started to ask nobody."""
    options = OPTIONS.get(event.harness)
    if options is None or event.pid is None:
        return False
    return bool(options & set(processes.command_line(event.pid)[1:]))
