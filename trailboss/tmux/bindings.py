"""The key bindings, as lines of a tmux configuration.

Next is native: `run-shell -C` expands formats for the client that pressed the key and runs the
result inside the server, so no process starts before the client has moved. Only ids, client
names and options that the broker wrote may stand in such a string; texts stay formats that
`display-message` itself expands last. All recipes were run on tmux 3.3a.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from trailboss.config import Config
from trailboss.tmux.home import DASHBOARD, PREVIEW, ROLE, SESSION
from trailboss.tmux.navigate import BACK, LANDED, MESSAGE_MS, NOT_LANDED, remembered
from trailboss.tmux.server import Server, TmuxError, quote

#: Hidden variables like those of `navigate`: commands that the Next key runs.
_OTHERWISE, _ARRIVE = "TRAILBOSS_OTHERWISE", "TRAILBOSS_ARRIVE"

#: verb: (config key, note for `prefix ?`)
KEYS = {
    "next": ("keys.next", "Trail Boss: go to the session that has waited longest"),
    "popup": ("keys.popup", "Trail Boss: the queue in a popup"),
    "skip": ("keys.skip", "Trail Boss: skip the head of the queue"),
    "return": ("keys.return", "Trail Boss: go to the dashboard"),
    "back": ("keys.back", "Trail Boss: go back to where you were"),
    "preview": ("keys.preview", "Select the pane below the active pane (Trail Boss: the preview)"),
}

# How long the target waits, from the option in ms; %s is made the present second by strftime.
_SECONDS = "#{e|/:#{e|-:%s000,#{@trailboss_since}},1000}"
_MINUTES = f"#{{e|/:{_SECONDS},60}}"
_WAITED = (
    f"#{{?#{{e|<:{_SECONDS},60}},{_SECONDS}s,#{{?#{{e|<:{_MINUTES},60}},{_MINUTES}m,"
    f"#{{e|/:{_MINUTES},60}}h #{{e|m:{_MINUTES},60}}m}}}}"
)
_LEFT = "#{?#{e|>:#{@trailboss_ready},1},#{e|-:#{@trailboss_ready},1} left,none left}"
#: Reason, wait, what is left, the question, and a head that is elsewhere.
LANDING = (
    f"#{{@trailboss_state}} · waited {_WAITED} · {_LEFT}"
    "#{?@trailboss_landing, · #{@trailboss_landing},}"
    "#{?@trailboss_elsewhere, · #{@trailboss_elsewhere},}"
)
_NOTHING = (
    "#{?@trailboss_elsewhere,#{@trailboss_elsewhere},"
    "#{?#{==:#{@trailboss_depth},},Trail Boss is not running (trailboss start),"
    "nothing is ready#{?#{e|>:#{@trailboss_depth},0}, (#{@trailboss_depth} cooling or snoozed),}}}"
)


@dataclass(frozen=True, slots=True)
class Taken:
    """A key that the user has bound to something else."""

    verb: str
    key: str
    bound_to: str


def bindings(command: str, config: Config) -> str:
    """The text of the file that tmux.conf sources: a comment, then one line for each verb.

    `command` is the absolute `trailboss` command as words of sh, quoted: the server's PATH is
    not the user's (case B43).
    """
    following, parts = _next(command, bool(config["ui.landing_line"]))
    body = {
        "next": following,
        "popup": _popup(command),
        "skip": _background(command, "skip"),
        "return": _return(command),
        "back": _background(command, "back"),
        "preview": _preview(),
    }
    lines = [
        "# Written by `trailboss install tmux`; `trailboss uninstall tmux` takes it out again."
    ]
    for verb, (key, note) in KEYS.items():
        repeat = "-r " if verb == "preview" else ""
        name = quote(str(config[key]))
        before = "".join(f"{part} ; " for part in parts) if verb == "next" else ""
        lines.append(f"{before}bind-key {repeat}-N {quote(note)} {name} {body[verb]}")
    return "\n".join(lines) + "\n"


def expanded(commands: str, flags: str = "", **now: str) -> str:
    """`run-shell -C` of commands in which only the marks `<name>` of `now` are expanded.

    Each value of `now` is a format, expanded for the client that pressed the key (with `-t PANE`
    among the flags: for that pane); every other format is left for the command it belongs to.
    """
    text = commands.replace("#", "##")
    for mark, fmt in now.items():
        text = text.replace(f"<{mark}>", fmt)
    return " ".join(["run-shell", "-C", *flags.split(), quote(text)])


def _next(command: str, landing: bool) -> tuple[str, list[str]]:
    """The key's command, and lines that put its rarer parts into the environment.

    The client moves first; the line that it is shown waits until it is redrawn (`-d`, seconds).
    The parts lie in the environment since tmux writes each command that a key runs into its
    message log, with all that is inside it, and that would be half of the time the key takes.
    """
    landed, back = _of_client(LANDED), _of_client(BACK)
    marks = {
        "client": "#{client_name}",
        "pid": "#{client_pid}",
        "next": "#{@trailboss_next}",
        "session": "#{session_id}",
        "landed": landed,
        "back": f"#{{?#{{==:#{{pane_id}},{landed}}},{back},"
        "#{session_id}:#{window_id}.#{pane_id}}",
    }
    later = f"run-shell -b -d 0.002 -C '#{{{_ARRIVE}}}'"
    # A window that several sessions have: the copy in the client's own session. Without one the
    # command takes over, which looks at who is attached where.
    own = "#{m:*#,#{client_session}#,*,#,#{window_linked_sessions_list}#,}"
    copy = expanded(
        _jump("<session>:<its_window>.<next>"), flags="-t '<next>'", its_window="#{window_id}"
    )
    shared = expanded(f"if-shell -F -t '<next>' '{own}' {{ {copy} }} {{ {_leave()} }}", **marks)
    nothing = f"display-message -d {MESSAGE_MS} {quote(_NOTHING)}"
    parts = {
        _OTHERWISE: f"if-shell -F '#{{@trailboss_next}}' {{ {later} ; {shared} }} {{ {nothing} }}",
        _ARRIVE: _arrive(command, landing),
    }
    usual = "#{&&:#{@trailboss_next},#{==:#{@trailboss_shared},}}"
    move = expanded(f"{later} ; {_jump('<next>')}", **marks)
    key = f"if-shell -F '{usual}' {{ {move} }} {{ run-shell -C '#{{{_OTHERWISE}}}' }}"
    return key, [f"set-environment -gh {name} {quote(text)}" for name, text in parts.items()]


def _of_client(name: str) -> str:
    """A format: that variable of the client, whose name is made first and then expanded (E:)."""
    return f"#{{E:##{{{name}#{{client_pid}}#}}}}"


def _leave() -> str:
    return f"set-environment -gh {LANDED}<pid> '{NOT_LANDED}<landed>'"


def _jump(target: str) -> str:
    """What `navigate.jump` does. What follows a refused command in the same block is not run."""
    return " ; ".join(
        [
            _leave(),
            f"switch-client -Z -c '<client>' -t '{target}'",
            f"set-environment -gh {BACK}<pid> '<back>'",
            f"set-environment -gh {LANDED}<pid> '<next>'",
        ]
    )


def _arrive(command: str, landing: bool) -> str:
    """Say why one is here; where the move was refused, the command takes over."""
    line = f"display-message -d {MESSAGE_MS} -c '<client>' -t '<pane>' '{LANDING}'"
    return expanded(
        f"if-shell -F '#{{m:{NOT_LANDED}*,#{{{LANDED}<pid>}}}}' "
        f"{{ {_background(command, 'next')} }} {{ {line if landing else ''} }}",
        client="#{client_name}",
        pid="#{client_pid}",
        pane="#{pane_id}",
    )


def _popup(command: str) -> str:
    """Four fifths of the client, all of a small one, without a border on a tiny one (case B42)."""
    failed = "echo; echo Trail Boss could not open. Press Enter.; read -r _"
    script = f"{command} popup || {{ {failed}; }}"
    small = "#{||:#{e|<:#{client_width},60},#{e|<:#{client_height},18}}"
    tiny = "#{||:#{e|<:#{client_width},30},#{e|<:#{client_height},10}}"
    return expanded(
        "display-popup <border> -c '<client>' -t '<pane>' -e 'TB_CLIENT=<client>' "
        f"-w '<width>' -h '<height>' -E /bin/sh -c {quote(script)}",
        client="#{client_name}",
        pane="#{pane_id}",
        width=f"#{{?{small},100%,80%}}",
        height=f"#{{?{small},100%,60%}}",
        border=f"#{{?{tiny},-B,}}",
    )


def _return(command: str) -> str:
    pane = _home_pane(DASHBOARD)
    move = expanded(
        "switch-client -Z -c '<client>' -t '<pane>'", client="#{client_name}", pane=pane
    )
    return f"if-shell -F '{pane}' {{ {move} }} {{ {_background(command, 'return')} }}"


def _preview() -> str:
    """In the home session the preview's pane, wherever the session is; else tmux's own Down."""
    pane = _home_pane(PREVIEW)
    move = expanded(
        "switch-client -Z -c '<client>' -t '<pane>'", client="#{client_name}", pane=pane
    )
    inside = f"#{{&&:#{{==:#{{session_name}},{SESSION}}},{pane}}}"
    return f"if-shell -F '{inside}' {{ {move} }} {{ select-pane -D }}"


def _home_pane(role: str) -> str:
    """A format: the id of the home session's pane of that role, or nothing."""
    panes = f"#{{P:#{{?#{{==:#{{{ROLE}}},{role}}},#{{pane_id}},}}}}"
    return f"#{{S:#{{?#{{==:#{{session_name}},{SESSION}}},#{{W:{panes}}},}}}}"


def _background(command: str, verb: str) -> str:
    """A verb in the background; with --from-key it says what it has to say in the client only.

    (tmux lays a job's output, and a status that is not 0, over the user's pane. So it does when
    the command is not there, which is then to be read until a key.)
    """
    script = f"{command} {verb} --from-key --client ".replace("#", "##")
    return f"run-shell -b {quote(script + '#{q:client_name}')}"


def taken(server: Server | None, config: Config) -> list[Taken]:
    """Our keys that are bound to something else on a running server, and not by tmux itself.

    Without a server: none. Raises TmuxError.
    """
    if server is None:
        return []
    bound, usual = _prefix_keys(server), _defaults()
    out = []
    for verb, (name, _) in KEYS.items():
        key = str(config[name])
        to = bound.get(key)
        if to is not None and not ours(to) and to != usual.get(key):
            out.append(Taken(verb, key, to.split(None, 1)[-1]))
    return out


def unbind_lines(server: Server) -> list[str]:
    """The lines that take our bindings off a running server and give tmux's own keys back."""
    usual = _defaults()
    lines = []
    for key, line in _prefix_keys(server).items():
        if ours(line):
            lines.append(usual.get(key) or f"unbind-key -T prefix {quote(key)}")
    if lines:
        lines += [f"set-environment -gu {name}" for name in remembered(server)]
    return lines


def ours(line: str) -> bool:
    """Whether a line of list-keys is a binding of this module."""
    return "@trailboss_" in line or "TB_CLIENT" in line or "--from-key" in line or SESSION in line


_BOUND = re.compile(r"bind-key +(?:-r +)?-T prefix +(\S+) +(.*)")


def _prefix_keys(server: Server) -> dict[str, str]:
    """key: its whole line of `list-keys`, which is a command that binds it again."""
    return _parse_keys(server.run("list-keys", "-T", "prefix"))


def _parse_keys(text: str) -> dict[str, str]:
    out = {}
    for line in text.splitlines():
        if match := _BOUND.match(line):
            key = match[1]
            out[key[1:] if key[0] == "\\" and len(key) > 1 else key] = line
    return out


def _defaults() -> dict[str, str]:
    """The prefix keys of this tmux before any configuration: a server that ends by itself."""
    with tempfile.TemporaryDirectory(prefix="tb-") as directory:
        tmux = ["tmux", "-u", "-S", str(Path(directory) / "s"), "-f", "/dev/null"]
        try:
            done = subprocess.run(
                [*tmux, "start-server", ";", "list-keys", "-T", "prefix"],
                capture_output=True,
                timeout=5,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise TmuxError(f"tmux cannot be run: {error}") from None
    return _parse_keys(done.stdout.decode("utf-8", "replace"))
