"""Our keys in tmux: a file of bindings that is ours, and one line in tmux.conf that sources it."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from trailboss import config as configuration
from trailboss import paths
from trailboss.config import Config
from trailboss.install import command, files, tmux_live
from trailboss.install.files import Refused, Snapshot
from trailboss.install.plan import Plan
from trailboss.install.tmux_lines import bound_keys, our_line, source_line, with_line, without_line
from trailboss.tmux import bindings
from trailboss.tmux.server import Server, quote

#: How our file of bindings begins.
HEAD = "# Written by `trailboss install tmux`"

# The status line is the person's: it is not touched, only shown how.
_STATUS = "#{@trailboss_status}"
STATUS_HINT = f"for a count in the status line, add to tmux.conf: set -ag status-right ' {_STATUS}'"


def keys_file(env: Mapping[str, str]) -> Path:
    """Our file of bindings."""
    return (_config_home(env) / "trailboss" / "tmux.conf").absolute()


def conf_files(env: Mapping[str, str]) -> list[Path]:
    """The places where tmux looks for the user's configuration, the most usual first.

    Each file once: ~/.tmux.conf is often a link to one of the others.
    """
    places = [
        _home(env) / ".tmux.conf",
        _config_home(env) / "tmux" / "tmux.conf",
        _home(env) / ".config" / "tmux" / "tmux.conf",
    ]
    seen: dict[str, Path] = {}
    for place in places:
        seen.setdefault(os.path.realpath(place), place.absolute())
    return list(seen.values())


def _conf(env: Mapping[str, str]) -> Snapshot:
    """The tmux.conf that has our line, else the first that is there, else the first."""
    found = [files.read(place, 0o644) for place in conf_files(env)]
    there = [each for each in found if each.data is not None or each.path.is_symlink()]
    ours = [each for each in there if our_line(_text(each.data or b"")) is not None]
    return (ours or there or found)[0]


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or os.path.expanduser("~"))


def _config_home(env: Mapping[str, str]) -> Path:
    return Path(env.get("XDG_CONFIG_HOME") or _home(env) / ".config")


def plan_install(env: Mapping[str, str]) -> Plan:
    """Raises Refused where a file cannot be read or written, or a file of ours is not ours."""
    config = configuration.load(env)
    program = command.find("trailboss", env)
    conf = _conf(env)
    keys = files.read(keys_file(env), 0o644)
    if keys.data is not None and not _text(keys.data).startswith(HEAD):
        raise Refused(f"{keys.path} is not ours: move it away and run this again")

    plan = Plan("tmux", notes=list(config.warnings))
    servers = tmux_live.running(env, config)
    taken = _taken(_text(conf.data or b""), servers, config)
    for verb, (key, bound_to) in taken.items():
        plan.notes.append(
            f"prefix {key} is yours already ({bound_to}): it stays, and {verb} has no key until "
            f"{bindings.KEYS[verb][0]} in {paths.config_file(env)} names another one"
        )
    plan.change(keys, _bytes(keys_text(program, config, taken)))
    plan.change(conf, _bytes(with_line(_text(conf.data or b""), source_line(keys.path))))
    count = len(bindings.KEYS) - len(taken)
    stale = [each for each in servers if plan.changes or not tmux_live.has_keys(each, count)]
    if stale:
        plan.pending.append(f"the keys go into the running tmux at once: {_named(stale)}")
    plan.done = f"the keys are in {keys.path}, which {conf.path} sources"

    def finish() -> list[str]:
        lines = [said for each in stale for said in tmux_live.load(each, keys.path)]
        return lines if _STATUS in _text(conf.data or b"") else [*lines, STATUS_HINT]

    plan.finish = finish
    return plan


def plan_uninstall(env: Mapping[str, str]) -> Plan:
    """Raises Refused where a file cannot be read or written."""
    plan = Plan("tmux", done="no keys of ours are there")
    done_with: list[Snapshot] = []
    for place in conf_files(env):
        conf = files.read(place, 0o644)
        if conf.data is not None and our_line(_text(conf.data)) is not None:
            after = _restored(conf)
            lossless = _holds_all(after, files.backup_data(conf.path))
            plan.change(conf, after, backup=not lossless)
            if lossless:
                done_with.append(conf)
    keys = files.read(keys_file(env), 0o644)
    if keys.data is not None and _text(keys.data).startswith(HEAD):
        plan.change(keys, None, backup=False)
        done_with.append(keys)
    servers = [
        each for each in tmux_live.running(env, configuration.load(env)) if tmux_live.has_ours(each)
    ]
    if servers:
        plan.pending.append(f"our keys are taken out of the running tmux: {_named(servers)}")
    if plan.changes or servers:
        plan.done = "our keys are out of " + ", ".join(
            [str(each.snapshot.path) for each in plan.changes]
            + ["the running tmux"] * bool(servers)
        )

    def finish() -> list[str]:
        for each in done_with:
            files.forget_backups(each.path)
        with contextlib.suppress(OSError):
            keys.path.parent.rmdir()
        return [said for each in servers for said in tmux_live.unload(each, paths.state_dir(env))]

    plan.finish = finish
    return plan


def _named(servers: list[Server]) -> str:
    return ", ".join(each.socket for each in servers)


def _taken(conf: str, servers: list[Server], config: Config) -> dict[str, tuple[str, str]]:
    """verb: (key, what the user has it bound to), in their tmux.conf or in a running server."""
    written = bound_keys(conf)
    out = tmux_live.taken(servers, config)
    for verb, (name, _) in bindings.KEYS.items():
        key = str(config[name])
        if key in written and not bindings.ours(written[key]):
            out[verb] = key, written[key]
    return out


def _restored(conf: Snapshot) -> bytes | None:
    """tmux.conf without our line; None when the file came with it."""
    text = _text(conf.data or b"")
    line = our_line(text) or ""
    clean = [old for each in files.backup_data(conf.path) if our_line(old := _text(each)) is None]
    if not clean and with_line("", line) == text:
        return None
    done = [old for old in clean if without_line(text, old) == old]
    return _bytes(done[0] if done else without_line(text))


def _holds_all(data: bytes | None, backups: list[bytes]) -> bool:
    """Whether the backups have no line that is not in the file: they can go then."""
    for each in backups:
        lines = iter(_text(data or b"").splitlines())
        if not all(line in lines for line in without_line(_text(each)).splitlines()):
            return False
    return True


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def keys_text(program: str, config: Config, left_out: Iterable[str] = ()) -> str:
    """The file of bindings without those of the verbs in `left_out`."""
    text = bindings.bindings(shlex.quote(program), config)
    notes = [f" -N {quote(bindings.KEYS[verb][1])} " for verb in left_out]
    lines = text.splitlines(keepends=True)
    return "".join(each for each in lines if not any(note in each for note in notes))
