"""What the broker shows in tmux: the values, and nothing but the differences."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import holds, until
from trailboss.text import width
from trailboss.tmux.options import (
    GLOBAL,
    OF_PANE,
    Publisher,
    Stop,
    View,
    desired,
    status_text,
)
from trailboss.tmux.panes import Pane, Place
from trailboss.tmux.server import NoServer, Server


class CountingServer(Server):
    """Keeps the batches that it was fed."""

    def __init__(self, socket: str) -> None:
        super().__init__(socket)
        self.batches: list[list[str]] = []

    def source(self, lines: Any, timeout: float = 5.0) -> list[str]:
        kept = list(lines)
        if kept:
            self.batches.append(kept)
        return super().source(kept, timeout)


def three(tmux: TmuxServer) -> tuple[str, str, str]:
    tmux.new_session("alpha")
    return tmux.new_window("alpha"), tmux.new_window("alpha"), tmux.new_window("alpha")


def view(*panes: str, **more: Any) -> View:
    ring = tuple(Stop(p, "stopped", 1700000000000 + n, f"q{n}") for n, p in enumerate(panes))
    fields = {"status": status_text(len(panes)), "depth": len(panes), "ready": len(panes)}
    return View(**{**fields, "ring": ring, **more})


@pytest.mark.parametrize(
    ("ready", "text"),
    [(0, ""), (-1, ""), (1, "⚠ 1 stuck"), (12, "⚠ 12 stuck"), (150, "⚠ 150 stuck")],
)
def test_b93_the_status_text(ready: int, text: str) -> None:
    assert status_text(ready) == text
    assert width(status_text(10**9)) <= 20


def test_the_ring(tmux: TmuxServer) -> None:
    a, b, c = three(tmux)
    Publisher(Server(str(tmux.socket))).publish(view(a, b, c))
    assert tmux.option("@trailboss_head") == a
    assert tmux.option("@trailboss_next") == a
    assert [tmux.option("@trailboss_next", p) for p in (a, b, c)] == [b, c, a]
    assert tmux.option("@trailboss_status") == "⚠ 3 stuck"
    assert tmux.option("@trailboss_depth") == "3"
    assert tmux.option("@trailboss_state", b) == "stopped"
    assert tmux.option("@trailboss_since", b) == "1700000000001"
    # From any other pane the one format that the key asks is the head.
    assert tmux.show("#{@trailboss_next}", "alpha:0") == a
    assert tmux.show("#{@trailboss_next}", c) == a


def test_what_is_not_ready_has_its_state_and_no_place(tmux: TmuxServer) -> None:
    a, b, _ = three(tmux)
    ring = (Stop(a, "permission", 1, "q", ready=False), Stop(b, "stopped", 2, "q"))
    Publisher(Server(str(tmux.socket))).publish(View("x", 2, 1, "", ring))
    assert tmux.option("@trailboss_head") == b
    assert tmux.option("@trailboss_next", b) == b
    assert tmux.option("@trailboss_next", a) == ""
    assert tmux.option("@trailboss_state", a) == "permission"


def test_what_left_is_cleared_and_the_status_is_empty_at_nothing(tmux: TmuxServer) -> None:
    a, b, c = three(tmux)
    publisher = Publisher(Server(str(tmux.socket)))
    publisher.publish(view(a, b, c))
    publisher.publish(view(a, c))
    assert [tmux.option(name, b) for name in OF_PANE] == [""] * len(OF_PANE)
    assert tmux.option("@trailboss_next", a) == c
    publisher.publish(view())
    assert tmux.option("@trailboss_status") == ""
    assert tmux.option("@trailboss_next") == ""
    assert tmux.option("@trailboss_depth") == "0"
    assert [tmux.option(name, a) for name in OF_PANE] == [""] * len(OF_PANE)


def test_b93_only_differences_are_written(tmux: TmuxServer) -> None:
    a, b, c = three(tmux)
    server = CountingServer(str(tmux.socket))
    publisher = Publisher(server)
    publisher.publish(view(a, b, c))
    for _ in range(5):
        publisher.publish(view(a, b, c))
    assert len(server.batches) == 1
    publisher.publish(view(a, b, c, status="⚠ 4 stuck"))
    assert server.batches[1:] == [["set-option -gq -- @trailboss_status '⚠ 4 stuck'"]]


def test_b110_a_pane_that_vanished_costs_no_other(tmux: TmuxServer) -> None:
    a, b, c = three(tmux)
    publisher = Publisher(Server(str(tmux.socket)))
    publisher.publish(view(a, b, c))
    tmux.tmux("kill-pane", "-t", a)
    publisher.publish(view(a, b, c, status="⚠ 2 stuck"))
    assert tmux.option("@trailboss_status") == "⚠ 2 stuck"
    assert tmux.option("@trailboss_head") == b
    assert tmux.option("@trailboss_next", c) == b


def test_b110_a_pane_that_vanishes_while_we_write(tmux: TmuxServer) -> None:
    a, b, c = three(tmux)

    class Racing(Server):
        def source(self, lines: Any, timeout: float = 5.0) -> list[str]:
            tmux.tmux("kill-pane", "-t", a)
            return super().source(lines, timeout)

    Publisher(Racing(str(tmux.socket))).publish(view(a, b, c))
    assert tmux.option("@trailboss_status") == "⚠ 3 stuck"
    assert tmux.option("@trailboss_next", b) == c


def test_a_restarted_server_gets_everything(tmux: TmuxServer) -> None:
    a, b, c = three(tmux)
    publisher = Publisher(Server(str(tmux.socket)))
    publisher.publish(view(a, b, c))
    tmux.tmux("kill-server")
    with pytest.raises(NoServer):
        publisher.publish(view(a, b, c))
    three(tmux)
    publisher.publish(view(a, b, c))
    assert tmux.option("@trailboss_status") == "⚠ 3 stuck"
    assert tmux.option("@trailboss_next", a) == b


def test_what_an_earlier_broker_left_goes(tmux: TmuxServer) -> None:
    a, b, c = three(tmux)
    Publisher(Server(str(tmux.socket))).publish(view(a, b, c))
    Publisher(Server(str(tmux.socket))).publish(view(b))
    assert tmux.option("@trailboss_state", a) == ""
    assert tmux.option("@trailboss_next", a) == ""
    assert tmux.option("@trailboss_next", b) == b


def test_clear_takes_all_of_it_away(tmux: TmuxServer) -> None:
    a, b, c = three(tmux)
    before = tmux.tmux("show-options", "-g")
    Publisher(Server(str(tmux.socket))).publish(view(a, b, c))
    publisher = Publisher(Server(str(tmux.socket)))
    publisher.clear()
    assert tmux.tmux("show-options", "-g") == before
    assert tmux.tmux("show-options", "-p", "-t", a) == ""
    tmux.tmux("kill-server")
    publisher.clear()


def test_only_a_pane_id_is_written_as_one() -> None:
    odd = ["%1;kill-server", "%", "1", "%1 ", "#(touch x)", "%٣", ""]
    place = Place("$0", "s", "@0", 0, "w", 0)
    panes = {p: Pane(p, 1, False, "", "", "", True, (place,)) for p in ["%1", *odd]}
    out = desired(view("%1", *odd), panes)
    assert {pane for pane, _ in out} == {"", "%1"}
    assert out["%1", "@trailboss_next"] == "%1"
    assert {name for pane, name in out if not pane} == set(GLOBAL)


def test_a_next_that_several_sessions_have_is_marked(tmux: TmuxServer) -> None:
    tmux.new_session("alpha")
    linked, own = tmux.new_window("alpha"), tmux.new_window("alpha")
    tmux.new_session("beta")
    publisher = Publisher(Server(str(tmux.socket)))
    publisher.publish(view(linked, own))
    assert tmux.show("#{@trailboss_shared}", own) == ""
    tmux.tmux("link-window", "-d", "-s", linked, "-t", "beta:7")
    publisher.publish(view(linked, own))
    marks = {pane: tmux.show("#{@trailboss_shared}", pane) for pane in ("beta:0", linked, own)}
    assert marks == {"beta:0": "1", linked: "", own: "1"}


def test_b37_hostile_texts_are_shown_as_they_are(tmux: TmuxServer) -> None:
    pane = tmux.new_session("alpha", size=(200, 30))
    client = tmux.attach("alpha", size=(200, 30))
    tmux.tmux("set-option", "-g", "status-interval", "1")
    tmux.tmux("set-option", "-g", "status-right-length", "150")
    tmux.tmux("set-option", "-g", "status-right", "<#{@trailboss_elsewhere}|#{@trailboss_landing}>")
    mark = tmux.sandbox.root / "PWN"
    text = f"#(touch {mark}) #[fg=red]r ##x #{{pane_id}} %H '; \"#"
    stop = Stop(pane, "stopped", 1, f"a\x1b[31m\n{text}")
    Publisher(Server(str(tmux.socket))).publish(View("", 1, 1, text[:70], (stop,)))
    until(lambda: f"|a {text}>" in client.text(), what="the landing text is shown literally")
    assert f"<{text[:70]}|" in client.text()
    holds(lambda: not mark.exists(), 2.5, "no command was run in two redraws")
