"""Claude Code's settings file: which one, what becomes of its bytes, and the way back.

The way back needs no record of ours: a file that is what `install` makes of one of the backups
was not touched since, and gets that backup's bytes; one that is what `install` makes of nothing
was not there before. In any other our hooks alone are taken out, and the backup tells which of
the lists that are empty then were there before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from trailboss.install import claude, command, files
from trailboss.install.files import Refused, Snapshot
from trailboss.install.plan import Plan

_BOM = b"\xef\xbb\xbf"


def settings_file(env: Mapping[str, str]) -> Path:
    """The user's settings.json, which may be absent."""
    home = env.get("HOME") or str(Path.home())
    return Path(env.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude").absolute() / "settings.json"


def plan_install(env: Mapping[str, str]) -> Plan:
    """Raises Refused, with the file named, where it cannot be done."""
    emitter = command.find(command.EMITTER, env)
    snapshot = files.read(settings_file(env))
    plan = Plan("claude")
    after = installed(snapshot, emitter)
    plan.change(snapshot, after)
    if plan.changes:
        plan.done = f"{len(claude.EVENTS)} hooks are in {snapshot.path}; running sessions use them"
    else:
        plan.done = f"the hooks are in {snapshot.path} already"
    text = _text(after)[1]
    if claude.check(text).get("disableAllHooks") is True:
        plan.notes.append(f'"disableAllHooks" is on in {snapshot.path}: no hook will run')
    return plan


def plan_uninstall(env: Mapping[str, str]) -> Plan:
    """Raises Refused, with the file named, where it cannot be done."""
    snapshot = files.read(settings_file(env))
    plan = Plan("claude", done=f"no hooks of ours are in {snapshot.path}")
    if snapshot.data is None:
        return plan
    after = uninstalled(snapshot)
    lossless = _holds_all(after, files.backup_data(snapshot.path))
    plan.change(snapshot, after, backup=not lossless)
    if after is not None:
        plan.notes += _left_alone(snapshot.path, after)
    if plan.changes:
        plan.done = f"our hooks are out of {snapshot.path}"

    def finish() -> list[str]:
        if lossless:
            files.forget_backups(snapshot.path)
        if after is None:
            # The directory goes too when nothing else was ever in it.
            with contextlib.suppress(OSError):
                snapshot.path.parent.rmdir()
        kept = files.backups(snapshot.path)
        return [f"older copies of it are kept: {', '.join(map(str, kept))}"] if kept else []

    plan.finish = finish
    return plan


def installed(snapshot: Snapshot, emitter: str) -> bytes:
    """The file's bytes with our hooks."""
    with _named(snapshot.path):
        return _installed(snapshot.data or b"", emitter)


def uninstalled(snapshot: Snapshot) -> bytes | None:
    """The file's bytes without our hooks; None when the file came with them."""
    data = snapshot.data or b""
    with _named(snapshot.path):
        bom, text = _text(data)
        if not text.strip():
            return data
        claude.check(text)
        first = next(claude.sites(text), None)
        if first is None:
            return data
        emitter = first.spot.emitter
        clean = [each for each in files.backup_data(snapshot.path) if _is_clean(each)]
        if exact := [each for each in clean if _installed(each, emitter) == data]:
            return exact[0]
        if not clean and _installed(b"", emitter) == data:
            return None
        original = _text(clean[0])[1] if clean else None
        return bom + claude.uninstall(text, original).encode()


def _installed(data: bytes, emitter: str) -> bytes:
    bom, text = _text(data)
    return bom + claude.install(text, emitter).encode()


def _is_clean(data: bytes) -> bool:
    """Settings that `install` could have begun with: valid, and none of ours in them."""
    try:
        text = _text(data)[1]
        if text.strip():
            claude.check(text)
            return next(claude.sites(text), None) is None
    except Refused:
        return False
    return True


def _holds_all(data: bytes | None, backups: list[bytes]) -> bool:
    """Whether the backups hold nothing that is not in the file: they can go then."""
    text = _text(data or b"")[1]
    try:
        olds = [old for each in backups if (old := _text(each)[1]).strip()]
        return all(claude.holds_all(text if text.strip() else "{}", old) for old in olds)
    except Refused:
        return False


def _text(data: bytes) -> tuple[bytes, str]:
    """The byte order mark, if there is one, and the text. Raises Refused where it is not UTF-8."""
    bom = _BOM if data.startswith(_BOM) else b""
    try:
        return bom, data[len(bom) :].decode()
    except UnicodeDecodeError:
        raise Refused("it is not UTF-8: save it as UTF-8 and run this again") from None


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except Refused as error:
        raise Refused(f"{path} is left alone: {error}") from None


def _left_alone(path: Path, data: bytes) -> list[str]:
    text = _text(data)[1]
    events = claude.mentions(text) if text.strip() else []
    if not events:
        return []
    return [f"a command of your own in {path} still names {command.EMITTER}: {', '.join(events)}"]
