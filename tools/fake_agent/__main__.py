"""`python -m tools.fake_agent`: `play` an agent, or `load` a broker with events."""

from __future__ import annotations

import sys

USAGE = """usage: python -m tools.fake_agent play [options]   one agent in this terminal
       python -m tools.fake_agent [load] [options] a stream of events, and what must come of it
Each has --help."""


def main(argv: list[str]) -> int:
    """Dispatch; options without a word before them are those of `load`."""
    word, rest = (argv[0], argv[1:]) if argv else ("", [])
    if word == "play":
        from tools.fake_agent.play import main as play

        return play(rest)
    if word == "load" or (word.startswith("--") and word != "--help"):
        from tools.fake_agent.load import main as load

        return load(rest if word == "load" else argv)
    print(USAGE, file=sys.stdout if word in ("--help", "-h") else sys.stderr)
    return 0 if word in ("--help", "-h") else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
