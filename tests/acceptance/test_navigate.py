"""next, jump, skip, return and back: the client is at the pane, or knows why not."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.fake_broker import FakeBroker, item
from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import PtyClient, TmuxServer
from tests.harness.wait import holds, until
from trailboss import config
from trailboss.tmux import bindings
from trailboss.tmux.home import DASHBOARD, ROLE, SESSION
from trailboss.tmux.options import Publisher, Stop, View
from trailboss.tmux.server import Server

COMMAND = shlex.join([sys.executable, "-m", "trailboss"])


@pytest.fixture
def broker(sandbox: Sandbox) -> Iterator[FakeBroker]:
    serving = FakeBroker(sandbox)
    yield serving
    serving.stop()


@pytest.fixture
def other(sandbox: Sandbox) -> Iterator[TmuxServer]:
    """A second tmux server of the same user."""
    server = TmuxServer(sandbox, "other")
    sandbox.env["TRAILBOSS_TMUX_SOCKETS"] += f":{server.socket}"
    yield server
    server.close()


Done = subprocess.CompletedProcess[bytes]


def run(tmux: TmuxServer, *argv: str, pane: str | None = None, **env: str) -> Done:
    """A verb, in the environment of a program in that pane; without a pane, outside tmux."""
    inside = {"TMUX": f"{tmux.socket},{tmux.pid},0", "TMUX_PANE": pane} if pane else {}
    return tmux.sandbox.trailboss(*argv, env={**inside, **env})


def out(done: Done) -> str:
    return done.stdout.decode()


def err(done: Done) -> str:
    return done.stderr.decode()


def at(tmux: TmuxServer, session: str, pane: str | None, **fields: Any) -> dict[str, Any]:
    """An item in that pane of that server."""
    return item(session, pane_id=pane, tmux_socket=str(tmux.socket) if pane else None, **fields)


def two_waiting(tmux: TmuxServer, broker: FakeBroker) -> tuple[str, str, str]:
    """home, and two sessions that wait in panes of two others; the three panes."""
    home = tmux.new_session("home")
    one, two = tmux.new_session("one"), tmux.new_session("two")
    broker.put([at(tmux, "s-one", one, message="rm -rf build?"), at(tmux, "s-two", two)])
    return home, one, two


def test_b97_next_goes_round_from_wherever_one_is(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, one, two = two_waiting(tmux, broker)
    client, bystander = tmux.attach("home"), tmux.attach("home")
    named = ["--client", client.name]
    for verb, pane in [("next", one), ("jump-next", two), ("next", one)]:
        done = run(tmux, verb, *named)
        assert done.returncode == 0
        assert client.pane() == pane
        assert "stopped · waited 1m · 1 left" in out(done)
    assert bystander.pane() == home


def test_b97_the_only_one_is_not_left(tmux: TmuxServer, broker: FakeBroker) -> None:
    one = tmux.new_session("one")
    broker.put([at(tmux, "s-one", one)])
    client = tmux.attach("one")
    done = run(tmux, "next", pane=one)
    assert done.returncode == 0
    assert client.pane() == one
    assert "none left" in out(done)


def test_b97_the_head_is_where_one_is_so_the_other_is_next(
    tmux: TmuxServer, broker: FakeBroker
) -> None:
    _, one, two = two_waiting(tmux, broker)
    client = tmux.attach("one")
    assert run(tmux, "next", pane=one).returncode == 0
    assert client.pane() == two


def test_b97_nothing_ready(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, one, _ = two_waiting(tmux, broker)
    client = tmux.attach("home")
    held = "nothing is ready (1 cooling or snoozed)"
    for items, text in [([], "nothing is ready"), ([at(tmux, "x", one, ready=False)], held)]:
        broker.put(items)
        for verb in (["next"], ["next", "--print"], ["skip"]):
            done = run(tmux, *verb, pane=home)
            assert done.returncode == 1
            assert out(done) == ""
            assert text in err(done)
    assert client.pane() == home


def test_print_moves_nobody(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, one, _ = two_waiting(tmux, broker)
    client = tmux.attach("home")
    done = run(tmux, "next", "--print", pane=home)
    assert (done.returncode, out(done)) == (0, f"{one}\n")
    assert client.pane() == home


def test_nobody_answers(tmux: TmuxServer) -> None:
    pane = tmux.new_session("home")
    client = tmux.attach("home")
    for verb in (["next"], ["next", "--print"], ["jump", "abcd"], ["skip"]):
        done = run(tmux, *verb, pane=pane)
        assert done.returncode == 3
        assert len(err(done).splitlines()) == 1
    done = run(tmux, "next", "--from-key", "--client", client.name)
    assert (done.returncode, out(done), err(done)) == (0, "", "")
    until(lambda: "no broker is running" in client.text())


def test_a_stale_head_is_named_and_the_next_taken(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, one, two = two_waiting(tmux, broker)
    client = tmux.attach("home")
    tmux.tmux("kill-session", "-t", "=one")
    done = run(tmux, "next", pane=home)
    assert done.returncode == 0
    assert client.pane() == two
    assert f"the pane {one} of s-one is gone" in out(done)
    until(lambda: f"the pane {one} of s-one is gone" in client.text())


def test_b28_a_dead_pane_is_not_gone_to(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, _, two = two_waiting(tmux, broker)
    tmux.tmux("set-option", "-g", "remain-on-exit", "on")
    dead = tmux.new_window("home", "exit 1")
    until(lambda: tmux.show("#{pane_dead}", dead) == "1")
    client = tmux.attach("home")
    broker.put([at(tmux, "s-dead", dead), at(tmux, "s-two", two)])
    done = run(tmux, "next", pane=home)
    assert client.pane() == two
    assert f"the pane {dead} of s-dead is dead" in out(done)
    done = run(tmux, "jump", "s-dead", pane=two)
    assert done.returncode == 1
    assert "dead" in err(done)
    assert client.pane() == two


def test_b26_b35_a_head_on_another_server_is_named_and_blocks_nothing(
    tmux: TmuxServer, other: TmuxServer, broker: FakeBroker
) -> None:
    home, _, two = two_waiting(tmux, broker)
    far = other.new_session("far")
    assert far == home, "the same id on both servers"
    client = tmux.attach("home")
    elsewhere, lost = at(other, "s-far", far), at(tmux, "s-lost", None)
    broker.put([elsewhere, lost, at(tmux, "s-two", two)])
    done = run(tmux, "next", pane=home)
    assert done.returncode == 0
    assert client.pane() == two
    assert f"s-far is on another tmux server (tmux -S {other.socket} attach)" in out(done)
    assert "s-lost has no known pane" in out(done)
    broker.put([elsewhere])
    for verb in (["next"], ["jump", "s-far"]):
        done = run(tmux, *verb, pane=two)
        assert done.returncode == 1
        assert "another tmux server" in err(done)
        assert client.pane() == two


def test_b26_a_left_over_pane_variable_is_no_pane(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, one, _ = two_waiting(tmux, broker)
    a, b = tmux.attach("home"), tmux.attach("two")
    before = b.pane()
    done = tmux.sandbox.trailboss("next", env={"TMUX_PANE": home})
    assert done.returncode == 1
    assert (a.pane(), b.pane()) == (home, before)
    for name in (a.name, b.name):
        assert name in err(done)
    assert one not in out(done)


def test_b31_b32_in_a_popup(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, one, _ = two_waiting(tmux, broker)
    a, b = tmux.attach("home"), tmux.attach("home")
    popup = {"TMUX": f"{tmux.socket},{tmux.pid},0"}
    done = tmux.sandbox.trailboss("next", env=popup)
    assert done.returncode == 1
    assert "--client" in err(done)
    assert (a.pane(), b.pane()) == (home, home)
    done = tmux.sandbox.trailboss("next", env={**popup, "TB_CLIENT": a.name})
    assert done.returncode == 0
    assert (a.pane(), b.pane()) == (one, home)


def test_b32_outside_tmux(tmux: TmuxServer, other: TmuxServer, broker: FakeBroker) -> None:
    two_waiting(tmux, broker)
    one = broker.items[0]
    one["target"] = "one:0.0"
    done = tmux.sandbox.trailboss("next")
    assert done.returncode == 1
    assert f"waits in one:0.0 (tmux -S {tmux.socket} attach)" in err(done)
    assert "Traceback" not in err(done)
    client = tmux.attach("home")
    assert tmux.sandbox.trailboss("next").returncode == 0
    assert client.session() == "one"
    other.new_session("far")
    other.attach("far")
    done = tmux.sandbox.trailboss("next")
    assert done.returncode == 1
    assert client.session() == "one"


def test_jump_by_id_prefix_and_pane(tmux: TmuxServer, broker: FakeBroker) -> None:
    _, one, two = two_waiting(tmux, broker)
    broker.put([at(tmux, "abcd-1", one), at(tmux, "abcd-2", two)])
    client = tmux.attach("home")
    for wanted, pane in [("abcd-2", two), ("abcd-1", one), (two, two)]:
        done = run(tmux, "jump", wanted, pane=client.pane())
        assert done.returncode == 0
        assert client.pane() == pane
    for wanted, text in [("abcd", "could be any of"), ("abc", "no session"), ("%99", "no session")]:
        done = run(tmux, "jump", wanted, pane=two)
        assert done.returncode == 1
        assert text in err(done)
        assert client.pane() == two
    assert run(tmux, "jump", pane=two).returncode == 2


def test_skip_moves_to_the_new_head(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, _, two = two_waiting(tmux, broker)
    client = tmux.attach("home")
    done = run(tmux, "skip", pane=home)
    assert done.returncode == 0
    assert "skipped s-one; stopped" in out(done)
    assert client.pane() == two
    done = run(tmux, "skip", "--client", client.name)
    assert done.returncode == 0
    assert "nothing else is ready" in out(done)
    until(lambda: "skipped s-two; nothing else is ready" in client.text())
    assert client.pane() == two


def test_skip_with_nobody_attached_still_skips(tmux: TmuxServer, broker: FakeBroker) -> None:
    two_waiting(tmux, broker)
    done = tmux.sandbox.trailboss("skip")
    assert done.returncode == 0
    assert "skipped s-one; next is s-two" in out(done)


def test_skip_is_not_done_when_it_is_unclear_who_asks(tmux: TmuxServer, broker: FakeBroker) -> None:
    two_waiting(tmux, broker)
    tmux.attach("home")
    tmux.attach("home")
    assert tmux.sandbox.trailboss("skip").returncode == 1
    assert tmux.sandbox.trailboss("skip", "--client", "/dev/pts/none").returncode == 1
    assert broker.asked("queue.skip") == []


def test_return_and_back(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, one, _ = two_waiting(tmux, broker)
    client = tmux.attach("home")
    named = ["--client", client.name]
    done = run(tmux, "return", *named)
    assert done.returncode == 1
    assert "trailboss start" in err(done)
    assert run(tmux, "back", *named).returncode == 1
    top = tmux.new_session(SESSION)
    tmux.tmux("set-option", "-p", "-t", top, ROLE, DASHBOARD)
    assert run(tmux, "next", *named).returncode == 0
    assert client.pane() == one
    assert run(tmux, "next", *named).returncode == 0
    assert run(tmux, "back", *named).returncode == 0
    assert client.pane() == home
    assert run(tmux, "return", *named).returncode == 0
    assert client.pane() == top
    broker.stop()
    assert run(tmux, "back", *named).returncode == 1


def keys(tmux: TmuxServer) -> None:
    conf = tmux.sandbox.root / "keys.conf"
    conf.write_text(bindings.bindings(COMMAND, config.load(tmux.sandbox.env)))
    tmux.tmux("source-file", str(conf))
    # Keys within a millisecond count as pasted, and pasted keys are no bindings.
    tmux.tmux("set-option", "-g", "assume-paste-time", "0")


def type_until(client: PtyClient, key: str, pane: str) -> None:
    client.type("\x02" + key)
    until(lambda: client.pane() == pane, what=f"the client is at {pane}")


def test_the_keys_all_together(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, one, two = two_waiting(tmux, broker)
    top = tmux.new_session(SESSION)
    tmux.tmux("set-option", "-p", "-t", top, ROLE, DASHBOARD)
    keys(tmux)
    ring = (Stop(one, "stopped", 1, "q"), Stop(two, "stopped", 2, "q"))
    Publisher(Server(str(tmux.socket))).publish(View("⚠ 2 stuck", 2, 2, "", ring))
    client, bystander = tmux.attach("home"), tmux.attach("home")
    type_until(client, "\t", one)
    type_until(client, "\t", two)
    type_until(client, "b", home)
    client.type("\x02b")
    until(lambda: "nothing to go back to" in client.text())
    type_until(client, "B", top)
    type_until(client, "S", two)
    assert broker.asked("queue.skip") == [{}]
    type_until(client, "b", top)
    assert bystander.pane() == home
    assert "nothing" not in bystander.text()


def test_a_stale_key_falls_back_to_the_queue(tmux: TmuxServer, broker: FakeBroker) -> None:
    _, one, two = two_waiting(tmux, broker)
    keys(tmux)
    stale = (Stop(one, "stopped", 1, "q"),)
    Publisher(Server(str(tmux.socket))).publish(View("⚠ 1 stuck", 1, 1, "", stale))
    client = tmux.attach("home")
    tmux.tmux("kill-session", "-t", "=one")
    type_until(client, "\t", two)
    until(lambda: f"the pane {one} of s-one is gone" in client.text())


def test_a_shared_window_is_entered_where_nobody_is(tmux: TmuxServer, broker: FakeBroker) -> None:
    tmux.new_session("home")
    first = tmux.new_session("alpha")
    second = tmux.new_window("alpha")
    tmux.tmux("new-session", "-d", "-s", "alpha2", "-t", "=alpha")
    keys(tmux)
    broker.put([at(tmux, "s", second)])
    Publisher(Server(str(tmux.socket))).publish(
        View("⚠ 1 stuck", 1, 1, "", (Stop(second, "stopped", 1, "q"),))
    )
    client, bystander = tmux.attach("home"), tmux.attach("alpha")
    type_until(client, "\t", second)
    assert client.session() == "alpha2"
    assert bystander.pane() == first


def test_as6_nothing_moves_without_a_key(tmux: TmuxServer, broker: FakeBroker) -> None:
    home, one, two = two_waiting(tmux, broker)
    keys(tmux)
    client = tmux.attach("home")
    publisher = Publisher(Server(str(tmux.socket)))
    client.type("echo typ")
    for count in range(4):
        ring = tuple(Stop(p, "stopped", count, "q") for p in (one, two)[: count % 3])
        publisher.publish(View(f"⚠ {count} stuck", count, count, "", ring))
    client.type("ing\n")
    until(lambda: "\ntyping" in client.text())
    holds(lambda: client.pane() == home, 0.3)


def test_b37_hostile_names_and_messages_run_nothing(tmux: TmuxServer, broker: FakeBroker) -> None:
    home = tmux.new_session("home", size=(220, 30))
    mark = tmux.sandbox.root / "PWN"
    directory = tmux.sandbox.home / "p'$(touch PWN3)'q"
    directory.mkdir()
    one = tmux.tmux(
        "new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "one", "-c", str(directory)
    )
    tmux.tmux("set-option", "-g", "automatic-rename", "off")
    tmux.tmux("rename-window", "-t", one, f"##(touch {mark}1)")
    client = tmux.attach("home", size=(220, 30))
    text = f"#(touch {mark}4) #[fg=red] #{{pane_id}} %H:%M `touch {mark}6` $(touch {mark}7)"
    broker.put(
        [at(tmux, "s-lost", None, title=f'"; touch {mark}5; "'), at(tmux, "s", one, message=text)]
    )
    done = run(tmux, "next", "--client", client.name)
    assert done.returncode == 0
    assert client.pane() == one
    assert text in out(done)
    until(lambda: text in client.text())
    client.type("\n")
    assert run(tmux, "back", "--client", client.name).returncode == 0
    assert client.pane() == home
    assert list(tmux.sandbox.root.rglob("PWN*")) == []


def test_help(sandbox: Sandbox) -> None:
    for verb in ("next", "jump-next", "jump", "skip", "return", "back"):
        done = sandbox.trailboss(verb, "--help")
        assert done.returncode == 0
        assert "--client" in out(done)
        assert "from-key" not in out(done)
        assert sandbox.trailboss(verb, "--nonsense").returncode == 2
