"""`trailboss install` and `uninstall` from outside: the files, the running tmux, the questions."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.sandbox import REPO, Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from trailboss.install.claude import EVENTS
from trailboss.tmux.bindings import KEYS

SETTINGS = REPO / "tests" / "unit" / "data" / "settings-with-foreign-hooks.json"
YES = "--yes"


def tree(directory: Path) -> dict[str, Any]:
    """Everything under the directory: contents, link targets and modes."""
    out: dict[str, Any] = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            out[name] = os.readlink(path)
        elif path.is_file():
            out[name] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        else:
            out[name] = "directory"
    return out


def install(box: Sandbox, *argv: str, code: int = 0, **env: str) -> str:
    return verb(box, "install", *argv, code=code, **env)


def uninstall(box: Sandbox, *argv: str, code: int = 0, **env: str) -> str:
    return verb(box, "uninstall", *argv, code=code, **env)


def verb(box: Sandbox, *argv: str, code: int, **env: str) -> str:
    done = box.trailboss(*argv, env=env)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == code, said
    assert "Traceback" not in said
    return said


@pytest.fixture
def settings(sandbox: Sandbox) -> Path:
    """A user's settings.json."""
    file = sandbox.home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(SETTINGS.read_bytes())
    file.chmod(0o640)
    return file


# --- Claude Code's settings --------------------------------------------------------------------


def test_settings_are_merged_and_come_back(sandbox: Sandbox, settings: Path) -> None:
    before = tree(sandbox.home)
    said = install(sandbox, "claude", YES)
    assert f"{len(EVENTS)} hooks are in {settings}" in said
    once = tree(sandbox.home)
    merged = json.loads(settings.read_bytes())
    assert [each for each in EVENTS if each not in merged["hooks"]] == []
    assert merged["hooks"]["Stop"][0] == json.loads(SETTINGS.read_bytes())["hooks"]["Stop"][0]
    backup = settings.with_name("settings.json.trailboss-backup")
    assert backup.read_bytes() == SETTINGS.read_bytes()
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert "already" in install(sandbox, "claude", YES)
    assert tree(sandbox.home) == once
    uninstall(sandbox, "claude", YES)
    assert tree(sandbox.home) == before
    uninstall(sandbox, "claude", YES)
    assert tree(sandbox.home) == before


def test_the_hook_that_is_written_runs_the_emitter_that_is_there(
    sandbox: Sandbox, settings: Path
) -> None:
    install(sandbox, "claude", YES)
    hooks = json.loads(settings.read_bytes())["hooks"]
    line = hooks["SessionStart"][0]["hooks"][0]["command"]
    assert str(REPO / "bin" / "trailboss-emit") in line
    payload = b'{"session_id": "s-1", "hook_event_name": "SessionStart", "cwd": "/x"}'
    done = sandbox.run("sh", "-c", line, input=payload, env={"PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    journal = sandbox.state / "journal"
    until(lambda: any(b"s-1" in each.read_bytes() for each in journal.iterdir()), what="journaled")


def test_where_nothing_was_nothing_is_left(sandbox: Sandbox) -> None:
    install(sandbox, "claude", YES)
    assert set(json.loads((sandbox.home / ".claude" / "settings.json").read_bytes())) == {"hooks"}
    uninstall(sandbox, "claude", YES)
    assert tree(sandbox.home) == {}


def test_a_file_that_the_user_and_claude_edited_since_keeps_their_edits(
    sandbox: Sandbox, settings: Path
) -> None:
    install(sandbox, "claude", YES)
    # Claude Code itself writes the whole file anew, set its own way, when it stores a setting.
    value = {**json.loads(settings.read_bytes()), "model": "opus"}
    settings.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    uninstall(sandbox, "claude", YES)
    wanted = {**json.loads(SETTINGS.read_bytes()), "model": "opus"}
    assert settings.read_text() == json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
    assert os.listdir(settings.parent) == ["settings.json"], "the backup holds nothing more"


def test_a_backup_that_holds_what_the_file_lost_is_kept_and_named(
    sandbox: Sandbox, settings: Path
) -> None:
    install(sandbox, "claude", YES)
    value = json.loads(settings.read_bytes())
    del value["permissions"]
    settings.write_text(json.dumps(value))
    said = uninstall(sandbox, "claude", YES)
    backup = settings.with_name("settings.json.trailboss-backup")
    assert str(backup) in said
    assert backup.read_bytes() == SETTINGS.read_bytes()
    assert "trailboss-emit'" not in settings.read_text()


def test_another_config_home_is_the_one_that_is_wired(sandbox: Sandbox, settings: Path) -> None:
    """Case B76."""
    other = sandbox.root / "x y" / "claude"
    env = {"CLAUDE_CONFIG_DIR": str(other)}
    before = tree(sandbox.home)
    assert str(other / "settings.json") in install(sandbox, "claude", YES, **env)
    assert tree(sandbox.home) == before
    assert set(json.loads((other / "settings.json").read_bytes())["hooks"]) == set(EVENTS)
    uninstall(sandbox, "claude", YES, **env)
    assert not other.exists()


def test_a_settings_file_in_a_dotfiles_repository_is_written_through_its_link(
    sandbox: Sandbox, settings: Path
) -> None:
    target = sandbox.root / "dotfiles" / "claude" / "settings.json"
    target.parent.mkdir(parents=True)
    settings.rename(target)
    settings.symlink_to(os.path.relpath(target, settings.parent))
    before = tree(sandbox.root)
    install(sandbox, "claude", YES)
    assert settings.is_symlink()
    assert b"trailboss-emit" in target.read_bytes()
    assert os.listdir(target.parent) == ["settings.json"]
    uninstall(sandbox, "claude", YES)
    assert tree(sandbox.root) == before


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{\n  // mine\n  "model": "opus"\n}\n', "comments"),
        (b'{"model": "opus",}', "not valid JSON"),
        (b'{"hooks": []}', '"hooks" is not an object'),
        ('{"model": "ö"}'.encode("latin-1"), "not UTF-8"),
        ('{"model": "opus"}'.encode("utf-16"), "not UTF-8"),
    ],
)
@pytest.mark.parametrize("what", ["install", "uninstall"])
def test_what_cannot_be_read_is_said_and_left_alone(
    sandbox: Sandbox, settings: Path, data: bytes, why: str, what: str
) -> None:
    settings.write_bytes(data)
    before = tree(sandbox.home)
    said = verb(sandbox, what, "claude", YES, code=1)
    assert said.count("\n") == 1
    assert why in said
    assert str(settings) in said
    assert tree(sandbox.home) == before


def test_a_byte_order_mark_and_line_ends_of_windows_stay(sandbox: Sandbox, settings: Path) -> None:
    """Case B74."""
    data = b"\xef\xbb\xbf" + SETTINGS.read_bytes().replace(b"\n", b"\r\n")
    settings.write_bytes(data)
    install(sandbox, "claude", YES)
    made = settings.read_bytes()
    assert made.count(b"\xef\xbb\xbf") == 1
    assert made.count(b"\n") == made.count(b"\r\n")
    assert set(EVENTS) <= set(json.loads(made.decode("utf-8-sig"))["hooks"])
    uninstall(sandbox, "claude", YES)
    assert settings.read_bytes() == data


def test_hooks_that_are_switched_off_are_named(sandbox: Sandbox, settings: Path) -> None:
    settings.write_text('{"disableAllHooks": true}')
    assert "no hook will run" in install(sandbox, "claude", YES)
    uninstall(sandbox, "claude", YES)
    assert settings.read_text() == '{"disableAllHooks": true}'


@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_is_read_only_is_one_sentence(sandbox: Sandbox, settings: Path, what: str) -> None:
    settings.chmod(0o444) if what == "file" else settings.parent.chmod(0o555)
    before = tree(sandbox.home)
    said = install(sandbox, "claude", YES, code=1)
    assert said.count("\n") == 1
    assert "read-only" in said
    assert tree(sandbox.home) == before
    settings.parent.chmod(0o755)


# --- questions ---------------------------------------------------------------------------------


def test_without_a_terminal_and_without_yes_it_refuses(sandbox: Sandbox, settings: Path) -> None:
    before = tree(sandbox.home)
    said = install(sandbox, code=1)
    assert said.count("\n") == 1
    assert "--yes" in said
    assert tree(sandbox.home) == before


def test_a_dry_run_shows_the_diff_and_changes_nothing(sandbox: Sandbox, settings: Path) -> None:
    before = tree(sandbox.home)
    said = install(sandbox, "--dry-run")
    assert tree(sandbox.home) == before
    assert f"--- {settings}" in said
    assert '+        "StopFailure": [' in said
    assert "--- /dev/null" in said
    assert f"+++ {sandbox.home}/.tmux.conf" in said
    removed = [line for line in said.splitlines() if line.startswith("-") and line[:3] != "---"]
    assert [line.rstrip(" ]}") for line in removed if line.strip(" -]},[") != ""] == [
        '-        "Notification": [],'
    ]


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1), ("\x04", 1)])
def test_on_a_terminal_it_shows_and_asks(
    sandbox: Sandbox, settings: Path, answer: str, code: int
) -> None:
    before = settings.read_bytes()
    ours, theirs = pty.openpty()
    process = sandbox.spawn(
        *(sys.executable, "-m", "trailboss", "install", "claude"),
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.STDOUT,
    )
    os.close(theirs)
    said = b""
    while b"[y/N]" not in said:
        said += os.read(ours, 4096)
    assert b"+++ " in said
    assert settings.read_bytes() == before
    os.write(ours, answer.encode())
    try:
        while chunk := os.read(ours, 4096):
            said += chunk
    except OSError:
        pass
    os.close(ours)
    assert process.wait(30) == code
    assert (settings.read_bytes() == before) is (code == 1)
    assert (b"nothing was changed" in said) is (code == 1)


def test_a_name_it_does_not_know_is_bad_usage(sandbox: Sandbox) -> None:
    assert "it knows claude, tmux" in install(sandbox, "emacs", YES, code=2)
    assert "usage:" in install(sandbox, "--help")


def test_one_refused_target_does_not_stop_the_other(sandbox: Sandbox, settings: Path) -> None:
    settings.write_text("{")
    said = install(sandbox, YES, code=1)
    assert "not valid JSON" in said
    assert (sandbox.home / ".tmux.conf").exists()
    assert settings.read_text() == "{"


def test_nothing_found_is_said(sandbox: Sandbox) -> None:
    bare = sandbox.root / "bare"
    bare.mkdir()
    assert "nothing to install" in install(sandbox, YES, code=1, PATH=str(bare))


# --- tmux --------------------------------------------------------------------------------------

CONF = "set -g status-right 'mine'\nbind S choose-session\nset -g base-index 1\n"


@pytest.fixture
def conf(sandbox: Sandbox, tmux: TmuxServer) -> Path:
    """A user's tmux.conf, read by a running server."""
    file = sandbox.home / ".tmux.conf"
    file.write_text(CONF)
    tmux.new_session("one")
    tmux.tmux("source-file", str(file))
    return file


def shown(tmux: TmuxServer) -> tuple[str, str]:
    return tmux.tmux("show-options", "-g"), tmux.tmux("list-keys")


def test_keys_come_and_go_and_the_users_own_stay(
    sandbox: Sandbox, tmux: TmuxServer, conf: Path
) -> None:
    """Case B45."""
    (sandbox.home / ".config").mkdir()
    before, files = shown(tmux), tree(sandbox.home)
    said = install(sandbox, "tmux", YES)
    assert "prefix S is yours already (choose-session)" in said
    assert "#{@trailboss_status}" in said
    options, keys = shown(tmux)
    assert options == before[0], "options are not install's to set"
    assert "choose-tree -s" in tmux.tmux("list-keys", "-T", "prefix", "S")
    assert sum("--from-key" in line or "@trailboss" in line for line in keys.splitlines()) >= 3
    lines = conf.read_text().removeprefix(CONF).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("source-file -q '")
    once = tree(sandbox.home)
    assert install(sandbox, "tmux", YES)
    conf.write_text(conf.read_text() + "set -ag status-right ' #{@trailboss_status}'\n")
    assert "status-right" not in install(sandbox, "tmux", YES), "it is wired already"
    conf.write_bytes(once[".tmux.conf"][1])
    assert tree(sandbox.home) == once
    assert shown(tmux) == (options, keys)
    uninstall(sandbox, "tmux", YES)
    assert tree(sandbox.home) == files
    assert shown(tmux) == before


def test_a_server_that_starts_later_has_the_keys(sandbox: Sandbox, tmux: TmuxServer) -> None:
    install(sandbox, "tmux", YES)
    conf = sandbox.home / ".tmux.conf"
    tmux.tmux("-f", str(conf), "new-session", "-d", "-s", "one")
    bound = tmux.tmux("list-keys", "-T", "prefix")
    for key in ("Tab", "g", "S", "B", "b", "Down"):
        assert any(f" {key} " in line for line in bound.splitlines()), key
    uninstall(sandbox, "tmux", YES)
    assert tree(sandbox.home) == {".config": "directory"}


def test_a_key_that_only_tmux_conf_binds_is_left_too(sandbox: Sandbox) -> None:
    (sandbox.home / ".tmux.conf").write_text(CONF)
    assert "prefix S is yours already" in install(sandbox, "tmux", YES)
    keys = (sandbox.home / ".config" / "trailboss" / "tmux.conf").read_text()
    assert keys.count("bind-key") == len(KEYS) - 1


def test_a_configured_key_takes_the_place_of_the_old_one_at_once(
    sandbox: Sandbox, tmux: TmuxServer, conf: Path
) -> None:
    install(sandbox, "tmux", YES)
    install(sandbox, "tmux", YES, TRAILBOSS_KEYS_NEXT="N", TRAILBOSS_KEYS_SKIP="F5")
    prefix = tmux.tmux("list-keys", "-T", "prefix").splitlines()
    assert not [line for line in prefix if " Tab " in line]
    assert [line for line in prefix if " N " in line and "@trailboss_next" in line]
    assert [line for line in prefix if " F5 " in line and "skip" in line]


@pytest.mark.parametrize("place", ["tmux/tmux.conf", "link"])
def test_the_conf_that_is_there_is_the_one_that_is_edited(sandbox: Sandbox, place: str) -> None:
    home = sandbox.home / ".config"
    file = home / "tmux" / "tmux.conf"
    file.parent.mkdir(parents=True)
    file.write_text("set -g mouse on")
    if place == "link":
        (sandbox.home / ".tmux.conf").symlink_to(file)
    before = tree(sandbox.home)
    install(sandbox, "tmux", YES)
    assert file.read_text().splitlines()[0] == "set -g mouse on"
    assert "source-file -q" in file.read_text().splitlines()[1]
    assert (sandbox.home / ".tmux.conf").is_symlink() is (place == "link")
    uninstall(sandbox, "tmux", YES)
    assert tree(sandbox.home) == before


def test_a_file_of_the_users_at_our_place_is_not_overwritten(sandbox: Sandbox) -> None:
    file = sandbox.home / ".config" / "trailboss" / "tmux.conf"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n")
    before = tree(sandbox.home)
    assert "is not ours" in install(sandbox, "tmux", YES, code=1)
    uninstall(sandbox, "tmux", YES)
    assert tree(sandbox.home) == before
