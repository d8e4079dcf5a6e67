"""`snooze`, `reconcile`, `api`: what changes the queue, or asks the broker directly."""

from __future__ import annotations

import argparse
import re
import sys

import orjson

from trailboss import wire
from trailboss.cli import DONE, NOTHING, USAGE
from trailboss.client import Client

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def run(verb: str, argv: list[str]) -> int:
    return {"snooze": _snooze, "reconcile": _reconcile, "api": _api}[verb](argv)


def seconds(text: str) -> int:
    """`90`, `90s`, `10m`, `1h30m`, `2d` as seconds. Raises ValueError."""
    if text.isdigit():
        return int(text)
    if not re.fullmatch(r"(?:\d+[smhd])+", text):
        raise ValueError(text)
    return sum(int(n) * _UNITS[u] for n, u in re.findall(r"(\d+)([smhd])", text))


def _snooze(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="trailboss snooze", description="Hide an item for a while; 0 wakes it."
    )
    parser.add_argument("id", metavar="ID", help="a session id, a prefix of one, or a pane (%%17)")
    parser.add_argument("how_long", metavar="TIME", help="90s, 10m, 1h30m, 2d; 0 wakes it")
    parser.add_argument("--json", action="store_true", help="the item as JSON")
    options = parser.parse_args(argv)
    try:
        for_s = seconds(options.how_long)
    except ValueError:
        parser.error(f"{options.how_long!r} is no time: 90s, 10m, 1h30m, 2d")
    with Client() as client:
        found = client.call("queue.snooze", session_id=options.id, for_s=for_s)
    if options.json:
        sys.stdout.buffer.write(orjson.dumps(found) + b"\n")
    else:
        print(f"snoozed for {options.how_long}" if for_s else "awake")
    return DONE


def _reconcile(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="trailboss reconcile", description="Look at every source once, now."
    )
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    options = parser.parse_args(argv)
    with Client() as client:
        client.call("ping")  # a sweep may take long; that nobody is there is told at once
    with Client(timeout_ms=15_000) as client:
        found = client.call("reconcile.run")
    if options.json:
        sys.stdout.buffer.write(orjson.dumps(found) + b"\n")
    else:
        print(
            f"{found['checked']} sessions checked, {found['enqueued']} came in, "
            f"{found['dequeued']} left"
        )
    return DONE


def _api(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="trailboss api", description="One raw request to the broker; its result as JSON."
    )
    parser.add_argument("op", metavar="OP", help="queue.list, session.get, …")
    parser.add_argument("args", metavar="JSON", nargs="?", default="{}", help="its arguments")
    options = parser.parse_args(argv)
    try:
        args = orjson.loads(options.args)
    except orjson.JSONDecodeError as error:
        print(f"trailboss: the arguments are not JSON: {error}", file=sys.stderr)
        return USAGE
    with Client() as client:
        reply = orjson.loads(
            client.call_raw(orjson.dumps({"v": wire.VERSION, "op": options.op, "args": args}))
        )
    shown = reply["result"] if reply.get("ok") else reply.get("error")
    sys.stdout.buffer.write(orjson.dumps(shown, option=orjson.OPT_INDENT_2) + b"\n")
    return DONE if reply.get("ok") else NOTHING
