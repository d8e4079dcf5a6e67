"""What panes show: any number of captures in one tmux invocation.

Eleven captures in eleven invocations take sixteen times as long as in one (tmux notes), and one
pane that has vanished must not spoil the others.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from trailboss.events import pane_id_or_none
from trailboss.tmux.server import Server, quote


@dataclass(frozen=True, slots=True)
class Shot:
    """A pane's visible screen: its rows (wrapped ones joined, trailing blanks kept as tmux gives
    them), its size in cells, and whether a program has its alternate screen open."""

    lines: tuple[str, ...]
    width: int
    height: int
    alternate: bool


def capture(server: Server, pane_ids: Iterable[str]) -> dict[str, Shot]:
    """The screens of those of these panes that exist. Raises NoServer and TmuxTimeout."""
    wanted = [p for p in dict.fromkeys(pane_ids) if pane_id_or_none(p)]
    # Random, so that nothing a program draws can pass for it.
    mark = f"trailboss-{secrets.token_hex(8)}"
    lines = []
    for pane in wanted:
        facts = f"{mark} {pane} #{{pane_width}} #{{pane_height}} #{{alternate_on}}"
        lines.append(f"display-message -p -t {quote(pane)} {quote(facts)}")
        lines.append(f"capture-pane -p -J -t {quote(pane)}")
    if not lines:
        return {}
    out: dict[str, Shot] = {}
    for part in server.read(lines).split(f"{mark} ")[1:]:
        head, _, body = part.partition("\n")
        pane, *facts = head.split()
        if len(facts) == 3 and all(f.isdigit() for f in facts) and body:
            width, height, alternate = map(int, facts)
            rows = tuple(body.removesuffix("\n").split("\n"))
            out[pane] = Shot(rows, width, height, bool(alternate))
    return out
