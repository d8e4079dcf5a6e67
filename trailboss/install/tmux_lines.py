"""Our line in a tmux.conf, as text: put in, found again, taken out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from trailboss.tmux.server import quote

#: How our line ends.
MARK = "# trailboss: keys (trailboss uninstall tmux takes this line out)"

_OUR_LINE = re.compile(r"[ \t]*source-file\b.*" + re.escape(MARK) + r"[ \t]*\r?\Z")
_BIND = re.compile(r"[ \t]*bind(?:-key)?[ \t]+(.*)")


def source_line(keys_file: Path) -> str:
    """The line of tmux.conf. tmux takes the path as a pattern, so it is one that means itself."""
    pattern = re.sub(r"([\\*?\[\]])", r"\\\1", str(keys_file))
    return f"source-file -q {quote(pattern)} {MARK}"


def with_line(text: str, line: str) -> str:
    """tmux.conf with our line once: where it stands already, else at the end."""
    lines = text.split("\n")
    ours = [index for index, each in enumerate(lines) if _OUR_LINE.match(each)]
    if ours:
        ending = "\r" if lines[ours[0]].endswith("\r") else ""
        lines[ours[0]] = line + ending
        return "\n".join(each for index, each in enumerate(lines) if index not in ours[1:])
    if not text:
        return line + "\n"
    newline = "\r\n" if "\r\n" in text else "\n"
    body = text.removesuffix(newline)
    # After a backslash our line would be the rest of the one before.
    gap = newline if (len(body) - len(body.rstrip("\\"))) % 2 else ""
    ended = text if body != text else text + newline
    return ended + gap + line + (newline if body != text else "")


def without_line(text: str, original: str | None = None) -> str:
    """tmux.conf without our line; `original` if nothing else was touched since."""
    found = our_line(text)
    if found is None:
        return text
    if original is not None and with_line(original, found) == text:
        return original
    lines = text.split("\n")
    return "\n".join(each for each in lines if not _OUR_LINE.match(each))


def our_line(text: str) -> str | None:
    """Our line as it stands in the text."""
    return next((each.rstrip("\r") for each in text.split("\n") if _OUR_LINE.match(each)), None)


def bound_keys(text: str) -> dict[str, str]:
    """The prefix keys that a tmux.conf binds itself, and to what; files it sources are not read."""
    out: dict[str, str] = {}
    for line in text.splitlines():
        match = _BIND.match(line)
        if match is None:
            continue
        try:
            words = shlex.split(match[1])
        except ValueError:
            words = match[1].split()
        table = "prefix"
        while words and len(words[0]) > 1 and words[0][0] == "-":
            flag = words.pop(0)
            if flag == "-n":
                table = "root"
            elif flag in ("-T", "-N") and words:
                value = words.pop(0)
                table = value if flag == "-T" else table
        if table == "prefix" and words:
            out[words[0].removeprefix("\\")] = " ".join(words[1:])
    return out
