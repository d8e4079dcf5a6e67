"""The live preview in a real pane."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.desk import Desk
from tests.harness.fake_broker import item
from tests.harness.tmux_server import PtyClient, TmuxServer
from tests.harness.wait import holds, until


@pytest.fixture
def desk(tmux: TmuxServer) -> Iterator[Desk]:
    made = Desk(tmux)
    yield made
    made.close()


def preview(desk: Desk) -> PtyClient:
    desk.tmux.new_session("preview", sys.executable, "-m", "trailboss", "preview")
    return desk.tmux.attach("preview")


def test_it_shows_the_heads_pane_live_with_colours_and_types_nothing_there(desk: Desk) -> None:
    script = "printf '\\033[31mred question\\033[0m\\n'; exec cat"
    pane = desk.tmux.new_session("agent", "sh", "-c", script)
    where = {"pane_id": pane, "tmux_socket": str(desk.tmux.socket)}
    desk.broker.put([item("lost", title="no pane"), item("a", **where)])
    client = preview(desk)
    until(lambda: "red question" in client.text(), what=client.text())
    lines = client.text().splitlines()
    assert lines[0] == "─── agent:0.0 ───"
    row = next(n for n, line in enumerate(lines) if line.startswith("red question"))
    assert client.emulator.buffer[row][0].fg == "red"
    desk.tmux.tmux("send-keys", "-t", pane, "more", "Enter")
    until(lambda: "more" in client.text(), what="it is live")
    client.type("xyz q\x1b\r")
    holds(lambda: "xyz" not in desk.tmux.screen(pane), 0.5)
    assert "red question" in client.text(), "it is still open"
    client.type("\x03")
    until(lambda: "preview" not in desk.tmux.tmux("list-sessions", "-F", "#{session_name}"))


def test_it_follows_the_head_and_says_what_is_missing(desk: Desk) -> None:
    def agent(name: str) -> dict[str, Any]:
        pane = desk.tmux.new_session(name, "sh", "-c", f"echo screen of {name}; exec cat")
        return item(name, title=name, pane_id=pane, tmux_socket=str(desk.tmux.socket))

    client = preview(desk)
    until(lambda: "no stuck session to show" in client.text())
    a, b = agent("a"), agent("b")
    desk.broker.put([a, b])
    until(lambda: "screen of a" in client.text() and "─── a:0.0 ───" in client.text())
    desk.broker.put([b, a])
    until(lambda: "screen of b" in client.text() and "screen of a" not in client.text())
    desk.tmux.tmux("kill-session", "-t", "=b")
    until(lambda: "its pane is gone" in client.text())
    desk.broker.put([a])
    until(lambda: "screen of a" in client.text())
    desk.broker.put([item("lost", title="lost")])
    until(lambda: "no stuck session to show" in client.text(), what=client.text())
