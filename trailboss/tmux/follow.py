"""From the queue's items to a moved client: the same for the verbs and for the picker.

Items are those of the API's `queue.list` (contract, section 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trailboss.config import Config
from trailboss.text import clean, clip
from trailboss.tmux.clients import Client, resolve
from trailboss.tmux.discover import same, sockets
from trailboss.tmux.navigate import StalePane, jump, landing_line
from trailboss.tmux.panes import Snapshot, snapshot
from trailboss.tmux.server import Server

Item = Mapping[str, Any]


class Refused(Exception):
    """The client stays where it is; the text says why, for people."""


def find_client(
    env: Mapping[str, str], config: Config, wanted: str | None, items: Iterable[Item] = ()
) -> tuple[Server, Client]:
    """`clients.resolve` over every server there is: the config's, the items', the directory's.

    Raises NoClient.
    """
    named = [item["tmux_socket"] for item in items if item.get("tmux_socket")]
    return resolve(env, wanted, sockets(env, config["tmux.sockets"], named))


def title(item: Item) -> str:
    """A short name of an item for a message: its title, its place, or its id."""
    return clip(clean(item.get("title") or item.get("target") or item["session_id"]), 40)


def obstacle(item: Item, server: Server, seen: Snapshot) -> str | None:
    """Why a client of this server cannot go to the item, in a few words; None when it can."""
    pane_id, socket = item.get("pane_id"), item.get("tmux_socket")
    if not pane_id:
        return f"{title(item)} has no known pane"
    if socket and not same(socket, server.socket):
        return f"{title(item)} is on another tmux server (tmux -S {clean(socket)} attach)"
    pane = seen.panes.get(pane_id)
    if pane is None:
        return f"the pane {clean(pane_id)} of {title(item)} is gone"
    if pane.dead:
        return f"the pane {clean(pane_id)} of {title(item)} is dead"
    return None


def follow_item(
    server: Server,
    client: Client,
    item: Item,
    left: int,
    config: Config,
    before: str = "",
    seen: Snapshot | None = None,
) -> str:
    """Jump to an item's pane; the landing line, which the client was shown if the config wants it.

    `left` counts the ready items besides this one; `before` is put behind the line. Raises
    Refused (elsewhere, no pane, gone) and StaleClient.
    """
    seen = seen or snapshot(server)
    if reason := obstacle(item, server, seen):
        raise Refused(reason)
    line = landing_line(
        str(item["reason"]), item.get("message") or "", item.get("stuck_ms") or 0, left, before
    )
    try:
        jump(server, client, item["pane_id"], line if config["ui.landing_line"] else "", seen)
    except StalePane:
        raise Refused(f"the pane {clean(item['pane_id'])} of {title(item)} is gone") from None
    return line


def follow_next(server: Server, client: Client, items: Sequence[Item], config: Config) -> str:
    """Jump to the ready item after the one the client is at, else to the head; the landing line.

    Raises Refused when no item can be gone to, StaleClient.
    """
    ready = [item for item in items if item.get("ready")]
    return follow_head(server, client, _from_here(ready, server, client), config)


def follow_head(server: Server, client: Client, ready: Sequence[Item], config: Config) -> str:
    """Jump to the first of these that can be gone to; the landing line.

    Those before it (elsewhere, no pane, gone) are named in the line. Raises Refused naming them
    all when there is no other, StaleClient.
    """
    seen = snapshot(server)
    reasons: list[str] = []
    for item in ready:
        before = "; ".join(reasons)
        try:
            return follow_item(server, client, item, len(ready) - 1, config, before, seen)
        except Refused as reason:
            reasons.append(str(reason))
    raise Refused("; ".join(reasons) or "nothing is ready")


def _from_here(ready: list[Item], server: Server, client: Client) -> list[Item]:
    """The ready items in the order in which Next takes them from where the client is."""
    for index, item in enumerate(ready):
        here = not item.get("tmux_socket") or same(item["tmux_socket"], server.socket)
        if item.get("pane_id") == client.pane_id and here:
            return ready[index + 1 :] + ready[: index + 1]
    return ready
