"""The picker in a real tmux popup, on a real client: what one sees and what its keys do.

The broker is `FakeBroker`, so that the list can be put into any state at will.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.harness.desk import PREFIX, Desk, closed, rows, sees
from tests.harness.fake_broker import item
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import holds, until


@pytest.fixture
def desk(tmux: TmuxServer) -> Iterator[Desk]:
    made = Desk(tmux)
    yield made
    made.close()


def test_the_queue_is_shown_in_order_and_a_key_goes_there(desk: Desk) -> None:
    a, b, c = (desk.agent(name) for name in "abc")
    desk.broker.put([a, b, c])
    client = desk.open(desk.tmux.attach("desk"))
    sees(client, "▶a", "b", "c")
    assert "⚠ 3 stuck" in client.text()
    client.type("j")
    sees(client, "a", "▶b", "c")
    client.type("\r")
    until(lambda: client.pane() == b["pane_id"], what="the client is at b's pane")
    closed(client)
    until(lambda: "stopped · waited 1m" in client.text(), what="why one is here")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("jj", 3),
        ("jjk", 2),
        ("\x1b[B\x1b[B", 3),
        ("\x1bOB\x1bOB\x1bOA", 2),
        ("G", 12),
        ("Ggg", 1),
        ("4", 4),
        ("kkk", 1),
    ],
)
def test_every_way_of_moving_the_cursor(desk: Desk, keys: str, expected: int) -> None:
    desk.broker.put([item(f"s{n}", title=f"s{n}") for n in range(1, 13)])
    client = desk.open(desk.tmux.attach("desk"), "s12")
    client.type(keys)
    until(lambda: f"▶s{expected}" in rows(client), what=f"row {expected} in\n{client.text()}")


def test_an_arrow_key_whose_bytes_come_apart_is_still_an_arrow(desk: Desk) -> None:
    desk.tmux.tmux("set-option", "-s", "escape-time", "500")
    desk.broker.put([item("a", title="a"), item("b", title="b")])
    client = desk.open(desk.tmux.attach("desk"), "waited")
    for byte in b"\x1b[B":
        client.type(bytes([byte]))
        time.sleep(0.15)  # The line's latency is what is under test.
    sees(client, "a", "▶b")


@pytest.mark.parametrize("key", ["q", "\x1b", "\x03"])
def test_closing_moves_nobody(desk: Desk, key: str) -> None:
    desk.broker.put([desk.agent("a")])
    client = desk.open(desk.tmux.attach("desk"), "waited")
    client.type(key)
    closed(client)
    assert client.pane() == desk.home


def test_the_list_follows_the_broker_and_the_cursor_its_session(desk: Desk) -> None:
    a, b, c = (desk.agent(name) for name in "abc")
    desk.broker.put([a, b, c])
    client = desk.open(desk.tmux.attach("desk"), "waited")
    client.type("j")
    sees(client, "a", "▶b", "c")
    desk.broker.put([desk.agent("x"), c, b])
    sees(client, "x", "c", "▶b")
    client.type("\r")
    until(lambda: client.pane() == b["pane_id"], what="the row that was seen")


def test_a_dead_pub_is_noticed_by_asking(desk: Desk) -> None:
    desk.broker.put([item("a", title="a")])
    client = desk.open(desk.tmux.attach("desk"), "waited")
    desk.broker.announce = False
    desk.broker.put([item("b", title="b")])
    sees(client, "▶b")


def test_skip_sends_the_cursors_item_to_the_end_and_moves_on(desk: Desk) -> None:
    desk.broker.put([item(name, title=name) for name in "abc"])
    desk.broker.announce = False
    client = desk.open(desk.tmux.attach("desk"), "waited")
    client.type("js")
    sees(client, "a", "▶c", "b")
    assert desk.broker.asked("queue.skip") == [{"session_id": "b"}]
    until(lambda: "skipped b" in client.text())
    until(lambda: "cooling" in client.text())
    client.type("jjs")
    until(lambda: "b cannot be skipped now" in client.text())


def test_refresh_sweeps_and_says_what_came_of_it(desk: Desk) -> None:
    desk.broker.put([item("a", title="a")])
    client = desk.open(desk.tmux.attach("desk"), "waited")
    client.type("r")
    until(lambda: "1 checked, 0 in, 0 out" in client.text())
    assert desk.broker.asked("reconcile.run") == [{}]


def test_an_empty_queue_says_so_stays_open_and_fills(desk: Desk) -> None:
    client = desk.open(desk.tmux.attach("desk"), "No agent waits for you.")
    assert "✓ nothing stuck" in client.text()
    client.type("\rs1jGk")
    until(lambda: "there is no row" in client.text() or "nothing" in client.text())
    desk.broker.put([desk.agent("a")])
    sees(client, "▶a")


def test_a_broker_that_is_not_there_says_so_and_heals(desk: Desk) -> None:
    desk.broker.put([desk.agent("a")])
    desk.broker.stop()
    client = desk.open(desk.tmux.attach("desk"), "no broker is running")
    assert "broker: unreachable ✗" in client.text()
    desk.broker.start()
    sees(client, "▶a")
    until(lambda: "broker: ok" in client.text())
    desk.broker.stop()
    until(lambda: "broker: unreachable ✗" in client.text())
    assert rows(client) == ["▶a"], "what was last known stays in sight"
    desk.broker.start()
    desk.broker.put([desk.agent("b")])
    until(lambda: "broker: ok" in client.text())
    sees(client, "▶b")


def test_a_hung_broker_is_unreachable_and_the_keys_still_work(desk: Desk) -> None:
    desk.broker.put([item("a", title="a"), item("b", title="b")])
    client = desk.open(desk.tmux.attach("desk"), "waited")
    desk.broker.answer = False
    until(lambda: "broker: unreachable ✗" in client.text())
    client.type("j")
    sees(client, "a", "▶b")
    desk.broker.answer = True
    until(lambda: "broker: ok" in client.text())


def test_only_the_client_that_opened_it_is_moved(desk: Desk) -> None:
    c = desk.agent("c")
    desk.tmux.new_session("other", "cat")
    desk.broker.put([c])
    first, second = desk.tmux.attach("desk"), desk.tmux.attach("other")
    there = second.pane()
    desk.open(first, "waited")
    second.type("typed elsewhere")
    until(lambda: "typed elsewhere" in second.text())
    first.type("\r")
    until(lambda: first.pane() == c["pane_id"], what="the popup's client moved")
    assert second.pane() == there


def test_popups_on_two_clients_move_each_its_own(desk: Desk) -> None:
    a, b = desk.agent("a"), desk.agent("b")
    desk.tmux.new_session("other", "cat")
    desk.broker.put([a, b])
    first, second = desk.tmux.attach("desk"), desk.tmux.attach("other")
    desk.open(first, "waited")
    desk.open(second, "waited")
    first.type("\r")
    second.type("j\r")
    until(lambda: first.pane() == a["pane_id"])
    until(lambda: second.pane() == b["pane_id"])


def _stale(desk: Desk) -> dict[str, Any]:
    one = desk.agent("gone")
    desk.tmux.tmux("kill-session", "-t", "=gone")
    return one


def _unplaced(desk: Desk) -> dict[str, Any]:
    return item("lost", title="lost")


def _elsewhere(desk: Desk) -> dict[str, Any]:
    other = TmuxServer(desk.tmux.sandbox, "other")
    desk.tmux.sandbox.env["TB_TEST_OTHER"] = str(other.socket)
    pane = other.new_session("far", "cat")
    return item("far", title="far", pane_id=pane, tmux_socket=str(other.socket), target="far:0.0")


def _no_server(desk: Desk) -> dict[str, Any]:
    return item("dead", title="dead", pane_id="%1", tmux_socket="/nowhere/at/all")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (_stale, "of gone is gone"),
        (_unplaced, "lost has no known pane"),
        (_elsewhere, "far is on another tmux server (tmux -S"),
        (_no_server, "dead is on another tmux server"),
    ],
)
def test_what_cannot_be_reached_says_why_and_stays_open(
    desk: Desk, made: Callable[[Desk], dict[str, Any]], said: str
) -> None:
    one, other = made(desk), desk.agent("z")
    desk.broker.put([one, other])
    try:
        client = desk.open(desk.tmux.attach("desk"), "waited")
        client.type("\r")
        until(lambda: said in client.text(), what=f"{said} in\n{client.text()}")
        assert client.pane() == desk.home
        client.type("j\r")
        until(lambda: client.pane() == other["pane_id"], what="the next one is still reached")
    finally:
        TmuxServer(desk.tmux.sandbox, "other").tmux("kill-server", check=False)


def test_opened_twice_there_is_one_popup_and_the_key_is_harmless(desk: Desk) -> None:
    desk.broker.put([desk.agent("a")])
    client = desk.open(desk.tmux.attach("desk"), "waited")
    client.type(PREFIX + b"g")
    holds(lambda: rows(client) == ["▶a"], 0.5)
    client.type("q")
    closed(client)
    desk.open(client, "waited")


def test_nothing_of_an_agent_acts_on_the_terminal(desk: Desk) -> None:
    hostile = "\x1b]52;c;eA==\x07\x1b[2J\x1b[10Ared\x9b31m \x1b]0;t"
    fields = {
        "cwd": hostile,
        "message": hostile,
        "target": hostile,
        "title": hostile + " \u202etxt",
    }
    desk.broker.put(
        [item("a", **fields), item("b", title="👩\u200d👩\u200d👧 family"), item("c", title="c")]
    )
    client = desk.open(desk.tmux.attach("desk"), "waited")
    until(lambda: "family" in client.text())
    lines = [line for line in client.text().splitlines() if "○" in line]
    assert [line.split()[1 - (line.split()[0] == "│")] for line in lines]
    edges = {
        line.rindex("│")
        for line in client.text().splitlines()
        if "○" in line and "family" not in line
    }
    assert len(edges) == 1, "every row ends where the popup ends"
    assert "red" in client.text()
    assert "⚠ 3 stuck" in client.text(), "the screen was not cleared"


def test_ten_thousand_items_and_the_last_row(desk: Desk) -> None:
    desk.broker.put([item(f"s{n}", title=f"s{n}") for n in range(1, 10_001)])
    client = desk.open(desk.tmux.attach("desk"), "10000 stuck")
    client.type("G")
    until(lambda: "▶s10000" in rows(client))
    client.type("gg")
    until(lambda: "▶s1" in rows(client))
