"""The two commands in a fresh clone: they set it up, once, and mend what was left half-made.

The clones here ask for no packages, so that nothing needs the network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.sandbox import REPO, Sandbox
from tests.harness.wait import until
from trailboss import __version__

VERSION = f"trailboss {__version__}\n"
SYSTEM = f"{Path(sys.executable).resolve().parent}:/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def box(sandbox: Sandbox) -> Sandbox:
    """The environment of a person who has another project's things set."""
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        sandbox.env.pop(name)
    sandbox.env |= {"PATH": SYSTEM, "PIP_NO_INDEX": "1"}
    return sandbox


@pytest.fixture
def clone(box: Sandbox) -> Path:
    """A clone in a directory with a space, which asks for no packages."""
    return make_clone(box.root / "my clones" / "trail boss")


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """One that is set up, and `<it>.kept` as it was then: a venv cannot be made elsewhere."""
    maker = Sandbox()
    clone = make_clone(maker.root / "my clones" / "trail boss")
    maker.env |= {"PATH": SYSTEM, "PIP_NO_INDEX": "1"}
    is_sound(trailboss(maker, clone))
    shutil.copytree(clone, f"{clone}.kept", symlinks=True)
    yield clone
    maker.close()


@pytest.fixture
def ready(made: Path) -> Path:
    """A clone that is set up, as new."""
    shutil.rmtree(made)
    shutil.copytree(f"{made}.kept", made, symlinks=True)
    return made


def make_clone(root: Path) -> Path:
    for name in ("bin", "trailboss", "hooks"):
        shutil.copytree(
            REPO / name, root / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    text = (REPO / "setup.cfg").read_text()
    text = re.sub(r"(?m)^(install_requires|test) =\n(    .*\n)*", r"\1 =\n", text)
    assert "pyzmq" not in text
    (root / "setup.cfg").write_text(text)
    return root


def trailboss(box: Sandbox, clone: Path, **more: object) -> subprocess.CompletedProcess[bytes]:
    return box.run(  # type: ignore[arg-type]
        str(clone / "bin" / "trailboss"), "--version", timeout=120, **{"cwd": box.home, **more}
    )


def is_sound(done: subprocess.CompletedProcess[bytes]) -> None:
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == VERSION


def test_the_first_run_sets_up_and_the_second_does_not(box: Sandbox, clone: Path) -> None:
    project = box.root / "project"
    (project / "trailboss").mkdir(parents=True)
    for name in ("signal.py", "trailboss/__init__.py"):
        (project / name).write_text("raise SystemExit('the wrong module')\n")
    link = box.root / "tb"
    link.symlink_to(clone / "bin" / "trailboss")
    strange = {
        "PYTHONHOME": str(project),
        "PYTHONPATH": str(project),
        "VIRTUAL_ENV": str(project),
        "PIP_USER": "1",
        "PIP_TARGET": str(project / "target"),
        "CDPATH": str(box.root),
    }
    done = box.run(str(link), "--version", cwd=project, env=strange, timeout=120)
    is_sound(done)
    assert done.stderr.decode() == "trailboss: setting up .venv in this clone; this happens once…\n"

    # No Python to be found: what was made is all that the second run uses.
    again = box.run(str(clone / "bin" / "trailboss"), "--version", env={**strange, "PATH": ""})
    is_sound(again)
    assert again.stderr == b""
    assert not (project / "target").exists()
    for name in ("trailboss", "trailboss-emit"):
        assert (clone / ".venv" / "bin" / name).samefile(clone / "bin" / name)


def test_the_checkout_itself_is_what_runs(box: Sandbox, ready: Path) -> None:
    (ready / "trailboss" / "__init__.py").write_text('__version__ = "9.8.7"\n')
    assert trailboss(box, ready).stdout == b"trailboss 9.8.7\n"


def test_its_exit_code_is_the_commands_own(box: Sandbox, ready: Path) -> None:
    done = box.run(str(ready / "bin" / "trailboss"), "no-such-verb")
    assert done.returncode == 2


def test_a_package_that_cannot_be_had_is_one_sentence(box: Sandbox, ready: Path) -> None:
    config = ready / "setup.cfg"
    good = config.read_text()
    config.write_text(
        good.replace("install_requires =\n", "install_requires =\n    no-such-thing\n")
    )
    done = trailboss(box, ready)
    assert done.returncode == 1
    assert done.stdout == b""
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("trailboss: installing the Python packages failed: No matching")
    assert str(ready / ".cache" / "setup.log") in last
    assert trailboss(box, ready).returncode == 1
    config.write_text(good)
    is_sound(trailboss(box, ready))


def test_a_setup_cfg_that_only_looks_newer_costs_nothing(box: Sandbox, ready: Path) -> None:
    os.utime(ready / "setup.cfg")
    made = (ready / ".venv" / "bin" / "activate").stat().st_mtime_ns
    done = trailboss(box, ready)
    is_sound(done)
    assert done.stderr == b""
    assert trailboss(box, ready, env={"PATH": ""}).returncode == 0
    assert (ready / ".venv" / "bin" / "activate").stat().st_mtime_ns == made


def test_a_first_run_that_was_killed_is_done_again(box: Sandbox, clone: Path) -> None:
    first = box.spawn(
        str(clone / "bin" / "trailboss"),
        "--version",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until(lambda: (clone / ".venv" / "bin" / "python").exists(), 60, interval=0.001)
    os.killpg(first.pid, 9)
    assert first.wait() == -9
    is_sound(trailboss(box, clone))
    assert not (clone / ".venv" / ".making").exists()
    is_sound(trailboss(box, clone, env={"PATH": ""}))


def test_two_first_runs_at_once_both_work(box: Sandbox, clone: Path) -> None:
    command = (str(clone / "bin" / "trailboss"), "--version")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    both = [box.spawn(*command, **pipes) for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    assert [out.decode() for out, _ in said] == [VERSION, VERSION]
    lines = sorted(err.decode().strip() for _, err in said)
    assert lines == [
        "trailboss: another set-up of this clone is running; waiting for it…",
        "trailboss: setting up .venv in this clone; this happens once…",
    ]


def test_a_clone_that_was_moved_or_copied_gets_its_own(box: Sandbox, ready: Path) -> None:
    """The scripts of a venv name its place: those of a copy would run the original."""
    copy = box.root / "copy"
    shutil.copytree(ready, copy, symlinks=True)
    (copy / "trailboss" / "__init__.py").write_text('__version__ = "9.8.7"\n')
    assert trailboss(box, copy).stdout == b"trailboss 9.8.7\n"
    assert str(copy) in (copy / ".venv" / "bin" / "pip").read_text()
    is_sound(trailboss(box, ready))


def test_a_venv_whose_python_is_gone_is_made_anew(box: Sandbox, ready: Path) -> None:
    """As after an upgrade of the system's Python."""
    python = ready / ".venv" / "bin" / "python"
    os.unlink(python)
    python.symlink_to(box.root / "gone" / "python3")
    is_sound(trailboss(box, ready))


def test_a_venv_made_by_hand_is_kept(box: Sandbox, ready: Path) -> None:
    (ready / ".venv" / ".trailboss").unlink()
    (ready / ".venv" / "mine").touch()
    is_sound(trailboss(box, ready))
    assert (ready / ".venv" / "mine").exists()


def stub(directory: Path, name: str, text: str) -> None:
    directory.mkdir(exist_ok=True)
    file = directory / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def test_shims_that_fail_and_old_pythons_are_passed_over(box: Sandbox, clone: Path) -> None:
    shims = box.root / "shims"
    stub(shims, "python3", "echo 'pyenv: python3: command not found' >&2; exit 127")
    old = box.root / "old"
    stub(old, "python3", "echo 3.9; exit 1")
    is_sound(trailboss(box, clone, env={"PATH": f"{shims}:{old}:{SYSTEM}"}))


def test_without_a_python_that_will_do_it_says_so(box: Sandbox, clone: Path) -> None:
    old = box.root / "old"
    stub(old, "python3", "echo 3.9; exit 1")
    done = trailboss(box, clone, env={"PATH": str(old)})
    assert done.returncode == 1
    assert done.stderr.decode() == (
        f"trailboss: Python 3.11 or newer is needed ({old}/python3 is 3.9): "
        "install python3 and run this again.\n"
    )


class TestPythonInParts:
    """Debian's Python comes without ensurepip, and perhaps without pip."""

    @pytest.fixture
    def python(self, box: Sandbox) -> Path:
        """A Python like that, made of links to the one that runs the tests."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        library = Path(sys.base_prefix) / "lib"
        prefix = box.root / "prefix"
        (prefix / "bin").mkdir(parents=True)
        (prefix / "lib" / version).mkdir(parents=True)
        for entry in (library / version).iterdir():
            if entry.name not in ("ensurepip", "site-packages", "dist-packages"):
                (prefix / "lib" / version / entry.name).symlink_to(entry)
        for shared in library.glob("libpython*"):
            (prefix / "lib" / shared.name).symlink_to(shared)
        program = prefix / "bin" / "python3"
        shutil.copy(os.path.realpath(sys.executable), program)
        # Nothing else on PATH: no apt-get, virtualenv or uv either.
        (prefix / "bin" / "dirname").symlink_to(shutil.which("dirname") or "/usr/bin/dirname")
        box.env["PATH"] = str(prefix / "bin")
        return program

    def test_the_systems_pip_does(self, box: Sandbox, clone: Path, python: Path) -> None:
        import ensurepip

        wheels = next(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"), None)
        assert wheels is not None, "this Python has no pip to lend"
        site = next((python.parent.parent / "lib").glob("python*")) / "site-packages"
        shutil.unpack_archive(wheels, site, "zip")
        is_sound(trailboss(box, clone, env={"PIP_FIND_LINKS": str(wheels.parent)}))
        shown = box.run(str(clone / ".venv" / "bin" / "python"), "-m", "pip", "--version")
        assert str(clone / ".venv") in shown.stdout.decode()

    def test_with_nothing_at_all_it_says_what_to_install(
        self, box: Sandbox, clone: Path, python: Path
    ) -> None:
        done = trailboss(box, clone)
        assert done.returncode == 1
        last = done.stderr.decode().splitlines()[-1]
        assert last == (
            f"trailboss: {python} cannot make a virtual environment: install pip or virtualenv "
            f"for it and try again (details: {clone}/.cache/setup.log)"
        )
        assert not (clone / ".venv").exists()


class TestBinTest:
    """`bin/test` in a clone that has two small tests, its packages lent by the venv we run in."""

    @pytest.fixture
    def suite(self, box: Sandbox, ready: Path) -> Path:
        shutil.copy(REPO / "pyproject.toml", ready)
        tests = ready / "tests" / "unit"
        tests.mkdir(parents=True)
        (ready / "tests" / "real").mkdir()
        (ready / "tests" / "acceptance").mkdir()
        (tests / "test_small.py").write_text(
            "import trailboss\n"
            "def test_good():\n    assert __file__.startswith(trailboss.__path__[0][:-9])\n"
            "def test_bad():\n    assert not 'broken'\n"
        )
        site = next((ready / ".venv" / "lib").glob("python*")) / "site-packages"
        ours = next(path for path in sys.path if path.endswith("site-packages"))
        (site / "lent.pth").write_text(f"{ours}\n")
        return ready

    def run(self, box: Sandbox, clone: Path, *argv: str) -> subprocess.CompletedProcess[bytes]:
        return box.run(str(clone / "bin" / "test"), *argv, cwd=box.root, timeout=120)

    def test_it_runs_the_suite_and_is_worth_its_exit_code(self, box: Sandbox, suite: Path) -> None:
        done = self.run(box, suite)
        assert done.returncode == 1, done.stderr.decode()
        assert b"1 failed, 1 passed" in done.stdout
        done = self.run(box, suite, "-k", "good")
        assert done.returncode == 0
        assert b"1 passed" in done.stdout
        assert self.run(box, suite, "-k", "nothing_like_it").returncode == 5

    def test_what_the_real_agents_need_is_set_up_first(self, box: Sandbox, suite: Path) -> None:
        stub(suite / "tests" / "real", "setup", "echo no network >&2; exit 3")
        done = self.run(box, suite)
        assert done.returncode == 1
        assert done.stdout == b""
        assert done.stderr.decode().splitlines() == [
            "no network",
            "bin/test: tests/real/setup failed (see above)",
        ]


def test_the_way_to_the_command_is_short(box: Sandbox, ready: Path) -> None:
    """One process replaces another: nothing of the launcher is left, and nothing came between."""
    (ready / "trailboss" / "__main__.py").write_text(
        "import os, sys, time\nprint(os.getpid(), sys.flags.isolated, flush=True)\ntime.sleep(60)\n"
    )
    process = box.spawn(str(ready / "bin" / "trailboss"), stdout=subprocess.PIPE)
    assert process.stdout is not None
    pid, isolated = process.stdout.readline().split()
    assert (int(pid), isolated) == (process.pid, b"1")
