"""A desk to try the screens at: a tmux server, a fake broker, agents' panes, the popup's key."""

from __future__ import annotations

import sys
from typing import Any

from tests.harness.fake_broker import FakeBroker, item
from tests.harness.tmux_server import PtyClient, TmuxServer
from tests.harness.wait import until

PREFIX = b"\x02"


class Desk:
    """A tmux server with the session `desk`, agents' panes elsewhere, and the popup's key."""

    def __init__(self, tmux: TmuxServer) -> None:
        self.tmux = tmux
        self.broker = FakeBroker(tmux.sandbox)
        self.home = tmux.new_session("desk", "cat")
        tmux.tmux("set-option", "-s", "escape-time", "0")
        self.bind()

    def bind(self, *env: str, size: str = "-w 90% -h 80%") -> None:
        """Bind prefix g to the popup, with more environment for it."""
        more = " ".join(f"-e '{pair}'" for pair in env)
        self.tmux.tmux(
            "bind-key",
            "g",
            "run-shell",
            "-C",
            "display-popup -c '#{client_name}' -t '#{pane_id}' -e 'TB_CLIENT=#{client_name}' "
            f"{more} {size} -E '{sys.executable} -m trailboss popup'",
        )

    def close(self) -> None:
        self.broker.stop()

    def agent(self, name: str, **fields: Any) -> dict[str, Any]:
        """A session of its own with a pane, and its item."""
        pane = self.tmux.new_session(name, "cat")
        where = {"pane_id": pane, "tmux_socket": str(self.tmux.socket), "target": f"{name}:0.0"}
        return item(name, **{"title": name, **where, **fields})

    def open(self, client: PtyClient, sign: str = "broker:") -> PtyClient:
        client.type(PREFIX + b"g")
        until(lambda: sign in client.text(), what="the popup is open")
        return client


def rows(client: PtyClient) -> list[str]:
    """The session names in sight, in order, the cursor's with its sign."""
    out = []
    for line in client.text().splitlines():
        words = line.replace("│", " ").replace("|", " ").split()
        if words[:1] in (["▶"], [">"]) and len(words) > 4:
            out.append("▶" + words[4])
        elif words[:1] and words[0].isdigit() and words[1:2] and words[1] in "◆○!o":
            out.append(words[3])
    return out


def sees(client: PtyClient, *expected: str) -> None:
    until(lambda: rows(client) == list(expected), what=f"{expected} in\n{client.text()}")


def closed(client: PtyClient) -> None:
    """The popup's window is gone: until then keys go to a program that is ending."""
    until(lambda: "┌" not in client.text() and "quit" not in client.text(), what="closed")
