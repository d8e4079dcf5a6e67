"""Make the clone's own .venv, or bring it up to date. Run by bin/trailboss and bin/test.

    python -I bin/_setup.py [test]

Needs nothing but a Python of 3.11 or newer: works without ensurepip, pip or a writable system.
With `test` the extra of that name is installed too. Says what is slow on standard error; on
failure one sentence and exit 1, the details in .cache/setup.log.
"""

from __future__ import annotations

import configparser
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".trailboss"
#: There while we work in the venv: one that still bears it was left half-made.
MARK = VENV / ".making"
LOG = ROOT / ".cache" / "setup.log"
CONFIG = ROOT / "setup.cfg"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

#: What would send pip or Python elsewhere than into our venv.
FOREIGN = (
    *("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV"),
    *("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"),
)


class Failed(Exception):
    """Set-up cannot go on; the text is the sentence for the user."""


def say(text: str) -> None:
    print(f"trailboss: {text}", file=sys.stderr, flush=True)


def main(argv: list[str]) -> int:
    test = "test" in argv
    try:
        LOG.parent.mkdir(exist_ok=True)
        with lock(LOG.parent / "setup.lock"):
            if not up_to_date(test):
                set_up(test)
    except Failed as failure:
        say(str(failure))
        return 1
    except OSError as error:
        say(f"set-up failed: {error.strerror}: {error.filename}")
        return 1
    except KeyboardInterrupt:
        say("set-up was interrupted; the next run does it again.")
        return 130
    return 0


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """One set-up of a clone at a time; the kernel ends the lock with its holder."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up of this clone is running; waiting for it…")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def digest() -> str:
    return hashlib.sha256(CONFIG.read_bytes()).hexdigest()


def read_stamp() -> list[str]:
    """[the clone it was made for, `base` or `test`, hash of setup.cfg], or an empty list."""
    try:
        lines = STAMP.read_text().splitlines()
    except OSError:
        return []
    return lines if len(lines) == 3 else []


def write_stamp(test: bool, hashed: str) -> None:
    """Stamped last, and given setup.cfg's own time: bin/trailboss compares only that."""
    STAMP.write_text(f"{ROOT}\n{'test' if test else 'base'}\n{hashed}\n")
    facts = CONFIG.stat()
    os.utime(STAMP, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def up_to_date(test: bool) -> bool:
    stamp = read_stamp()
    if not PYTHON.exists() or MARK.exists() or not stamp:
        return False
    home, kind, hashed = stamp
    if home != str(ROOT) or hashed != digest() or (test and kind != "test"):
        return False
    write_stamp(kind == "test", hashed)
    return True


def set_up(test: bool) -> None:
    stamp = read_stamp()
    hashed = digest()
    test = test or stamp[1:2] == ["test"]
    with LOG.open("w") as log:
        # A venv without a stamp may be one that somebody made by hand: that is kept if it works.
        moved = bool(stamp) and stamp[0] != str(ROOT)
        if MARK.exists() or moved or not works():
            say("setting up .venv in this clone; this happens once…")
            make_venv(log)
        MARK.touch()
        STAMP.unlink(missing_ok=True)
        try:
            install(requirements(test), log)
        except Failed:
            # pip has put back what it began: the next run can go on from here.
            MARK.unlink()
            raise
        link_checkout()
    write_stamp(test, hashed)
    MARK.unlink()


def works() -> bool:
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11) or sys.prefix == sys.base_prefix)"
    return PYTHON.exists() and run([str(PYTHON), "-I", "-c", check], None)


def run(command: list[str], log: object, **more: str) -> bool:
    """Run it with its output in the log; whether it succeeded."""
    env = {name: value for name, value in os.environ.items() if name not in FOREIGN} | more
    out = log or subprocess.DEVNULL
    try:
        done = subprocess.run(  # type: ignore[call-overload]
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env
        )
    except OSError:
        return False
    return bool(done.returncode == 0)


def base_python() -> str:
    """The interpreter to build on, links resolved: when the system drops it, the venv's link to
    it dangles and is seen, whereas a link to plain `python3` would lead to another version."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def make_venv(log: object) -> None:
    """A venv with pip, by whichever way this system offers; the least intrusive one first."""
    base = base_python()
    ways = [with_ensurepip, with_systems_pip, with_virtualenv, with_uv]
    if any(cleared() and way(base, log) for way in ways):
        return
    if install_venv_package(base, log) and cleared() and with_ensurepip(base, log):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    raise Failed(f"{base} cannot make a virtual environment: {advice()} (details: {LOG})")


def cleared() -> bool:
    """An empty, marked .venv. Always true; raises OSError where the clone cannot be written."""
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(VENV)
    VENV.mkdir()
    MARK.touch()
    return True


def with_ensurepip(base: str, log: object) -> bool:
    return run([base, "-I", "-m", "venv", str(VENV)], log)


def with_systems_pip(base: str, log: object) -> bool:
    """Debian without python3-venv has `venv` but not what puts pip into it."""
    bare = [base, "-I", "-m", "venv", "--without-pip", str(VENV)]
    pip = [base, "-P", "-m", "pip", "--python", str(PYTHON), "install", "--quiet", "pip"]
    return run([base, "-P", "-m", "pip", "--version"], log) and run(bare, log) and run(pip, log)


def with_virtualenv(base: str, log: object) -> bool:
    for program in ([base, "-P", "-m", "virtualenv"], ["virtualenv"]):
        if run([*program, "--quiet", "--python", base, str(VENV)], log):
            return True
    return False


def with_uv(base: str, log: object) -> bool:
    return run(["uv", "venv", "--quiet", "--seed", "--clear", "--python", base, str(VENV)], log)


def install_venv_package(base: str, log: object) -> bool:
    """Debian keeps ensurepip in a package of its own; ours to install only as root or by sudo."""
    if not shutil.which("apt-get") or not base.startswith("/usr/bin/"):
        return False
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sudo and not run([*sudo, "true"], None):
        return False
    package = f"python{VERSION}-venv"
    say(f"installing {package} with apt-get…")
    apt = [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    command = [*apt, "install", "-y", "--no-install-recommends", package]
    return run(command, log) or (run([*apt, "update"], log) and run(command, log))


def advice() -> str:
    if shutil.which("apt-get"):
        return f"run `sudo apt install python{VERSION}-venv` and try again"
    if shutil.which("dnf"):
        return "run `sudo dnf install python3-pip` and try again"
    return "install pip or virtualenv for it and try again"


def requirements(test: bool) -> list[str]:
    """What setup.cfg asks for. Installed without building the package: the checkout itself runs."""
    config = configparser.ConfigParser()
    config.read(CONFIG)
    text = config.get("options", "install_requires", fallback="")
    if test:
        text += "\n" + config.get("options.extras_require", "test", fallback="")
    return [line.strip() for line in text.splitlines() if line.strip()]


def install(wanted: list[str], log: object) -> None:
    if not wanted:
        return
    say(f"installing {len(wanted)} packages and what they need…")
    pip = [str(PYTHON), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    if run([*pip, "install", "--quiet", *wanted], log, PIP_ROOT_USER_ACTION="ignore", PIP_USER="0"):
        return
    errors = [line for line in LOG.read_text(errors="replace").splitlines() if "ERROR:" in line]
    reason = errors[-1].partition("ERROR:")[2].strip() if errors else "pip gave no reason"
    raise Failed(f"installing the Python packages failed: {reason} (details: {LOG})")


def link_checkout() -> None:
    """The venv imports the package from the clone, and has its two commands in bin/.

    A plain path line, as an editable install would write at best: its import hook, needed for
    other layouts, costs every start of Python milliseconds.
    """
    site = VENV / "lib" / f"python{venv_version()}" / "site-packages"
    (site / "trailboss-checkout.pth").write_text(os.path.relpath(ROOT, site) + "\n")
    for name in ("trailboss", "trailboss-emit"):
        link = VENV / "bin" / name
        link.unlink(missing_ok=True)
        link.symlink_to(Path("..", "..", "bin", name))


def venv_version() -> str:
    """The venv's Python, which is another than ours where somebody made the venv by hand."""
    show = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.check_output([str(PYTHON), "-I", "-c", show], text=True).strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
