"""A whole world in one sandbox: a tmux server, a broker, agents in panes, a person's client."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from tests.harness.broker import BrokerProcess
from tests.harness.sandbox import REPO, Sandbox
from tests.harness.tmux_server import PtyClient, TmuxServer
from tests.harness.wait import until
from tools.fake_agent.control import Control, command_line
from trailboss import config
from trailboss.tmux.bindings import bindings

EMIT = REPO / "bin" / "trailboss-emit"


class World:
    """`agent` starts one in a session of its own; `client` attaches a person to it all."""

    def __init__(self, sandbox: Sandbox, tmux: TmuxServer, broker: BrokerProcess) -> None:
        self.sandbox, self.tmux, self.broker = sandbox, tmux, broker
        self.panes: dict[str, str] = {}
        self.agents: list[Control] = []

    def agent(self, name: str, **more: object) -> Control:
        """A fake agent in the new tmux session `name`, with its hooks wired."""
        control = self.sandbox.root / f"{name}.ctl"
        words = command_line(control=control, emit=EMIT, **more)  # type: ignore[arg-type]
        directory = self.sandbox.home / name
        directory.mkdir(exist_ok=True)
        self.panes[name] = self.tmux.new_session(
            name, "sh", "-c", f"cd {shlex.quote(str(directory))} && {shlex.join(words)}; exec cat"
        )
        return self._connect(control)

    def again(self, name: str, pane: str, **more: object) -> Control:
        """Another agent in the same pane (the one before it has ended)."""
        control = self.sandbox.root / f"{name}.ctl"
        words = command_line(control=control, emit=EMIT, **more)  # type: ignore[arg-type]
        directory = self.sandbox.home / name
        directory.mkdir(exist_ok=True)
        self.panes[name] = pane
        self.tmux.tmux(
            "respawn-pane", "-k", "-t", pane, "sh", "-c",
            f"cd {shlex.quote(str(directory))} && {shlex.join(words)}; exec cat",
        )  # fmt: skip
        return self._connect(control)

    def _connect(self, control: Path) -> Control:
        agent = Control(control)
        self.agents.append(agent)
        return agent

    def client(self, session: str = "desk") -> PtyClient:
        """A person at a shell in the session `desk`, with the key bindings of the product."""
        if not self.tmux.tmux("list-sessions", "-F", "#{session_name}", check=False).count("desk"):
            self.tmux.new_session("desk", "cat")
        self.bind_keys()
        return self.tmux.attach(session)

    def bind_keys(self) -> None:
        """The shipped bindings, sourced as the user's tmux.conf would."""
        run = self.sandbox.root / "trailboss"
        if not run.exists():
            lines = ["#!/bin/sh"]
            lines += [
                f"export {k}={shlex.quote(v)}"
                for k, v in self.sandbox.env.items()
                if k.startswith(("TRAILBOSS_", "PYTHON", "HOME"))
            ]
            lines.append(f'exec {shlex.quote(sys.executable)} -m trailboss "$@"')
            run.write_text("\n".join(lines) + "\n")
            run.chmod(0o755)
        conf = self.sandbox.root / "keys.conf"
        conf.write_text(bindings(shlex.quote(str(run)), config.load(self.sandbox.env)))
        self.tmux.tmux("source-file", str(conf))

    def shown(self, option: str, value: str) -> None:
        """Until a global user option of the tmux server has this value."""
        until(lambda: self.tmux.option(option) == value, what=f"{option} is {value!r}")

    def close(self) -> None:
        for agent in self.agents:
            agent.close()
