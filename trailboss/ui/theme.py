"""Colours and signs, and nowhere else.

The view names roles (`row.cursor`, `reason.permission`); this file says how they look: dark
(Dracula's colours) or light, or no colour at all, with UTF-8 signs or ASCII ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_toolkit.output import ColorDepth
    from prompt_toolkit.styles import Style

#: role: style in prompt_toolkit's words, which lowers the colours to what the terminal has. What is
#: plain text has the terminal's own colour, so that it is legible on any background.
DARK: dict[str, str] = {
    "screen": "",
    "header.some": "#ff5555 bold",
    "header.count": "#8be9fd bold",
    "header.none": "#50fa7b bold",
    "header.rest": "#aaaaaa",
    "number": "#aaaaaa",
    "reason.permission": "#ff5555 bold",
    "reason.stopped": "#f1fa8c",
    "session": "",
    "age": "#8be9fd",
    "text": "#aaaaaa",
    "later": "#6272a4",
    "row.cursor": "bg:#bd93f9 #282a36 bold",
    "detail": "",
    "empty": "#aaaaaa",
    "border": "#6272a4",
    "footer": "bg:#44475a #f8f8f2",
    "footer.ok": "bg:#44475a #50fa7b",
    "footer.bad": "bg:#44475a #ff5555 bold",
    "footer.key": "bg:#44475a #8be9fd bold",
    "footer.message": "bg:#44475a #f1fa8c bold",
    "place": "#8be9fd",
}

LIGHT: dict[str, str] = {
    **DARK,
    "header.some": "#c01c28 bold",
    "header.count": "#005f87 bold",
    "header.none": "#1a7f37 bold",
    "header.rest": "#555555",
    "number": "#555555",
    "reason.permission": "#c01c28 bold",
    "reason.stopped": "#7a5c00",
    "age": "#005f87",
    "text": "#555555",
    "later": "#8a8fa3",
    "row.cursor": "bg:#d6c2ff #282a36 bold",
    "empty": "#555555",
    "footer": "bg:#dcdee8 #282a36",
    "footer.ok": "bg:#dcdee8 #1a7f37",
    "footer.bad": "bg:#dcdee8 #c01c28 bold",
    "footer.key": "bg:#dcdee8 #005f87 bold",
    "footer.message": "bg:#dcdee8 #7a5c00 bold",
    "place": "#005f87",
}

#: Without colours: what weight and inversion can say.
PLAIN: dict[str, str] = {
    **dict.fromkeys(DARK, ""),
    "header.some": "bold",
    "header.count": "bold",
    "header.none": "bold",
    "reason.permission": "bold",
    "row.cursor": "reverse",
    "footer": "reverse",
    "footer.ok": "reverse",
    "footer.bad": "reverse bold",
    "footer.key": "reverse bold",
    "footer.message": "reverse bold",
}


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs of one character set."""

    cursor: str = "▶"
    permission: str = "◆"
    stopped: str = "○"
    some: str = "⚠"
    none: str = "✓"
    bad: str = "✗"
    dot: str = "·"
    cut: str = "…"
    line: str = "─"


ASCII = Signs(
    cursor=">",
    permission="!",
    stopped="o",
    some="!",
    none="*",
    bad="x",
    dot="-",
    cut="~",
    line="-",
)


def utf8(env: Mapping[str, str] = os.environ, coerced: bool | None = None) -> bool:
    """Does the user's locale name UTF-8?

    Python itself turns a C locale into UTF-8 and writes LC_CTYPE=C.UTF-8 into its environment
    (PEP 538); `coerced` (default: found out) says that it did, so that the user's LANG=C counts.
    """
    if coerced is None:
        coerced = bool(sys.flags.utf8_mode) and env.get("PYTHONUTF8") != "1"
    if coerced:
        return False
    value = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    return "utf-8" in value.lower() or "utf8" in value.lower()


def signs(env: Mapping[str, str] = os.environ) -> Signs:
    """The signs for this locale."""
    return Signs() if utf8(env) else ASCII


def colourless(env: Mapping[str, str] = os.environ) -> bool:
    """NO_COLOR set to anything (no-color.org), or a terminal that knows no colours."""
    return bool(env.get("NO_COLOR")) or env.get("TERM", "dumb") in ("dumb", "vt100", "vt220")


def roles(name: str = "dark", env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Role to style: of the theme named in the config, or of none where there are no colours."""
    if colourless(env):
        return PLAIN
    return LIGHT if name == "light" else DARK


def style(name: str = "dark", env: Mapping[str, str] = os.environ) -> Style:
    """The same for prompt_toolkit; a fragment names its role as `class:role`."""
    from prompt_toolkit.styles import Style

    return Style(list(roles(name, env).items()))


def depth(env: Mapping[str, str] = os.environ) -> ColorDepth | None:
    """What colours to send, or None for prompt_toolkit's own guess (16 or 256, by TERM)."""
    from prompt_toolkit.output import ColorDepth

    if colourless(env):
        return ColorDepth.DEPTH_1_BIT
    if env.get("COLORTERM") in ("truecolor", "24bit"):
        return ColorDepth.DEPTH_24_BIT
    return ColorDepth.from_env()
