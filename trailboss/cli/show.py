"""`status`, `queue`, `sessions`, `explain`, `why`: what the broker knows, printed."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import orjson

from trailboss.cli import DONE
from trailboss.client import Client
from trailboss.text import clean, clip, duration, width


def run(verb: str, argv: list[str]) -> int:
    return {
        "status": _status,
        "queue": _queue,
        "sessions": _sessions,
        "explain": _explain,
        "why": _why,
    }[verb](argv)


def _parser(verb: str, text: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"trailboss {verb}", description=text)
    parser.add_argument("--json", action="store_true", help="the broker's answer as JSON")
    return parser


def _json(value: Any) -> int:
    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")
    sys.stdout.buffer.flush()
    return DONE


def _write(*lines: str) -> None:
    """Print in whatever locale there is: what it has no sign for is replaced."""
    for line in lines:
        sys.stdout.buffer.write(line.encode(sys.stdout.encoding or "utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def _status(argv: list[str]) -> int:
    parser = _parser("status", "Is the broker there, and how long is the queue?")
    parser.add_argument(
        "--line", action="store_true", help="the status line's text, empty when nothing is ready"
    )
    options = parser.parse_args(argv)
    with Client() as client:
        found = client.call("status")
        who = client.call("ping")
    if options.json:
        return _json({**found, **who})
    if options.line:
        from trailboss.tmux.options import status_text

        _write(status_text(found["ready"]))
        return DONE
    last = found["last_reconcile"]
    swept = f"{duration(int(time.time() * 1000) - last)} ago" if last else "not yet"
    events = found["events"]
    _write(
        f"broker {who['version']} (pid {who['pid']}), up {duration(found['uptime_ms'])}",
        f"{found['ready']} ready, {found['depth']} in the queue, {found['sessions']} sessions",
        f"last sweep {swept}; {events['received']} events, {events['rejected']} set aside, "
        f"{events['replayed']} from the journal",
        *(f"! {clean(alert)}" for alert in found["alerts"]),
    )
    return DONE


def _queue(argv: list[str]) -> int:
    options = _parser("queue", "The stuck sessions, oldest first.").parse_args(argv)
    with Client() as client:
        found = client.call("queue.list")
    if options.json:
        return _json(found)
    if not found["items"]:
        _write("nobody waits for you")
        return DONE
    _write(*table(found["items"]))
    return DONE


def _sessions(argv: list[str]) -> int:
    options = _parser("sessions", "Every known session, stuck or not.").parse_args(argv)
    with Client() as client:
        found = client.call("session.list")
    if options.json:
        return _json(found)
    rows = [
        (s["state"], s["reason"] or "", name_of(s), place_of(s), s["session_id"])
        for s in found["sessions"]
    ]
    _write(*_columns(rows)) if rows else _write("no session is known yet")
    return DONE


def table(items: list[dict[str, Any]]) -> list[str]:
    """One line an item: place, reason, how long, who, where, the message's beginning."""
    rows = []
    for item in items:
        standing = str(item["position"]) if item["ready"] else "z" if item["snoozed_until"] else "~"
        rows.append(
            (
                standing,
                item["reason"],
                duration(item["stuck_ms"]),
                clip(name_of(item), 28),
                place_of(item),
                clip(clean(item["message"], 300), 60),
            )
        )
    return _columns(rows)


def name_of(item: dict[str, Any]) -> str:
    """What a person calls the session: its title, else the end of its directory, else its id."""
    if item["title"]:
        return clean(item["title"], 80)
    if item["cwd"]:
        return clean("/".join(item["cwd"].rstrip("/").split("/")[-2:]), 80)
    return clean(item["session_id"], 12)


def place_of(item: dict[str, Any]) -> str:
    """Where it is: `session:window.pane`, its pane id, or how else it is reached."""
    attach = (item.get("detail") or {}).get("attach")
    return clean(item["target"] or item["pane_id"] or attach or "unplaced", 60)


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _explain(argv: list[str]) -> int:
    parser = _parser("explain", "Why a session is, or is not, in the queue.")
    parser.add_argument("id", metavar="ID", help="a session id, a prefix of one, or a pane (%%17)")
    options = parser.parse_args(argv)
    with Client() as client:
        found = client.call("session.explain", session_id=options.id)
        session = client.call("session.get", session_id=options.id)
    if options.json:
        return _json(found)
    _write(*told(session, found))
    return DONE


def told(session: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """The explanation in lines."""
    verdict = "in the queue" if found["stuck"] else f"not in the queue ({session['state']})"
    lines = [f"{name_of(session)} {place_of(session)}: {verdict}, because {found['rule']}"]
    for claim in found["evidence"]:
        at = time.strftime("%H:%M:%S", time.localtime(claim["at"] / 1000))
        lines.append(
            f"  {at}.{claim['at'] % 1000:03d}  {claim['source']:<10} {claim['says']:<6} "
            f"{clip(clean(claim['text'], 300), 80)}"
        )
    return lines


def _why(argv: list[str]) -> int:
    parser = _parser("why", "Why a pane is not in the queue.")
    parser.add_argument("pane", metavar="PANE", help="a pane id (%%17)")
    parser.add_argument("--socket", help="the tmux server's socket, where several have that pane")
    options = parser.parse_args(argv)
    more = {"tmux_socket": options.socket} if options.socket else {}
    with Client() as client:
        found = client.call("pane.why", pane_id=options.pane, **more)
    if options.json:
        return _json({"pane": options.pane, **found})
    _write(f"{clean(options.pane)}: {clean(found['why'])}")
    return DONE
