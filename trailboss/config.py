"""The configuration: one table of keys, a TOML file over its defaults, the environment over both.

A wrong type or an unknown key is never fatal: it is named in one line and the default is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trailboss import paths


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its default (whose type is the key's), the reference text, a short variable."""

    default: Any
    doc: str
    short: str | None = None


#: Every key, `section.name`. The environment names it TRAILBOSS_<SECTION>_<NAME>.
KEYS: dict[str, Key] = {
    "queue.skip_cooldown_s": Key(
        60, "seconds a skipped item cools before it can be the head again"
    ),
    "queue.background_grace_s": Key(
        300, "seconds a stop with live background tasks cools; 0 means none"
    ),
    "queue.auto_jump": Key(False, "move a client to a new head without a key (off: never)"),
    "reconcile.sweep_s": Key(
        10, "seconds between two sweeps over transcripts, panes and processes"
    ),
    "detector.quiet_threshold_ms": Key(
        30000,
        "ms of quiet after which the screen of an opted-in pane is looked at",
        "TRAILBOSS_QUIET_THRESHOLD_MS",
    ),
    "detector.poll_interval_ms": Key(
        2000, "ms between two looks at opted-in panes", "TRAILBOSS_POLL_INTERVAL_MS"
    ),
    "detector.opt_in_prefix": Key(
        "@tb-", "prefix of the tmux pane options that opt a pane in", "TRAILBOSS_OPT_IN_PREFIX"
    ),
    "tmux.sockets": Key([], "paths of further tmux servers to look at"),
    "ui.landing_line": Key(True, "one line in the client after each jump: why one is here"),
    "ui.theme": Key("dark", "dark or light"),
    "keys.next": Key("Tab", "tmux key after the prefix: to the next stuck session"),
    "keys.popup": Key("g", "tmux key after the prefix: the picker"),
    "keys.skip": Key("S", "tmux key after the prefix: skip the head"),
    "keys.return": Key("B", "tmux key after the prefix: the dashboard"),
    "keys.back": Key("b", "tmux key after the prefix: where one was before"),
    "keys.preview": Key("Down", "tmux key after the prefix, in the dashboard: the preview pane"),
}


class Config:
    """The values in force. `config["queue.auto_jump"]`; `warnings` are lines for the user."""

    def __init__(self, values: Mapping[str, Any], warnings: list[str]) -> None:
        self._values = dict(values)
        self.warnings = warnings

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def ms(self, key: str) -> int:
        """A key in seconds, as milliseconds."""
        return int(self._values[key] * 1000)


def load(env: Mapping[str, str] = os.environ) -> Config:
    """Read the file (absent means defaults) and the environment. Never raises."""
    values = {name: key.default for name, key in KEYS.items()}
    warnings: list[str] = []
    file = paths.config_file(env)
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        raw = b""
    except OSError as error:
        warnings.append(f"config: {file} cannot be read ({error.strerror}); defaults are used")
        raw = b""
    if raw:
        _from_toml(raw, str(file), values, warnings)
    _from_env(env, values, warnings)
    return Config(values, warnings)


def _from_toml(raw: bytes, name: str, values: dict[str, Any], warnings: list[str]) -> None:
    import tomllib

    try:
        data = tomllib.loads(raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        warnings.append(f"config: {name} is not valid TOML ({error}); defaults are used")
        return
    for section, members in data.items():
        if not isinstance(members, dict):
            warnings.append(f"config: unknown key {section!r} in {name}")
            continue
        for member, value in members.items():
            _take(f"{section}.{member}", value, f"in {name}", values, warnings)


def _from_env(env: Mapping[str, str], values: dict[str, Any], warnings: list[str]) -> None:
    for name, key in KEYS.items():
        variable = "TRAILBOSS_" + name.replace(".", "_").upper()
        raw = env.get(variable)
        if raw is None and key.short is not None:
            variable = key.short
            raw = env.get(variable)
        if raw is not None:
            _take(name, _parse(raw, key.default), f"in ${variable}", values, warnings)


def _parse(raw: str, default: Any) -> Any:
    """The variable's text as the default's type, or the text itself when it is no such value."""
    if isinstance(default, bool):
        lowered = raw.strip().lower()
        if lowered in ("1", "true", "yes", "on"):
            return True
        if lowered in ("0", "false", "no", "off", ""):
            return False
        return raw
    if isinstance(default, int):
        for kind in (int, float):
            try:
                return kind(raw)
            except ValueError:
                continue
        return raw
    if isinstance(default, list):
        return [part for part in raw.split(":") if part]
    return raw


def _take(name: str, value: Any, where: str, values: dict[str, Any], warnings: list[str]) -> None:
    key = KEYS.get(name)
    if key is None:
        warnings.append(f"config: unknown key {name!r} {where}")
        return
    default = key.default
    if isinstance(default, bool):
        fits = isinstance(value, bool)
    elif isinstance(default, int):
        fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**9
    elif isinstance(default, list):
        fits = isinstance(value, list) and all(isinstance(v, str) for v in value)
    else:
        fits = isinstance(value, str)
    if fits:
        values[name] = value
    else:
        warnings.append(
            f"config: {name} {where} is not {_kind(default)}; the default {default!r} is used"
        )


def _kind(default: Any) -> str:
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, int):
        return "a number, 0 or more"
    return "a list of strings" if isinstance(default, list) else "a string"
