"""`trailboss install` and `uninstall`: show what is going to change, ask, do it, say so."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trailboss.cli import DONE, NOTHING, USAGE
from trailboss.install import claude_settings, tmux_conf
from trailboss.install.files import Refused
from trailboss.install.plan import Plan, diff
from trailboss.text import clean

Env = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Target:
    """One program that can be wired: its two plans, and whether it is on this machine."""

    install: Callable[[Env], Plan]
    uninstall: Callable[[Env], Plan]
    is_here: Callable[[Env], bool]


def _claude_is_here(env: Env) -> bool:
    settings = claude_settings.settings_file(env)
    return settings.parent.is_dir() or _on_path("claude", env)


def _on_path(program: str, env: Env) -> bool:
    return shutil.which(program, path=env.get("PATH", os.defpath)) is not None


TARGETS = {
    "claude": Target(claude_settings.plan_install, claude_settings.plan_uninstall, _claude_is_here),
    "tmux": Target(
        tmux_conf.plan_install, tmux_conf.plan_uninstall, lambda env: _on_path("tmux", env)
    ),
}


def run(verb: str, argv: list[str]) -> int:
    """Exit 0 when everything named is as wanted, 1 when something was refused."""
    options = _parser(verb).parse_args(argv)
    if unknown := [name for name in options.names if name not in TARGETS]:
        print(
            f"trailboss: {verb} does not know {', '.join(map(clean, unknown))} "
            f"(it knows {', '.join(TARGETS)})",
            file=sys.stderr,
        )
        return USAGE
    env = os.environ
    names = list(dict.fromkeys(options.names))
    names = names or [name for name, target in TARGETS.items() if target.is_here(env)]
    if not names:
        return _refuse(f"there is nothing to {verb}: neither Claude Code nor tmux was found")
    plans, failed = _plans(verb, names, env)
    if options.dry_run:
        _show(plans)
        return NOTHING if failed else DONE
    if any(plan.changes or plan.pending for plan in plans) and not options.yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            return _refuse(f"{verb} asks before it changes files: use a terminal, or --yes")
        _show(plans)
        if not _agreed():
            return _refuse("nothing was changed")
    for plan in plans:
        failed |= not _apply(plan)
    return NOTHING if failed else DONE


def _parser(verb: str) -> argparse.ArgumentParser:
    about = {
        "install": "Wire Claude Code's hooks and tmux's keys; everything else in the files stays.",
        "uninstall": "Take our hooks and keys out again; the files are then as they were.",
    }
    parser = argparse.ArgumentParser(prog=f"trailboss {verb}", description=about[verb])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(TARGETS)}; none: all that is found"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the changes, make none")
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    return parser


def _plans(verb: str, names: list[str], env: Env) -> tuple[list[Plan], bool]:
    """The plans that can be carried out, and whether one cannot (which is said)."""
    plans: list[Plan] = []
    failed = False
    for name in names:
        target = TARGETS[name]
        try:
            plan = (target.install if verb == "install" else target.uninstall)(env)
        except Refused as error:
            _refuse(f"{name}: {error}")
            failed = True
            continue
        for note in plan.notes:
            print(f"{name}: {clean(note)}")
        plans.append(plan)
    return plans, failed


def _show(plans: list[Plan]) -> None:
    for plan in plans:
        for change in plan.changes:
            print("\n".join(diff(change)))
        for line in plan.pending:
            print(f"{plan.name}: {clean(line)}")
        if not plan.changes and not plan.pending:
            print(f"{plan.name}: {clean(plan.done)}")


def _agreed() -> bool:
    try:
        return input("Make these changes? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def _apply(plan: Plan) -> bool:
    try:
        lines = plan.apply()
    except Refused as error:
        _refuse(f"{plan.name}: {error}")
        return False
    for line in lines:
        print(f"{plan.name}: {clean(line)}")
    return True


def _refuse(why: str) -> int:
    print(f"trailboss: {clean(why)}", file=sys.stderr)
    return NOTHING
