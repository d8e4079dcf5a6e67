"""Moving one client: to the right copy of a pane, and no other client with it."""

from __future__ import annotations

import pytest

from tests.harness.tmux_server import PtyClient, TmuxServer
from tests.harness.wait import holds, until
from trailboss.tmux import navigate
from trailboss.tmux.clients import Client, clients
from trailboss.tmux.server import Server


def known(client: PtyClient) -> Client:
    """The client as it is now."""
    found = clients(Server(str(client.server.socket)))
    return next(c for c in found if c.name == client.name)


def go(client: PtyClient, pane: str) -> None:
    navigate.go(Server(str(client.server.socket)), known(client), pane)


def jump(client: PtyClient, pane: str, line: str = "") -> None:
    navigate.jump(Server(str(client.server.socket)), known(client), pane, line)


def back(client: PtyClient) -> None:
    navigate.back(Server(str(client.server.socket)), known(client))


def where(client: PtyClient) -> tuple[str, str]:
    return client.session(), client.pane()


@pytest.mark.parametrize("base", ["0", "1"])
def test_to_a_pane_of_another_session(tmux: TmuxServer, base: str) -> None:
    tmux.new_session("alpha")
    tmux.tmux("set-option", "-g", "base-index", base)
    tmux.tmux("set-option", "-g", "pane-base-index", base)
    tmux.new_session("beta")
    window = tmux.new_window("beta")
    split = tmux.tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", window)
    a, b = tmux.attach("alpha"), tmux.attach("alpha")
    before = where(b)
    go(a, split)
    assert where(a) == ("beta", split)
    assert where(b) == before
    go(a, window)
    assert where(a) == ("beta", window)


def test_b39_names_are_never_targets(tmux: TmuxServer) -> None:
    tmux.new_session("start")
    tmux.new_session("web.app:1")
    named = tmux.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "web_app_1", "-n", "x")
    tmux.tmux("rename-window", "-t", named, "fix:login.py")
    gone, other = tmux.new_session("ab"), tmux.new_session("abc")
    client = tmux.attach("start")
    go(client, named)
    assert where(client) == ("web_app_1", named)
    tmux.tmux("kill-session", "-t", "=ab")
    with pytest.raises(navigate.StalePane, match=gone):
        go(client, gone)
    assert client.pane() == named
    go(client, other)
    assert where(client) == ("abc", other)


def test_a_session_group_keeps_each_client_in_its_own_session(tmux: TmuxServer) -> None:
    first = tmux.new_session("alpha")
    second = tmux.new_window("alpha")
    tmux.tmux("new-session", "-d", "-s", "alpha2", "-t", "=alpha")
    a, b = tmux.attach("alpha"), tmux.attach("alpha2")
    until(lambda: a.pane() == first and b.pane() == first)
    go(a, second)
    assert (where(a), where(b)) == (("alpha", second), ("alpha2", first))
    go(b, second)
    go(a, first)
    assert (where(a), where(b)) == (("alpha", first), ("alpha2", second))


def test_a_group_from_outside_is_entered_where_nobody_is(tmux: TmuxServer) -> None:
    tmux.new_session("start")
    first = tmux.new_session("alpha")
    second = tmux.new_window("alpha")
    tmux.tmux("new-session", "-d", "-s", "alpha2", "-t", "=alpha")
    a, b = tmux.attach("start"), tmux.attach("alpha")
    go(a, second)
    assert (where(a), where(b)) == (("alpha2", second), ("alpha", first))


def test_a_linked_window_is_shown_where_the_client_is(tmux: TmuxServer) -> None:
    own = tmux.new_session("alpha")
    tmux.new_session("beta")
    linked = tmux.new_window("beta")
    tmux.tmux("link-window", "-d", "-s", linked, "-t", "alpha:9")
    a, b = tmux.attach("alpha"), tmux.attach("beta")
    before = where(b)
    go(a, linked)
    assert (where(a), where(b)) == (("alpha", linked), before)
    assert tmux.show("#{window_index}", "alpha:") == "9"
    go(a, own)
    assert where(a) == ("alpha", own)


def test_a_zoomed_window_stays_zoomed_on_the_pane(tmux: TmuxServer) -> None:
    tmux.new_session("start")
    one = tmux.new_session("alpha")
    two = tmux.tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", one)
    tmux.tmux("resize-pane", "-Z", "-t", one)
    client = tmux.attach("start")
    for pane in (two, one, two):
        go(client, pane)
        assert client.pane() == pane
        assert tmux.show("#{window_zoomed_flag}", pane) == "1"


def test_what_is_gone_says_so(tmux: TmuxServer) -> None:
    tmux.new_session("alpha")
    pane = tmux.new_session("beta")
    client, other = tmux.attach("alpha"), tmux.attach("alpha")
    server = Server(str(tmux.socket))
    for odd in ("%99", "%", "beta", "%1;kill-server", ""):
        with pytest.raises(navigate.StalePane):
            go(client, odd)
    seen = navigate.snapshot(server)
    gone, stayed = known(client), where(other)
    tmux.tmux("kill-session", "-t", "=beta")
    with pytest.raises(navigate.StalePane):
        navigate.go(server, gone, pane, seen)
    tmux.tmux("detach-client", "-t", client.name)
    until(lambda: len(clients(server)) == 1)
    pane = tmux.new_session("gamma")
    with pytest.raises(navigate.StaleClient, match=client.name):
        navigate.go(server, gone, pane)
    assert where(other) == stayed


def test_back_leads_to_where_a_chain_of_jumps_began(tmux: TmuxServer) -> None:
    home = tmux.new_session("home")
    one, two = tmux.new_session("one"), tmux.new_session("two")
    a, b = tmux.attach("home"), tmux.attach("home")
    jump(a, one)
    jump(a, two)
    jump(a, one)
    back(a)
    assert where(a) == ("home", home)
    with pytest.raises(navigate.NothingToGoBack):
        back(a)
    with pytest.raises(navigate.NothingToGoBack):
        back(b)
    # Moved by hand in between: that place is where to go back to.
    jump(a, one)
    by_hand = tmux.new_session("hand")
    tmux.tmux("switch-client", "-c", a.name, "-t", "=hand")
    jump(a, two)
    back(a)
    assert where(a) == ("hand", by_hand)


def test_back_to_a_pane_that_is_gone_or_moved(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    window = tmux.new_window("home")
    one = tmux.new_session("one")
    client = tmux.attach("home")
    go(client, window)
    jump(client, one)
    tmux.tmux("move-window", "-s", window, "-t", "one:5")
    back(client)
    assert where(client) == ("one", window)
    jump(client, one)
    tmux.tmux("kill-pane", "-t", window)
    with pytest.raises(navigate.StalePane):
        back(client)
    with pytest.raises(navigate.NothingToGoBack):
        back(client)


def test_what_back_needs_shows_nowhere_else(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    one, two = tmux.new_session("one"), tmux.new_session("two")
    options = tmux.tmux("show-options", "-g")
    visible = tmux.tmux("show-environment", "-g")
    a, b = tmux.attach("home"), tmux.attach("home")
    jump(a, one)
    jump(b, two)
    assert tmux.tmux("show-options", "-g") == options
    assert tmux.tmux("show-environment", "-g") == visible
    tmux.tmux("detach-client", "-t", b.name)
    until(lambda: len(clients(Server(str(tmux.socket)))) == 1)
    back(a)
    assert "TRAILBOSS" not in tmux.tmux("show-environment", "-gh")


def test_b37_a_landing_line_is_shown_literally(tmux: TmuxServer) -> None:
    tmux.new_session("alpha", size=(200, 30))
    pane = tmux.new_session("beta", size=(200, 30))
    client, other = tmux.attach("alpha", size=(200, 30)), tmux.attach("alpha", size=(200, 30))
    mark = tmux.sandbox.root / "PWN"
    text = f"#(touch {mark}) #[fg=red]r ##x #{{pane_id}} %H:%M %% `id` $(id) '; \"{{#"
    line = navigate.landing_line("permission", f"\x1b]2;x\x07{text}\nmore", 185_000, 2)
    assert line.startswith("permission · waited 3m · 2 left · ")
    jump(client, pane, line)
    until(lambda: text in client.text(), what="the text as it is")
    holds(lambda: not mark.exists() and "permission" not in other.text(), 0.5)


def test_a_landing_line_is_one_short_line() -> None:
    line = navigate.landing_line("stopped", "é" * 5000 + "\n\n\nx", 8_000, 0, "B is elsewhere")
    assert line.startswith("stopped · waited 8s · none left · ééé")
    assert line.endswith("… · B is elsewhere")
    assert len(navigate.message_text(line)) <= 200
    assert navigate.landing_line("stopped", "", 0, 1) == "stopped · waited 0s · 1 left"
