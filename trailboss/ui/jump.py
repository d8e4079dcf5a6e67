"""From an item under the cursor to its pane: the client that the screen was opened from, moved.

Every way in which that cannot be done is a sentence for the footer, not an error.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

from trailboss import config
from trailboss.tmux import follow
from trailboss.tmux.clients import NoClient
from trailboss.tmux.navigate import StaleClient
from trailboss.tmux.server import TmuxError
from trailboss.ui import model, view
from trailboss.ui.lists import Jump, Landing
from trailboss.ui.model import Item


def jumper(wanted: str | None, env: Mapping[str, str] = os.environ) -> Jump:
    """What moves the client: `wanted` (--client), $TB_CLIENT, or the one that shows this pane.

    The client is looked up at each jump; it may have gone, or come, while the screen was open.
    """
    settings = config.load(env)

    def jump(item: Item, left: int) -> Landing:
        target = _as_api(item)
        try:
            server, client = follow.find_client(env, settings, wanted, [target])
            follow.follow_item(server, client, target, left, settings)
        except NoClient as problem:
            if wanted or env.get("TB_CLIENT") or env.get("TMUX") or problem.candidates:
                return Landing(False, str(problem))
            return Landing(False, _how_to_attach(item), leave=True)
        except (follow.Refused, StaleClient, TmuxError) as problem:
            return Landing(False, str(problem))
        return Landing(True)

    return jump


def _as_api(item: Item) -> dict[str, Any]:
    """The item as the API gives it, by the name that it has on the screen."""
    return {
        "session_id": item.session_id,
        "title": view.session_name(item),
        "reason": view.plain(item.reason, 20) or "stopped",
        "message": view.first_line(item),
        "pane_id": item.pane_id,
        "tmux_socket": item.tmux_socket,
        "target": item.target,
        "stuck_ms": 0 if item.since is None else max(0, model.now_ms() - item.since),
    }


def _how_to_attach(item: Item) -> str:
    """For a terminal outside tmux with nobody attached: a command ready to be pasted."""
    if not item.pane_id:
        return f"{view.session_name(item)} has no known pane"
    session = (item.target or "").rpartition(":")[0]
    where = ["-S", item.tmux_socket] if item.tmux_socket else []
    words = ["tmux", *where, "attach", *(["-t", f"={session}"] if session else [])]
    command = view.plain(" ".join(map(shlex.quote, words)))
    return f"no tmux client is attached; {view.place(item)} is reached with: {command}"
