"""The Next key against a plain `switch-client` binding: key press to the client's first repaint.

    python -m tests.bench.bench_next [--rounds 60]

One private tmux server with many panes, one real client on a pty. The variants take turns in
every round, so that a noisy machine is equally noisy to all. The goal is 1.5 × or less.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import statistics
import time

from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from trailboss import config
from trailboss.tmux.bindings import bindings
from trailboss.tmux.options import Publisher, Stop, View
from trailboss.tmux.server import Server

PLAIN = "switch-client -t (plain)"
VARIANTS = {PLAIN: b"P", "Next": b"\t"}
SESSIONS = 30


class RawClient:
    """`tmux attach` on a pty, read here and now: no emulator between the bytes and the clock."""

    def __init__(self, tmux: TmuxServer, session: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            command = ["tmux", "-u", "-S", str(tmux.socket), "attach", "-t", f"={session}"]
            os.execvpe("tmux", command, tmux.sandbox.env)
        until(lambda: tmux.tmux("list-clients", "-F", "#{client_pid}"), what="the client is there")
        self.name = tmux.tmux("list-clients", "-F", "#{client_name}")
        self.settle()

    def settle(self, quiet_s: float = 0.03) -> None:
        """Read until nothing has come for that long."""
        while select.select([self.fd], [], [], quiet_s)[0]:
            os.read(self.fd, 65536)

    def press(self, key: bytes) -> float:
        """Seconds from a key, after the prefix, to the first bytes of the answer."""
        os.write(self.fd, b"\x02")
        self.settle()
        begin = time.perf_counter()
        os.write(self.fd, key)
        os.read(self.fd, 65536)
        return time.perf_counter() - begin

    def close(self) -> None:
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def measure(rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each press, by variant."""
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    sandbox = Sandbox()
    tmux = TmuxServer(sandbox)
    try:
        tmux.new_session("home")
        panes = [tmux.new_session(f"agent{n}") for n in range(SESSIONS)]
        write_keys(sandbox, tmux, panes[0])
        now = int(time.time() * 1000)
        ring = tuple(Stop(pane, "permission", now - 60_000, "Bash: make") for pane in panes)
        view = View("", len(ring), len(ring), "", ring)
        Publisher(Server(str(tmux.socket))).publish(view)
        client = RawClient(tmux, "home")
        for _ in range(rounds):
            for name, key in VARIANTS.items():
                times[name].append(client.press(key) * 1000)
                client.settle()
                landed = tmux.tmux("list-clients", "-F", "#{pane_id}")
                assert landed == panes[0], f"{name} landed on {landed}"
                tmux.tmux("switch-client", "-c", client.name, "-t", "=home")
                client.settle()
        client.close()
    finally:
        tmux.close()
        sandbox.close()
    return times


def write_keys(sandbox: Sandbox, tmux: TmuxServer, pane: str) -> None:
    conf = sandbox.root / "keys.conf"
    keys = bindings("trailboss", config.load(sandbox.env))
    conf.write_text(f"{keys}bind-key P switch-client -t {pane}\n")
    tmux.tmux("source-file", str(conf))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    times = measure(parser.parse_args().rounds)
    plain = statistics.median(times[PLAIN])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:<26} {median:6.2f} ms  {median / plain:5.2f} ×")


if __name__ == "__main__":
    main()
