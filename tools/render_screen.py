"""A terminal's screen as an SVG, and the README's picture of the popup made with it.

    python -m tools.render_screen docs/popup.svg

starts a private tmux, a real broker and a few agents' panes, opens the popup on a real client by
its key, and draws what the client's terminal shows.
"""

from __future__ import annotations

import argparse
import sys
import time
from html import escape
from pathlib import Path
from typing import Any

import orjson
import pyte
import zmq
from wcwidth import wcwidth

from tests.harness.broker import BrokerProcess
from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import PtyClient, TmuxServer
from tests.harness.wait import until
from trailboss import config, paths
from trailboss.client import Client
from trailboss.tmux.bindings import bindings

FRONT, BACK = "#f8f8f2", "#282a36"
#: Pixels of one cell at the font size below.
CELL_W, CELL_H, FONT = 8.43, 17, 14
NAMED = {
    "black": "#21222c",
    "red": "#ff5555",
    "green": "#50fa7b",
    "brown": "#f1fa8c",
    "yellow": "#f1fa8c",
    "blue": "#bd93f9",
    "magenta": "#ff79c6",
    "cyan": "#8be9fd",
    "white": "#f8f8f2",
}

#: (session, directory, event fields): what the picture's agents wait for, oldest first.
AGENTS: list[tuple[str, str, dict[str, Any]]] = [
    (
        "shop",
        "shop/checkout",
        {
            "reason": "permission",
            "message": "Bash: npm run db:migrate -- --env staging",
            "detail": {"tool_name": "Bash"},
        },
    ),
    (
        "api",
        "api/auth",
        {"reason": "stopped", "message": "Both token tests pass now. Shall I open the PR?"},
    ),
    (
        "docs",
        "handbook/docs",
        {"reason": "stopped", "message": "Which of the two outlines do you want?"},
    ),
    (
        "infra",
        "infra/terraform",
        {"reason": "permission", "message": "Edit: modules/vpc/main.tf"},
    ),
]
WAITED_S = (2520, 1140, 400, 45)


def svg(screen: pyte.Screen) -> str:
    """The whole screen, every cell with its colours, weight and inversion."""
    width, height = screen.columns * CELL_W + 20, screen.lines * CELL_H + 20
    backs: list[str] = []
    texts: list[str] = []
    for y in range(screen.lines):
        for x, length, text, cell in _runs(screen, y):
            front, back = _colours(cell)
            at_x, at_y, wide = 10 + x * CELL_W, 10 + y * CELL_H, length * CELL_W
            if back != BACK:
                backs.append(
                    f'<rect x="{at_x:.2f}" y="{at_y}" width="{wide + 0.3:.2f}" '
                    f'height="{CELL_H}" fill="{back}"/>'
                )
            if text.strip():
                weight = ' font-weight="bold"' if cell.bold else ""
                texts.append(
                    f'<text x="{at_x:.2f}" y="{at_y + 13}" fill="{front}"{weight} '
                    f'textLength="{wide:.2f}" lengthAdjust="spacingAndGlyphs">'
                    f"{escape(text)}</text>"
                )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
            f'viewBox="0 0 {width:.0f} {height}" xml:space="preserve" '
            'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" '
            f'font-size="{FONT}">',
            f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>',
            *backs,
            *texts,
            "</svg>\n",
        ]
    )


def _runs(screen: pyte.Screen, y: int) -> list[tuple[int, int, str, Any]]:
    """(column, cells, text, look) of neighbouring cells that look alike."""
    out: list[tuple[int, int, str, Any]] = []
    for x in range(screen.columns):
        cell = screen.buffer[y][x]
        if not cell.data:
            continue  # the second half of a wide character
        size = max(1, wcwidth(cell.data[0]))
        look = cell._replace(data="")
        if out and out[-1][3] == look and cell.data.isascii() and out[-1][2].isascii():
            at, length, text, _ = out[-1]
            out[-1] = (at, length + size, text + cell.data, look)
        else:
            out.append((x, size, cell.data, look))
    return out


def _colours(cell: Any) -> tuple[str, str]:
    front, back = _colour(cell.fg, FRONT), _colour(cell.bg, BACK)
    return (back, front) if cell.reverse else (front, back)


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    if len(name) == 6 and all(c in "0123456789abcdefABCDEF" for c in name):
        return f"#{name.lower()}"
    return NAMED.get(name.removeprefix("bright"), default)


class Stage:
    """A private tmux with a real broker and agents that wait; closed by `close`."""

    def __init__(self, columns: int, rows: int) -> None:
        self.box = Sandbox()
        self.box.env["COLORTERM"] = "truecolor"
        self.tmux = TmuxServer(self.box)
        self.size = (columns, rows)
        self.box.env["TRAILBOSS_TMUX_SOCKETS"] = str(self.tmux.socket)

    def close(self) -> None:
        self.tmux.close()
        self.box.close()

    def popup(self) -> PtyClient:
        """A client with the popup open over a shell, the whole queue in it."""
        script = "printf '$ make test\\n412 passed in 18.2s\\n$ '; exec cat"
        self.tmux.new_session("work", "sh", "-c", script, size=self.size)
        self.tmux.tmux("set-option", "-s", "terminal-features", "xterm-256color:RGB")
        self.tmux.tmux("set-option", "-g", "status-right", "")
        self.tmux.tmux("set-option", "-g", "automatic-rename", "off")
        self.tmux.tmux("rename-window", "shell")
        self.tmux.tmux("set-option", "-g", "popup-border-style", "fg=#6272a4")
        BrokerProcess(self.box).start()
        self._agents()
        client = self.tmux.attach("work", self.size)
        keys = self.box.root / "keys.conf"
        keys.write_text(bindings(f"{sys.executable} -m trailboss", config.load(self.box.env)))
        self.tmux.tmux("source-file", str(keys))
        client.type(b"\x02g")
        last = AGENTS[-1][1]
        until(lambda: last in client.text() and "broker: ok" in client.text())
        return client

    def _agents(self) -> None:
        push = zmq.Context.instance().socket(zmq.PUSH)
        push.connect(paths.endpoint(paths.events_socket(self.box.runtime)))
        now = time.time_ns() // 1_000_000
        for at, (session, directory, fields) in enumerate(AGENTS):
            pane = self.tmux.new_session(session, "cat", size=self.size)
            event = {
                "v": 1,
                "id": f"picture-{at}",
                "type": "stuck",
                "harness": "claude",
                "session_id": f"picture-{at}",
                "timestamp": now - WAITED_S[at] * 1000,
                "cause": "PermissionRequest" if fields["reason"] == "permission" else "Stop",
                "pane_id": pane,
                "tmux_socket": str(self.tmux.socket),
                "tmux_pid": self.tmux.pid,
                "cwd": f"/home/dev/{directory}",
                **fields,
            }
            push.send(orjson.dumps(event))
        until(self._all_there, what="all are in the queue")
        push.close(linger=0)

    def _all_there(self) -> bool:
        with Client(self.box.runtime) as client:
            return int(client.call("queue.list")["depth"]) == len(AGENTS)


def main() -> int:
    """Draw the popup into the file named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.render_screen", description=__doc__)
    parser.add_argument("file", type=Path, help="the SVG to write")
    parser.add_argument("--size", default="100x24", help="columns x rows of the terminal")
    parser.add_argument("--keys", default="j", help="what to type in the popup before the picture")
    args = parser.parse_args()
    columns, _, rows = args.size.partition("x")
    stage = Stage(int(columns), int(rows))
    try:
        client = stage.popup()
        client.type(args.keys)
        until(lambda: client.text().count("▶") == 1, what="the cursor")
        time.sleep(0.3)  # a picture is taken of a screen at rest
        args.file.write_text(svg(client.emulator), encoding="utf-8")
        print(client.text())
    finally:
        stage.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
