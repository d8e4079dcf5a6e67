"""Many captures in one invocation, with panes that are gone among them."""

from __future__ import annotations

from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from trailboss.tmux.screens import capture
from trailboss.tmux.server import Server


def test_capture(tmux: TmuxServer) -> None:
    one = tmux.new_session("one", "sh", "-c", "printf 'first é\\nsecond'; exec cat", size=(40, 10))
    two = tmux.new_session("two", "sh", "-c", "printf '\\033[?1049hfull'; exec cat", size=(90, 20))
    until(lambda: "second" in tmux.screen(one) and "full" in tmux.screen(two))
    shots = capture(Server(str(tmux.socket)), [one, "%999", two, one, "bad; kill-server"])
    assert set(shots) == {one, two}
    assert [line.rstrip() for line in shots[one].lines[:2]] == ["first é", "second"]
    assert (shots[one].width, shots[one].height, shots[one].alternate) == (40, 10, False)
    assert (shots[two].width, shots[two].alternate) == (90, True)
    assert capture(Server(str(tmux.socket)), []) == {}
