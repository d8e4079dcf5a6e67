"""The home session `trail-boss`: its dashboard window, the broker's window, and what is missing.

A pane of ours is known by a pane option, never by its index (base-index may be 1) or by its
window's name (people rename windows).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from trailboss import paths
from trailboss.tmux.server import NoServer, Server, TmuxError

SESSION = "trail-boss"
ROLE = "@trailboss_role"
DASHBOARD, PREVIEW, BROKER = "dashboard", "preview", "broker"

#: Share of the dashboard's window that the preview below it takes.
PREVIEW_SHARE = "40%"

#: A window gets the tmux server's environment, which may be that of another day and shell: these
#: are passed on, the first group as "" (which means unset) where they are not set.
_PLACES = (
    "TRAILBOSS_RUNTIME_DIR",
    "TRAILBOSS_STATE_DIR",
    "TRAILBOSS_CONFIG",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
)
_PASSED = (
    "HOME",
    "PATH",
    "TMPDIR",
    "TMUX_TMPDIR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "NO_COLOR",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "PYTHONPATH",
)


@dataclass(frozen=True, slots=True)
class HomePane:
    """A pane of ours on one server: what runs in it and where it is."""

    role: str
    pane_id: str
    dead: bool
    session_id: str
    window_id: str

    @property
    def target(self) -> str:
        """For switch-client and attach: right in session groups and linked windows too."""
        return f"{self.session_id}:{self.window_id}.{self.pane_id}"


def home_panes(server: Server) -> dict[str, HomePane]:
    """Our panes by role, those in the home session first; empty where no server runs.

    Raises TmuxTimeout, TmuxError.
    """
    row = (
        f"#{{pane_id}} #{{pane_dead}} #{{session_id}} #{{window_id}} #{{{ROLE}}}:#{{session_name}}"
    )
    try:
        listed = server.run("list-panes", "-a", "-f", f"#{{{ROLE}}}", "-F", row)
    except NoServer:
        return {}
    found: dict[str, HomePane] = {}
    for line in sorted(listed.splitlines(), key=lambda line: not line.endswith(f":{SESSION}")):
        words = line.split(" ", 4)
        if len(words) == 5:
            pane_id, dead, session_id, window_id, rest = words
            role = rest.partition(":")[0]
            found.setdefault(role, HomePane(role, pane_id, dead == "1", session_id, window_id))
    return found


def own_command(verb: str) -> tuple[str, ...]:
    """`trailboss VERB` by the very Python and package that run now.

    -P: a window may open in a directory that has its own `signal.py` or `trailboss/`.
    """
    return (sys.executable, "-I" if sys.flags.isolated else "-P", "-m", "trailboss", verb)


def ensure_dashboard(
    server: Server, env: Mapping[str, str], size: tuple[int, int] | None = None
) -> HomePane:
    """The dashboard's pane with the preview below it, whatever of them was missing or dead.

    `size` is (columns, rows) of the terminal that will show it. Moves no client.
    Raises TmuxError.
    """
    panes = home_panes(server)
    for role in (DASHBOARD, PREVIEW):
        if role in panes and panes[role].dead:
            _respawn(server, panes[role], env)
    if DASHBOARD not in panes:
        if PREVIEW in panes:
            _split(server, panes[PREVIEW], DASHBOARD, env)
        else:
            _window(server, DASHBOARD, env, size)
        panes = home_panes(server)
    dashboard = panes.get(DASHBOARD)
    if dashboard is None:
        raise TmuxError("the dashboard closed as soon as it was made")
    if PREVIEW not in panes:
        try:
            _split(server, dashboard, PREVIEW, env)
        except TmuxError as error:
            # In a window of a few rows the list matters more.
            if "no space" not in str(error):
                raise
    return dashboard


def ensure_broker_window(server: Server, env: Mapping[str, str]) -> None:
    """The broker's window, its program started unless it runs there. Raises TmuxError.

    A broker that ends at once takes its window with it: look at `home_panes` while waiting.
    """
    broker = home_panes(server).get(BROKER)
    if broker is None:
        _window(server, BROKER, env, None)
    elif broker.dead:
        _respawn(server, broker, env)


def _window(
    server: Server, role: str, env: Mapping[str, str], size: tuple[int, int] | None
) -> None:
    program = ("-n", role, *_program(role, env))
    try:
        server.run("has-session", "-t", f"={SESSION}")
    except TmuxError:
        shape = ("-x", str(size[0]), "-y", str(size[1])) if size else ()
        new = ("new-session", "-d", "-s", SESSION, *shape, *program)
        # In the same breath: with destroy-unattached on, tmux would end it before we come again.
        keep = ("set-option", "-t", f"={SESSION}:", "destroy-unattached", "off")
        server.run(*new, ";", *keep, ";", *_mark(f"={SESSION}:", role), timeout=10)
        return
    made = server.run("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", f"={SESSION}:", *program)
    _adopt(server, made, role)


def _split(server: Server, beside: HomePane, role: str, env: Mapping[str, str]) -> None:
    place = ("-l", PREVIEW_SHARE) if role == PREVIEW else ("-b", "-l", "60%")
    command = ("split-window", "-d", "-v", *place, "-P", "-F", "#{pane_id}", "-t", beside.pane_id)
    _adopt(server, server.run(*command, *_program(role, env)), role)


def _adopt(server: Server, pane: str, role: str) -> None:
    try:
        server.run(*_mark(pane, role))
    except TmuxError:
        # Its program has ended already; who looks for the pane next sees that.
        pass


def _respawn(server: Server, pane: HomePane, env: Mapping[str, str]) -> None:
    server.run("respawn-pane", "-k", "-t", pane.pane_id, *_program(pane.role, env))


def _mark(target: str, role: str) -> tuple[str, ...]:
    return ("set-option", "-p", "-t", target, ROLE, role)


def _program(role: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """The options and the command line of a pane. tmux runs several words without a shell."""
    passed = {
        name: value
        for name, value in env.items()
        if name in _PASSED or name.startswith("TRAILBOSS_")
    }
    for name in _PLACES:
        passed[name] = os.path.abspath(env[name]) if env.get(name) else ""
    options = [word for name, value in passed.items() for word in ("-e", f"{name}={value}")]
    command = own_command(role)
    if role == BROKER:
        # Its last words must outlive its window.
        log = str(paths.log_file(paths.state_dir(env)))
        keep = 'true >>"$0" && exec 2>>"$0"; exec "$@"'
        command = ("/bin/sh", "-c", keep, log, *command)
    words = (*options, "-c", env.get("HOME") or "/", "--", *command)
    # A last `;` of a word would end the tmux command.
    return tuple(f"{word[:-1]}\\;" if word.endswith(";") else word for word in words)
