"""The wheel: all that the checkout has, installed in a venv of its own, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest

from tests.harness.sandbox import REPO, Sandbox
from tests.harness.wait import until
from trailboss import __version__

SOURCES = ("bin", "hooks", "tools", "trailboss", "setup.cfg", "pyproject.toml", "LICENSE")
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_%s(sys.argv[1]))"
#: A file of a kind that globs like to leave out: agents' plugins have such.
HIDDEN = Path("hooks", "example", ".plugin", "plugin.json")


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    """One place for the module's builds; the tests themselves use the usual one."""
    made = Sandbox()
    yield made
    made.close()


@pytest.fixture(scope="module")
def tree(box: Sandbox) -> Path:
    """A copy of the sources: building leaves things beside them."""
    root = box.root / "tree"
    root.mkdir()
    for name in (*SOURCES, "README.md", "CHANGELOG.md"):
        source = REPO / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, root / name, symlinks=True, ignore=ignore)
        elif source.exists() or name in SOURCES:
            shutil.copy(source, root / name)
    (root / HIDDEN).parent.mkdir(parents=True)
    (root / HIDDEN).write_text("{}")
    return root


def build(box: Sandbox, kind: str, tree: Path) -> Path:
    """The file that the build backend makes of the tree, with the setuptools that is here."""
    out = box.root / f"{kind} of {tree.name}"
    done = box.run(sys.executable, "-c", BUILD % kind, str(out), cwd=tree, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return out / done.stdout.decode().splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(box: Sandbox, tree: Path) -> Path:
    return build(box, "wheel", tree)


@pytest.fixture(scope="module")
def installed(box: Sandbox, wheel: Path) -> Path:
    """The bin/ of a venv that has the wheel, its dependencies lent by the one we run in."""
    venv = box.root / "venv"
    python = venv / "bin" / "python"
    assert box.run(sys.executable, "-m", "venv", "--without-pip", str(venv)).returncode == 0
    pip = (sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check")
    install = (*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel))
    done = box.run(*install, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    ours = next(path for path in sys.path if path.endswith("site-packages"))
    site = next((venv / "lib").glob("python*")) / "site-packages"
    (site / "lent.pth").write_text(f"{ours}\n")
    return venv / "bin"


@pytest.fixture
def user(sandbox: Sandbox) -> Sandbox:
    """A person who has the wheel and no checkout."""
    del sandbox.env["PYTHONPATH"]
    sandbox.env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    return sandbox


def names(wheel: Path) -> set[str]:
    """The files of a wheel, its own metadata left out."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def metadata(wheel: Path, file: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"trailboss-{__version__}.dist-info/{file}").decode()


def test_it_holds_the_package_the_fake_agent_the_hooks_and_the_emitter(
    wheel: Path, tree: Path
) -> None:
    wanted = {f"trailboss-{__version__}.data/scripts/trailboss-emit"}
    for folder in ("trailboss", "tools/fake_agent"):
        files = (tree / folder).rglob("*.py")
        wanted |= {file.relative_to(tree).as_posix() for file in files}
    hooks = [file for file in (tree / "hooks").rglob("*") if file.is_file()]
    assert tree / HIDDEN in hooks
    wanted |= {f"trailboss/{file.relative_to(tree).as_posix()}" for file in hooks}
    assert names(wheel) == wanted


def test_its_metadata(wheel: Path) -> None:
    facts = Parser().parsestr(metadata(wheel, "METADATA"))
    assert (facts["Name"], facts["Version"]) == ("trailboss", __version__)
    assert facts["Requires-Python"] == ">=3.11"
    needs = {line.split(">")[0] for line in facts.get_all("Requires-Dist") if "extra" not in line}
    assert needs == {"pyzmq", "prompt_toolkit", "orjson", "peewee", "watchfiles", "psutil"}
    assert "trailboss = trailboss.cli:main" in metadata(wheel, "entry_points.txt")
    assert metadata(wheel, "licenses/LICENSE") == (REPO / "LICENSE").read_text()


def test_the_source_archive_builds_the_same_wheel(box: Sandbox, tree: Path, wheel: Path) -> None:
    archive = build(box, "sdist", tree)
    shutil.unpack_archive(archive, box.root / "unpacked", filter="data")
    again = build(box, "wheel", next((box.root / "unpacked").iterdir()))
    assert names(again) == names(wheel)


def test_the_command_runs_through_a_link(user: Sandbox, installed: Path) -> None:
    """As pipx makes it."""
    link = user.root / "trailboss"
    link.symlink_to(installed / "trailboss")
    done = user.run(str(link), "--version", cwd=user.home)
    assert (done.returncode, done.stdout) == (0, f"trailboss {__version__}\n".encode())


def test_the_emitter_is_the_script_itself_and_journals_through_a_link(
    user: Sandbox, installed: Path
) -> None:
    """Not a Python wrapper: a hook must not pay for starting Python."""
    emitter = installed / "trailboss-emit"
    assert emitter.read_bytes() == (REPO / "bin" / "trailboss-emit").read_bytes()
    assert os.access(emitter, os.X_OK)
    link = user.root / "trailboss-emit"
    link.symlink_to(emitter)
    payload = b'{"session_id":"s-1","hook_event_name":"Stop","cwd":"/"}'
    done = user.run(str(link), input=payload, cwd=user.home)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    until(lambda: any((user.state / "journal").iterdir()), what="it is in the journal")


def test_every_module_can_be_imported_and_is_the_installed_one(
    user: Sandbox, installed: Path
) -> None:
    walk = (
        "import importlib, pkgutil, trailboss, tools.fake_agent\n"
        "for package in (trailboss, tools.fake_agent):\n"
        "    for found in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if not found.name.endswith('__main__'):\n"
        "            print(importlib.import_module(found.name).__file__)\n"
    )
    done = user.run(str(installed / "python"), "-c", walk, cwd=user.home)
    assert done.returncode == 0, done.stderr.decode()
    files = done.stdout.decode().splitlines()
    assert len(files) > 20
    assert [file for file in files if not file.startswith(str(installed.parent))] == []


def test_the_fake_agent_runs_from_it(user: Sandbox, installed: Path) -> None:
    done = user.run(str(installed / "python"), "-m", "tools.fake_agent", "--help", cwd=user.home)
    assert done.returncode == 0, done.stderr.decode()
    assert b"usage:" in done.stdout


def test_the_hooks_are_found_where_the_checkout_has_them(user: Sandbox, installed: Path) -> None:
    show = f"import trailboss; print(open(trailboss.__path__[0] + '/{HIDDEN}').read())"
    done = user.run(str(installed / "python"), "-c", show, cwd=user.home)
    assert done.stdout == b"{}\n", done.stderr.decode()
    assert (REPO / "trailboss" / "hooks").samefile(REPO / "hooks")


def test_what_it_needs_is_there_and_fits(box: Sandbox, installed: Path) -> None:
    check = (sys.executable, "-m", "pip", "--python", str(installed / "python"), "check")
    done = subprocess.run(check, capture_output=True, text=True, env=box.env, timeout=120)
    assert done.returncode == 0, done.stdout
