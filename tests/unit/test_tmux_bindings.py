"""The key bindings, pressed on real terminals."""

from __future__ import annotations

import shlex
import stat
import time
from pathlib import Path

import pytest

from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import PtyClient, TmuxServer
from tests.harness.wait import holds, until
from trailboss import config
from trailboss.tmux import bindings, navigate
from trailboss.tmux.clients import clients
from trailboss.tmux.home import DASHBOARD, PREVIEW, ROLE, SESSION
from trailboss.tmux.options import Publisher, Stop, View
from trailboss.tmux.server import Server

PREFIX = "\x02"
NEXT, POPUP, SKIP, RETURN, BACK, DOWN = "\t", "g", "S", "B", "b", "\x1b[B"


@pytest.fixture(autouse=True)
def _typed_not_pasted(tmux: TmuxServer) -> None:
    """Keys within a millisecond count as pasted, and pasted keys are no bindings."""
    conf = tmux.sandbox.root / "typed.conf"
    conf.write_text("set-option -g assume-paste-time 0\n")
    tmux.tmux("new-session", "-d", "-s", "unused", ";", "source-file", str(conf))


class Keys:
    """A tmux server with our bindings, whose command writes down how it was called."""

    def __init__(self, tmux: TmuxServer, command: str | None = None, **variables: str) -> None:
        self.tmux = tmux
        self.log = tmux.sandbox.root / "called"
        path = tmux.sandbox.root / "it's #{pane_id} here" / "trailboss"
        path.parent.mkdir()
        path.write_text(f'#!/bin/sh\necho "$@ TB_CLIENT=$TB_CLIENT" >> {self.log}\nread -r _\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.conf = tmux.sandbox.root / "keys.conf"
        self.config = config.load({"HOME": str(tmux.sandbox.home), **variables})
        self.conf.write_text(bindings.bindings(command or shlex.quote(str(path)), self.config))
        tmux.tmux("source-file", str(self.conf))
        self.publisher = Publisher(Server(str(tmux.socket)))

    def queue(self, *panes: str, elsewhere: str = "", question: str = "Bash: rm -rf build") -> None:
        since = int(time.time() * 1000) - 185_000
        ring = tuple(Stop(pane, "permission", since, question) for pane in panes)
        self.publisher.publish(View("", len(panes), len(panes), elsewhere, ring))

    def called(self) -> str:
        return self.log.read_text() if self.log.exists() else ""


def press(client: PtyClient, key: str) -> None:
    client.type(PREFIX + key)


def last_line(client: PtyClient) -> str:
    return client.text().splitlines()[-1]


def test_next_goes_round_the_queue_and_starts_no_process(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    one, two = tmux.new_session("one"), tmux.new_session("two")
    three = tmux.new_window("two")
    keys = Keys(tmux)
    client, other = tmux.attach("home"), tmux.attach("home")
    keys.queue(one, two, three)
    stayed = other.pane()
    for pane in (one, two, three, one):
        press(client, NEXT)
        until(lambda pane=pane: client.pane() == pane, what=f"the client is at {pane}")
        until(lambda: "permission · waited 3m · 2 left · Bash: rm -rf build" in last_line(client))
    assert other.pane() == stayed
    assert "permission" not in other.text()
    assert keys.called() == ""
    # Back leads to where the chain began.
    navigate.back(
        Server(str(tmux.socket)),
        next(c for c in clients(Server(str(tmux.socket))) if c.name == client.name),
    )
    assert client.session() == "home"


def test_next_remembers_the_place_that_one_went_to_by_hand(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    one, two = tmux.new_session("one"), tmux.new_session("two")
    keys = Keys(tmux)
    client = tmux.attach("home")
    server = Server(str(tmux.socket))
    keys.queue(one, two)
    press(client, NEXT)
    until(lambda: client.pane() == one)
    hand = tmux.new_session("hand")
    tmux.tmux("switch-client", "-c", client.name, "-t", "=hand")
    press(client, NEXT)
    until(lambda: client.pane() == one)
    press(client, NEXT)
    until(lambda: client.pane() == two)
    navigate.back(server, clients(server)[0])
    assert client.pane() == hand


@pytest.mark.parametrize(
    ("since_s", "said"), [(8, "8s"), (59 * 60 + 30, "59m"), (2 * 3600 + 301, "2h 5m"), (0, "0s")]
)
def test_the_landing_line_tells_how_long(tmux: TmuxServer, since_s: int, said: str) -> None:
    tmux.new_session("home")
    one = tmux.new_session("one")
    keys = Keys(tmux)
    client = tmux.attach("home")
    since = int(time.time() * 1000) - since_s * 1000
    keys.publisher.publish(View("", 1, 1, "", (Stop(one, "stopped", since, "All done."),)))
    press(client, NEXT)
    until(lambda: "stopped · waited" in last_line(client))
    line = last_line(client)
    assert "none left · All done." in line
    if since_s > 60:
        assert f"waited {said} ·" in line


def test_the_landing_line_can_be_switched_off(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    one = tmux.new_session("one")
    keys = Keys(tmux, TRAILBOSS_UI_LANDING_LINE="off")
    client = tmux.attach("home")
    keys.queue(one)
    press(client, NEXT)
    until(lambda: client.pane() == one)
    holds(lambda: "waited" not in client.text(), 0.5)


def test_b37_a_hostile_question_is_shown_literally(tmux: TmuxServer) -> None:
    tmux.new_session("home", size=(200, 30))
    one = tmux.new_session("one", size=(200, 30))
    keys = Keys(tmux)
    client = tmux.attach("home", size=(200, 30))
    mark = tmux.sandbox.root / "PWN"
    text = f"#(touch {mark}) #[fg=red]r ##x #{{pane_id}},%H %s }} `id` '; \" run-shell #"
    keys.queue(one, question=text, elsewhere=text[:50])
    press(client, NEXT)
    until(lambda: f"{text} · {text[:50]}" in client.text(), what="both texts as they are")
    holds(lambda: not mark.exists(), 0.5)


def test_nothing_ready_is_said_and_moves_nobody(tmux: TmuxServer) -> None:
    pane = tmux.new_session("home")
    keys = Keys(tmux)
    client = tmux.attach("home")
    press(client, NEXT)
    until(lambda: "Trail Boss is not running" in last_line(client))
    keys.queue()
    press(client, NEXT)
    until(lambda: "nothing is ready" in last_line(client))
    keys.publisher.publish(View("", 2, 0, "", (Stop(pane, "stopped", 1, "q", ready=False),)))
    press(client, NEXT)
    until(lambda: "nothing is ready (2 cooling or snoozed)" in last_line(client))
    keys.publisher.publish(View("", 1, 1, "api is on another server (tmux -S /x attach)"))
    press(client, NEXT)
    until(lambda: "api is on another server (tmux -S /x attach)" in last_line(client))
    assert client.pane() == pane
    assert keys.called() == ""


def test_a_stale_option_makes_the_command_take_over(tmux: TmuxServer) -> None:
    home = tmux.new_session("home")
    one = tmux.new_session("one")
    keys = Keys(tmux)
    client = tmux.attach("home")
    keys.queue(one)
    tmux.tmux("kill-session", "-t", "=one")
    press(client, NEXT)
    until(lambda: f"next --from-key --client {client.name}" in keys.called())
    assert client.pane() == home


def test_next_in_a_session_group_stays_in_ones_own_session(tmux: TmuxServer) -> None:
    first = tmux.new_session("alpha")
    second = tmux.new_window("alpha")
    tmux.tmux("new-session", "-d", "-s", "alpha2", "-t", "=alpha")
    keys = Keys(tmux)
    a, b = tmux.attach("alpha"), tmux.attach("alpha2")
    keys.queue(second)
    press(a, NEXT)
    until(lambda: a.pane() == second)
    assert (a.session(), b.session(), b.pane()) == ("alpha", "alpha2", first)
    until(lambda: "permission · waited" in last_line(a))
    tmux.tmux("select-window", "-t", "alpha:0")
    press(b, NEXT)
    until(lambda: b.pane() == second)
    assert (a.session(), a.pane(), b.session()) == ("alpha", first, "alpha2")
    assert keys.called() == ""


def test_next_to_a_window_that_other_sessions_share_asks_the_command(tmux: TmuxServer) -> None:
    home = tmux.new_session("home")
    tmux.new_session("alpha")
    second = tmux.new_window("alpha")
    tmux.tmux("new-session", "-d", "-s", "alpha2", "-t", "=alpha")
    keys = Keys(tmux)
    client = tmux.attach("home")
    keys.queue(second)
    press(client, NEXT)
    until(lambda: f"next --from-key --client {client.name}" in keys.called())
    assert client.pane() == home


def test_next_keeps_a_zoomed_window_zoomed(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    one = tmux.new_session("one")
    two = tmux.tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", one)
    tmux.tmux("resize-pane", "-Z", "-t", one)
    keys = Keys(tmux)
    client = tmux.attach("home")
    keys.queue(two, one)
    for pane in (two, one):
        press(client, NEXT)
        until(lambda pane=pane: client.pane() == pane)
        assert tmux.show("#{window_zoomed_flag}", pane) == "1"


def test_b31_the_popup_names_the_client_that_asked_for_it(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    keys = Keys(tmux)
    a, b = tmux.attach("home"), tmux.attach("home")
    b.type("x")
    press(a, POPUP)
    until(lambda: f"popup TB_CLIENT={a.name}" in keys.called())
    b.type("x")
    a.type("\n")
    until(lambda: len(keys.called().splitlines()) == 1)


@pytest.mark.parametrize("size", [(120, 40), (59, 17), (40, 12), (40, 10), (20, 6), (10, 3)])
def test_b42_the_popup_opens_on_any_client(tmux: TmuxServer, size: tuple[int, int]) -> None:
    tmux.new_session("home", size=size)
    keys = Keys(tmux, command="echo shown; read -r _; exit 0;")
    client = tmux.attach("home", size=size)
    press(client, POPUP)
    until(lambda: "shown" in client.text(), what="the popup is open")
    client.resize(15, 4)
    client.resize(*size)
    client.type("\n")
    until(lambda: "shown" not in client.text(), what="the popup is closed")
    assert keys.called() == ""


def test_b43_a_popup_that_cannot_start_says_so_until_a_key(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    Keys(tmux, command="/nowhere/trailboss")
    client = tmux.attach("home")
    press(client, POPUP)
    until(lambda: "/nowhere/trailboss" in client.text())
    assert "Trail Boss could not open. Press Enter." in client.text()
    client.type("\n")
    until(lambda: "could not open" not in client.text())


def test_b43_a_verb_that_cannot_start_says_so(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    Keys(tmux, command="/nowhere/trailboss")
    client = tmux.attach("home")
    press(client, SKIP)
    until(lambda: "/nowhere/trailboss skip" in client.text())


@pytest.mark.parametrize(("key", "verb"), [(SKIP, "skip"), (BACK, "back"), (RETURN, "return")])
def test_the_keys_that_run_a_verb(tmux: TmuxServer, key: str, verb: str) -> None:
    tmux.new_session("home")
    keys = Keys(tmux)
    client = tmux.attach("home")
    press(client, key)
    until(lambda: f"{verb} --from-key --client {client.name}" in keys.called())


def home_session(tmux: TmuxServer) -> tuple[str, str]:
    """A session as `trailboss start` makes it, its window renamed; (dashboard, preview)."""
    top = tmux.new_session(SESSION)
    below = tmux.tmux("split-window", "-d", "-v", "-P", "-F", "#{pane_id}", "-t", top)
    tmux.tmux("set-option", "-p", "-t", top, ROLE, DASHBOARD)
    tmux.tmux("set-option", "-p", "-t", below, ROLE, PREVIEW)
    tmux.tmux("rename-window", "-t", top, "x, {y}")
    return top, below


def test_return_and_down_in_the_dashboard(tmux: TmuxServer) -> None:
    tmux.tmux("start-server", ";", "set-option", "-g", "exit-empty", "off")
    tmux.new_session("home")
    tmux.tmux("set-option", "-g", "base-index", "1")
    tmux.tmux("set-option", "-g", "pane-base-index", "1")
    top, below = home_session(tmux)
    third = tmux.new_window(SESSION)
    keys = Keys(tmux)
    client, other = tmux.attach("home"), tmux.attach("home")
    stayed = other.pane()
    press(client, RETURN)
    until(lambda: client.pane() == top)
    press(client, DOWN)
    until(lambda: client.pane() == below)
    tmux.tmux("select-window", "-t", third)
    press(client, DOWN)
    until(lambda: client.pane() == below)
    press(client, RETURN)
    until(lambda: client.pane() == top)
    assert other.pane() == stayed
    assert keys.called() == ""


def test_down_elsewhere_is_tmuxs_own(tmux: TmuxServer) -> None:
    top = tmux.new_session("work")
    below = tmux.tmux("split-window", "-d", "-v", "-P", "-F", "#{pane_id}", "-t", top)
    home_session(tmux)
    Keys(tmux)
    client = tmux.attach("work")
    press(client, DOWN)
    until(lambda: client.pane() == below)
    # It repeats without the prefix, as tmux's own does.
    press(client, DOWN)
    until(lambda: client.pane() == top)
    client.type(DOWN)
    until(lambda: client.pane() == below)


def test_keys_of_the_config(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    one = tmux.new_session("one")
    keys = Keys(tmux, TRAILBOSS_KEYS_NEXT="'", TRAILBOSS_KEYS_SKIP="C-s", TRAILBOSS_KEYS_BACK=";")
    client = tmux.attach("home")
    keys.queue(one)
    press(client, "'")
    until(lambda: client.pane() == one)
    press(client, "\x13")
    until(lambda: "skip --from-key" in keys.called())
    press(client, ";")
    until(lambda: "back --from-key" in keys.called())


def test_b45_uninstalling_gives_every_key_back(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    tmux.tmux("bind-key", "x", "display-message", "mine")
    tmux.tmux("unbind-key", "z")
    before, options = tmux.tmux("list-keys"), tmux.tmux("show-options", "-g")
    environment = tmux.tmux("show-environment", "-gh")
    keys = Keys(tmux, TRAILBOSS_KEYS_NEXT="n", TRAILBOSS_KEYS_SKIP="'", TRAILBOSS_KEYS_BACK=";")
    server = Server(str(tmux.socket))
    assert tmux.tmux("list-keys") != before
    assert tmux.tmux("show-options", "-g") == options
    assert bindings.taken(server, keys.config) == []
    assert server.source(bindings.unbind_lines(server)) == []
    assert tmux.tmux("list-keys") == before
    assert tmux.tmux("show-environment", "-gh") == environment
    assert bindings.unbind_lines(server) == []


def test_b45_a_key_of_the_users_own_is_named(tmux: TmuxServer) -> None:
    tmux.new_session("home")
    server = Server(str(tmux.socket))
    plain = config.load({"HOME": str(tmux.sandbox.home)})
    assert bindings.taken(server, plain) == []
    tmux.tmux("bind-key", "g", "run-shell", "lazygit")
    tmux.tmux("bind-key", "-r", "Down", "resize-pane", "-D")
    found = {t.verb: t for t in bindings.taken(server, plain)}
    assert set(found) == {"popup", "preview"}
    assert found["popup"].key == "g"
    assert "lazygit" in found["popup"].bound_to
    # A key of tmux's own that the user chose for us is the user's to give.
    chosen = config.load({"TRAILBOSS_KEYS_NEXT": "n", "HOME": str(tmux.sandbox.home)})
    assert "next" not in {t.verb for t in bindings.taken(server, chosen)}


def test_no_key_is_typed_into_a_pane(sandbox: Sandbox, tmp_path: Path) -> None:
    text = bindings.bindings("/usr/bin/trailboss", config.load({"HOME": str(tmp_path)}))
    for word in ("send-" + "keys", "paste-" + "buffer", "send -"):
        assert word not in text
