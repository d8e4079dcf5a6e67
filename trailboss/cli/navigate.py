"""The verbs that move a client: next, jump, skip, return, back."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

from trailboss import config as configuration
from trailboss.cli import DONE, NOTHING, USAGE
from trailboss.client import Client, Unreachable
from trailboss.tmux import follow, home, navigate
from trailboss.tmux.clients import Client as Terminal
from trailboss.tmux.clients import NoClient
from trailboss.tmux.discover import same
from trailboss.tmux.server import Server, TmuxError
from trailboss.wire import NOT_FOUND, UNKNOWN_OP, ApiError

_HELP = {
    "next": "Go to the session that has waited longest; from a queued pane, to the one after it.",
    "jump": "Go to a session's pane.",
    "skip": "Skip the head of the queue and go to the new one.",
    "return": "Go to the dashboard's top pane.",
    "back": "Go back to where the client was before its first jump.",
}


def run(verb: str, argv: list[str]) -> int:
    """One verb; the exit code (contract, section 5). From a key: always 0, said in the client."""
    verb = "next" if verb == "jump-next" else verb
    try:
        args = _parser(verb).parse_args(argv)
    except SystemExit as stop:
        return USAGE if stop.code else DONE
    errand = Errand(args)
    try:
        errand.say(_VERBS[verb](errand))
        code = DONE
    except (follow.Refused, NoClient, navigate.StaleClient, TmuxError, ApiError) as reason:
        errand.say(str(reason), refused=True)
        code = NOTHING
    except Unreachable as reason:
        errand.tell(str(reason))
        if not args.from_key:
            raise
        code = NOTHING
    return DONE if args.from_key else code


class Errand:
    """What one call works on: its arguments, the config, the client to move once it is known."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.config = configuration.load()
        self._found: tuple[Server, Terminal] | None = None

    def call(self, op: str, **args: Any) -> dict[str, Any]:
        """One request. Raises ApiError and Unreachable."""
        with Client() as client:
            return client.call(op, **args)

    def items(self) -> list[dict[str, Any]]:
        """The queue in its order."""
        return list(self.call("queue.list")["items"])

    def client(self, items: list[dict[str, Any]] | None = None) -> tuple[Server, Terminal]:
        """The client to move. Raises NoClient."""
        if self._found is None:
            self._found = follow.find_client(
                dict(os.environ), self.config, self.args.client, items or []
            )
        return self._found

    def say(self, text: str, refused: bool = False) -> None:
        """A result (shown to the client already) or a refusal (shown now)."""
        if refused:
            self.tell(text)
        if text and not self.args.from_key:
            print(f"trailboss: {text}" if refused else text, file=_stream(refused))

    def tell(self, text: str) -> None:
        """Show a line in the client when nobody reads our output: pressed as a key."""
        named = bool(self.args.client or os.environ.get("TB_CLIENT"))
        if self.args.from_key or (named and not sys.stderr.isatty()):
            try:
                navigate.show(*self.client(), text)
            except NoClient:
                pass


def _next(errand: Errand) -> str:
    items = errand.items()
    if not any(item.get("ready") for item in items):
        raise follow.Refused(_nothing_ready(items))
    if errand.args.print:
        for item in items:
            if item.get("ready") and item.get("pane_id"):
                return str(item["pane_id"])
        raise follow.Refused("no ready session has a known pane")
    server, client = _client_or_place(errand, items)
    return follow.follow_next(server, client, items, errand.config)


def _skip(errand: Errand) -> str:
    items = errand.items()
    server, client = _client_or_nobody(errand, items)
    skipped = errand.call("queue.skip").get("skipped")
    if skipped is None:
        raise follow.Refused("nothing to skip: " + _nothing_ready(items))
    said = f"skipped {follow.title(_item(skipped, items))}"
    ready = [item for item in errand.items() if item.get("ready")]
    if not ready:
        errand.tell(f"{said}; nothing else is ready")
        return f"{said}; nothing else is ready"
    if server is None or client is None:
        return f"{said}; next is {follow.title(ready[0])}"
    try:
        return f"{said}; {follow.follow_head(server, client, ready, errand.config)}"
    except follow.Refused as reason:
        errand.tell(f"{said}; {reason}")
        return f"{said}; {reason}"


def _jump(errand: Errand) -> str:
    items = errand.items()
    wanted: str = errand.args.id
    matches = _matching(items, wanted, errand)
    if not matches:
        try:
            sessions = errand.call("session.list")["sessions"]
        except ApiError as error:
            if error.code not in (UNKNOWN_OP, NOT_FOUND):
                raise
            sessions = []
        matches = _matching(sessions, wanted, errand)
    if not matches:
        raise follow.Refused(f"no session {wanted!r} is known")
    if len(matches) > 1:
        names = ", ".join(str(item["session_id"]) for item in matches[:5])
        raise follow.Refused(f"{wanted!r} could be any of {names}")
    item = matches[0]
    server, client = _client_or_place(errand, [item])
    left = sum(1 for other in items if other.get("ready") and not _same(other, item))
    if item.get("reason") is None:
        item = {**item, "reason": item.get("state") or "not in the queue"}
    return follow.follow_item(server, client, item, left, errand.config)


def _matching(items: list[dict[str, Any]], wanted: str, errand: Errand) -> list[dict[str, Any]]:
    if wanted.startswith("%"):
        found = [item for item in items if item.get("pane_id") == wanted]
        if len(found) > 1:
            # Ids repeat on other servers: the one on the client's own is meant.
            server, _ = errand.client(items)
            found = [i for i in found if same(i.get("tmux_socket"), server.socket)] or found
        return found
    exact = [item for item in items if item["session_id"] == wanted]
    if exact or len(wanted) < 4:
        return exact
    return [item for item in items if item["session_id"].startswith(wanted)]


def _return(errand: Errand) -> str:
    server, client = errand.client()
    top = home.home_panes(server).get(home.DASHBOARD)
    if top is None:
        raise follow.Refused("there is no dashboard here (trailboss start makes it)")
    try:
        navigate.go(server, client, top.pane_id)
    except navigate.StalePane:
        raise follow.Refused("the dashboard was just closed (trailboss start makes it)") from None
    return ""


def _back(errand: Errand) -> str:
    server, client = errand.client()
    try:
        navigate.back(server, client)
    except (navigate.NothingToGoBack, navigate.StalePane) as reason:
        raise follow.Refused(str(reason)) from None
    return ""


_VERBS: dict[str, Callable[[Errand], str]] = {
    "next": _next,
    "jump": _jump,
    "skip": _skip,
    "return": _return,
    "back": _back,
}


def _client_or_place(errand: Errand, items: list[dict[str, Any]]) -> tuple[Server, Terminal]:
    """The client to move; with nobody attached the refusal names the place to attach to."""
    try:
        return errand.client(items)
    except NoClient as reason:
        first = next((i for i in items if i.get("ready") or len(items) == 1), None)
        if reason.candidates or first is None:
            raise
        where = first.get("target") or first.get("pane_id")
        socket = first.get("tmux_socket")
        hint = f"; {follow.title(first)} waits in {where}" if where else ""
        hint += f" (tmux -S {socket} attach)" if where and socket else ""
        raise NoClient(f"{reason}{hint}") from None


def _client_or_nobody(
    errand: Errand, items: list[dict[str, Any]]
) -> tuple[Server, Terminal] | tuple[None, None]:
    """The client to move, or nobody when none is attached. Raises NoClient when it is unclear."""
    try:
        return errand.client(items)
    except NoClient as reason:
        if reason.candidates or errand.args.client:
            raise
        return None, None


def _nothing_ready(items: list[dict[str, Any]]) -> str:
    return "nothing is ready" + (f" ({len(items)} cooling or snoozed)" if items else "")


def _item(skipped: Any, items: list[dict[str, Any]]) -> dict[str, Any]:
    """What was skipped as an item, also when the broker names it by its session id only."""
    if isinstance(skipped, dict):
        return skipped
    for item in items:
        if item["session_id"] == skipped:
            return item
    return {"session_id": str(skipped)}


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one["session_id"] == other["session_id"])


def _stream(refused: bool) -> Any:
    return sys.stderr if refused else sys.stdout


def _parser(verb: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(f"trailboss {verb}", description=_HELP[verb])
    parser.add_argument("--client", metavar="NAME", help="the tmux client to move")
    parser.add_argument("--from-key", action="store_true", help=argparse.SUPPRESS)
    if verb == "next":
        parser.add_argument(
            "--print", action="store_true", help="print the head's pane id and move nothing"
        )
    if verb == "jump":
        parser.add_argument(
            "id", metavar="ID", help="a session id, the start of one (4 or more), or a pane (%%17)"
        )
    return parser
