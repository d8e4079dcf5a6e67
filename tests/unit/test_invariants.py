"""What never bends, read off the source itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
PACKAGE = REPO / "trailboss"
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Who may import what of trailboss (the design's arrows); rooms that are not named may all.
ARROWS = {
    "core": {"core", "events"},
    "adapters": {"adapters", "core", "events"},
    "events": set(),
    "paths": set(),
    "text": set(),
    "wire": set(),
    "config": {"paths"},
    "client": {"paths", "wire"},
    "tmux": {"tmux", "events", "text", "config", "paths"},
    "emit": {"emit", "adapters", "events", "paths", "client"},
}
#: Rooms that talk to the broker through the client alone, never to its parts or the database.
CLIENTS = ("ui", "cli", "install")
#: Modules that start the broker in their own process.
STARTS_BROKER = {PACKAGE / "cli" / "service.py"}


def room(path: Path) -> str:
    part = path.relative_to(PACKAGE).parts[0]
    return part.removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The rooms of trailboss that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "trailboss":
                names = [f"trailboss.{alias.name}" for alias in node.names]
        found |= {n.split(".")[1] for n in names if n.startswith("trailboss.")}
    return found - {"__version__"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows(path: Path) -> None:
    allowed = ARROWS.get(room(path))
    if allowed is not None:
        assert imports(path) <= allowed
    if room(path) in CLIENTS and path not in STARTS_BROKER:
        assert "broker" not in imports(path)


@pytest.mark.parametrize("name", ["core", "adapters"])
def test_the_core_and_the_adapters_do_no_io(name: str) -> None:
    banned = {"os", "time", "socket", "zmq", "peewee", "sqlite3", "subprocess", "pathlib", "psutil"}
    for path in (PACKAGE / name).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not {a.name.split(".")[0] for a in node.names} & banned, path
            elif isinstance(node, ast.ImportFrom) and node.module:
                pure = node.module == "pathlib" and [a.name for a in node.names] == ["PurePath"]
                assert pure or node.module.split(".")[0] not in banned, path


def shipped() -> list[Path]:
    files = [p for d in ("trailboss", "bin", "hooks") for p in (REPO / d).rglob("*")]
    return [p for p in files if p.is_file() and "__pycache__" not in p.parts]


def test_nothing_types_into_a_pane() -> None:
    for path in shipped():
        text = path.read_text(errors="replace")
        for word in ("send-keys", "send_keys", "paste-buffer", "paste_buffer", "load-buffer"):
            assert word not in text, path


def test_nothing_is_addressed_over_a_network() -> None:
    for path in shipped():
        text = path.read_text(errors="replace")
        for word in ("tcp://", "udp://", "http://", "https://", "0.0.0.0"):
            assert word not in text, path


#: Who may start processes at all: tmux's room, the process table where there is no /proc, and
#: the installer of tmux itself.
STARTERS = {"tmux/server.py", "tmux/bindings.py", "emit/procs.py", "cli/need_tmux.py"}


def test_there_is_one_door_to_tmux() -> None:
    for path in MODULES:
        if str(path.relative_to(PACKAGE)) in STARTERS:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert "subprocess" not in {a.name for a in node.names}, path
            if isinstance(node, ast.Attribute):
                assert not node.attr.startswith(("spawn", "posix_spawn", "create_subprocess")), path


def test_nothing_is_run_through_a_shell() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "shell":
                raise AssertionError(path)
            if isinstance(node, ast.Attribute) and node.attr in ("system", "popen"):
                raise AssertionError(path)
