"""Moving one named client to one pane, telling it why it is there, and bringing it back.

What `back` needs is kept in the tmux server itself, in hidden global environment variables named
by the client's pid: no other client is redrawn for it (setting an option redraws them all), no
child process sees it, and the native key binding writes the same ones (`bindings.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from trailboss.events import pane_id_or_none
from trailboss.text import clean, clip, duration
from trailboss.tmux.clients import Client, clients
from trailboss.tmux.panes import Pane, Place, Snapshot, snapshot
from trailboss.tmux.server import Server, TmuxError, quote

#: Hidden variables of the server's global environment, each followed by a client's pid: where
#: the client was before its first jump (`$0:@1.%2`), and the pane we landed it on last.
BACK, LANDED = "TRAILBOSS_BACK_", "TRAILBOSS_LANDED_"
#: Stands before LANDED's value while the key's move is not known to have been made.
NOT_LANDED = "!"
#: ms that a line stays in a client; any key ends it.
MESSAGE_MS = 4000

_VARIABLE = re.compile(r"(TRAILBOSS_[A-Z0-9_]+)=(.*)")
_HASHES = re.compile(r"(#+)(\[?)")
_ORIGIN = re.compile(r"(\$[0-9]+):(@[0-9]+)\.(%[0-9]+)\Z")


class StalePane(Exception):
    """The pane to go to is not there any more; the text says so."""


class StaleClient(Exception):
    """The client to move is not attached any more; the text says so."""


class NothingToGoBack(Exception):
    """The client has made no jump to come back from."""


def go(server: Server, client: Client, pane_id: str, seen: Snapshot | None = None) -> None:
    """Move this client, and no other, to a pane.

    A window that is in several sessions is shown where the client is already, else in a session
    that nobody is attached to. (A pane whose only session another client is attached to as well
    is shown to both: tmux has one current window for a session.) A zoomed window stays zoomed,
    on this pane. Raises StalePane, StaleClient, and TmuxError for what else tmux refuses.
    """
    pane = _alive(seen or snapshot(server), pane_id)
    place = choose_place(pane, client, clients(server))
    try:
        server.run(*_move(client, pane_id, place))
    except TmuxError as error:
        raise _kind_of(error, client, pane_id) from None


def jump(
    server: Server, client: Client, pane_id: str, line: str = "", seen: Snapshot | None = None
) -> None:
    """`go`, remember where the client came from, and show it the line (empty: none).

    Raises what `go` raises; then nothing was remembered.
    """
    go(server, client, pane_id, seen)
    landed = remembered(server).get(f"{LANDED}{client.pid}", "").lstrip(NOT_LANDED)
    origin = f"{client.session_id}:{client.window_id}.{client.pane_id}"
    remember = [_remember(LANDED, client, pane_id)]
    if landed != client.pane_id:
        remember.insert(0, _remember(BACK, client, origin))
    server.source(remember)
    if line:
        show(server, client, line)


def back(server: Server, client: Client) -> None:
    """Move the client to where it was before its first jump, and forget that.

    Raises NothingToGoBack, StalePane, StaleClient.
    """
    origin = _ORIGIN.match(remembered(server).get(f"{BACK}{client.pid}", ""))
    if origin is None:
        raise NothingToGoBack("nothing to go back to: no jump was made in this client")
    session_id, _, pane_id = origin.groups()
    seen = snapshot(server)
    pane = seen.panes.get(pane_id)
    forget(server, client)
    if pane is None:
        raise StalePane(f"the pane you came from ({pane_id}) is gone")
    for place in pane.places:
        if place.session_id == session_id:
            try:
                server.run(*_move(client, pane_id, place))
            except TmuxError as error:
                raise _kind_of(error, client, pane_id) from None
            return
    go(server, client, pane_id, seen)


def forget(server: Server, client: Client) -> None:
    """Forget this client's way back, and that of clients that are no longer attached."""
    here = {str(other.pid) for other in clients(server)} - {str(client.pid)}
    names = [
        name
        for name in remembered(server)
        if name.startswith((BACK, LANDED)) and name.rpartition("_")[2] not in here
    ]
    server.source([f"set-environment -gu {name}" for name in names])


def show(server: Server, client: Client, text: str, ms: int = MESSAGE_MS) -> None:
    """One line of any text in this client's status line, literally. A gone client is no error."""
    try:
        server.run("display-message", "-c", client.name, "-d", str(ms), message_text(text))
    except TmuxError:
        pass


def message_text(text: str, cells: int = 200) -> str:
    """Hostile text for `display-message`, which does strftime, expands formats and then draws.

    So `%` is doubled, and `#` twice, since both expanding and drawing make one of two; but in
    front of `[` only drawing does, as expanding leaves styles alone (cases B37, B65).
    """
    line = clip(clean(text), cells).replace("%", "%%")
    return _HASHES.sub(lambda m: m[1] * (2 if m[2] else 4) + m[2], line)


def landing_line(state: str, question: str, waited_ms: int, left: int, before: str = "") -> str:
    """Why one is here: reason, wait, what is left, then the question, cut to one line.

    `before` names what came first in the queue and could not be gone to.
    """
    rest = f"{left} left" if left > 0 else "none left"
    parts = [state, f"waited {duration(waited_ms)}", rest, clip(clean(question), 160), before]
    return " · ".join(part for part in parts if part)


def choose_place(pane: Pane, client: Client, everyone: Iterable[Client]) -> Place:
    """Where to show a pane to a client; `places` are in tmux's order of sessions."""
    taken = {c.session_id for c in everyone if c.pid != client.pid}

    def rank(place: Place) -> tuple[bool, bool]:
        return (place.session_id != client.session_id, place.session_id in taken)

    return min(pane.places, key=rank)


def _alive(seen: Snapshot, pane_id: str) -> Pane:
    pane = seen.panes.get(pane_id) if pane_id_or_none(pane_id) else None
    if pane is None:
        raise StalePane(f"the pane {pane_id} is gone")
    return pane


def _move(client: Client, pane_id: str, place: Place) -> list[str]:
    """The tmux command. Ids are exact: a name would match by prefix or hold `:` and `.` (B39)."""
    target = f"{place.session_id}:{place.window_id}.{pane_id}"
    if place.session_id == client.session_id:
        # iTerm2 rebuilds all its native windows for a switch to the session it shows already.
        window = f"{place.session_id}:{place.window_id}"
        return ["select-window", "-t", window, ";", "select-pane", "-Z", "-t", target]
    return ["switch-client", "-Z", "-c", client.name, "-t", target]


def _kind_of(error: TmuxError, client: Client, pane_id: str) -> Exception:
    said = str(error)
    if "client" in said and "find" in said:
        return StaleClient(f"the client {client.name} is not attached any more")
    if re.search("can't find|no such", said):
        return StalePane(f"the pane {pane_id} is gone")
    return error


def _remember(name: str, client: Client, value: str) -> str:
    return f"set-environment -gh {name}{client.pid} {quote(value)}"


def remembered(server: Server) -> dict[str, str]:
    """Our hidden variables in the server's global environment, by name."""
    rows = server.run("show-environment", "-gh").splitlines()
    return {m[1]: m[2] for row in rows if (m := _VARIABLE.match(row))}
