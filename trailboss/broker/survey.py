"""One look at what lies outside: processes, status files, transcripts. Runs in a thread.

It is given plain facts and gives back plain findings; `reconcile` turns those into claims. What
it keeps between two looks (offsets, parsed status files) only saves reading things again.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import orjson

from trailboss.adapters import claude_registry
from trailboss.adapters.claude import PROCESS_NAMES, config_home
from trailboss.adapters.claude_registry import Status
from trailboss.adapters.claude_transcript import Reader
from trailboss.broker import processes
from trailboss.broker.headless import OPTIONS
from trailboss.broker.processes import Process
from trailboss.broker.tails import Tail
from trailboss.core.claims import Claim

#: Claims taken from one pass over one transcript: the last ones are those that count.
CLAIMS = 20


@dataclass(frozen=True, slots=True)
class Known:
    """What the survey needs to know of a session."""

    session_id: str
    pid: int | None
    pid_start: int | None
    transcript_path: str | None
    home: str | None
    cwd: str | None
    stranger: bool = False


@dataclass(frozen=True, slots=True)
class Live:
    """A status file whose process lives; `chain` is the process and its ancestors."""

    status: Status
    home: str
    chain: tuple[int, ...]
    checked_at: int
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """A harness process without a status file; with the transcript that is matched to it by
    process, or none (a stranger)."""

    process: Process
    session_id: str
    transcript_path: str
    cwd: str
    home: str
    chain: tuple[int, ...]


@dataclass(slots=True)
class Findings:
    """`chains` are the live processes of known sessions with their ancestors, `suspended` those
    that were stopped (Ctrl-Z), `sockets` tmux servers that live agents' environments name."""

    dead: list[str] = field(default_factory=list)
    started: dict[str, int] = field(default_factory=dict)
    chains: dict[str, tuple[int, ...]] = field(default_factory=dict)
    suspended: set[str] = field(default_factory=set)
    sockets: set[str] = field(default_factory=set)
    live: list[Live] = field(default_factory=list)
    claims: list[tuple[str, Claim]] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    transcripts: dict[str, str] = field(default_factory=dict)
    unclaimed: list[Unclaimed] = field(default_factory=list)
    strangers: list[Unclaimed] = field(default_factory=list)
    more: bool = False


class Survey:
    """Keeps tails and parsed status files between looks."""

    def __init__(self) -> None:
        self._status: dict[Path, tuple[tuple[int, int, int], Status | None]] = {}
        self._tails: dict[str, tuple[Tail, Reader]] = {}
        self._asked: dict[tuple[int, int], str] = {}

    def look(
        self,
        known: list[Known],
        homes: list[str],
        now: int,
        only: frozenset[str] | None = None,
        whole: bool = True,
    ) -> Findings:
        """Everything, or with `only` the transcripts of these paths alone; `whole` adds the
        processes and the search for sessions that nobody has told of."""
        found = Findings()
        if whole:
            self._processes(known, found)
        self._registries(homes, now, found)
        taken = {live.status.session_id for live in found.live}
        self._transcripts(known, found, only)
        if whole:
            self._unclaimed(known, homes, taken, found)
        return found

    # --- processes ----------------------------------------------------------------

    def _processes(self, known: list[Known], found: Findings) -> None:
        for session in known:
            if session.pid is None:
                continue
            process = processes.look(session.pid)
            if session.pid_start and (process is None or process.start != session.pid_start):
                found.dead.append(session.session_id)
                continue
            if process is None:
                continue  # it was never seen alive: that it is not there proves nothing
            if not session.pid_start:
                found.started[session.session_id] = process.start
            found.chains[session.session_id] = tuple(processes.ancestors(process.pid))
            if process.stopped:
                found.suspended.add(session.session_id)
            self._server(process.pid, process.start, found)

    def _server(self, pid: int, start: int, found: Findings) -> None:
        """The tmux server that the process was started under; asked once of each process."""
        if (pid, start) not in self._asked:
            self._asked[pid, start] = processes.environment(pid).get("TMUX", "").split(",")[0]
        if self._asked[pid, start]:
            found.sockets.add(self._asked[pid, start])

    # --- status files ---------------------------------------------------------------

    def _registries(self, homes: Iterable[str], now: int, found: Findings) -> None:
        seen: set[Path] = set()
        for home in homes:
            directory = Path(home) / "sessions"
            try:
                entries = list(os.scandir(directory))
            except OSError:
                continue
            for entry in entries:
                if not claude_registry.FILE_NAME.match(entry.name):
                    continue
                path = directory / entry.name
                seen.add(path)
                status = self._read_status(path, entry)
                if status is not None and processes.alive(status.pid, status.proc_start):
                    chain = tuple(processes.ancestors(status.pid))
                    needs = self._needs(home, status)
                    found.live.append(Live(status, home, chain, now, needs))
                    self._server(status.pid, status.proc_start or 0, found)
        for path in self._status.keys() - seen:
            del self._status[path]

    def _needs(self, home: str, status: Status) -> str:
        """What a background session that waits needs, in its job's own words (50, 51)."""
        if status.kind != "bg" or status.status != "waiting" or not status.job_id:
            return ""
        if not re.fullmatch("[0-9A-Za-z-]+", status.job_id):
            return ""
        try:
            raw = (Path(home) / "jobs" / status.job_id / "state.json").read_bytes()
            needs = orjson.loads(raw).get("needs")
        except (OSError, orjson.JSONDecodeError, AttributeError):
            return ""
        return needs if isinstance(needs, str) else ""

    def _read_status(self, path: Path, entry: os.DirEntry[str]) -> Status | None:
        try:
            facts = entry.stat(follow_symlinks=False)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > 1 << 20:
                return None
            stamp = facts.st_ino, facts.st_mtime_ns, facts.st_size
            cached = self._status.get(path)
            if cached is not None and cached[0] == stamp:
                return cached[1]
            status = claude_registry.read(path.read_bytes())
        except OSError:
            return None
        self._status[path] = stamp, status
        return status

    # --- transcripts ------------------------------------------------------------------

    def _transcripts(
        self, known: list[Known], found: Findings, only: frozenset[str] | None
    ) -> None:
        wanted: set[str] = set()
        for session in known:
            path = session.transcript_path or self._guess(session, found)
            if path is None:
                continue
            wanted.add(path)
            if only is not None and path not in only:
                continue
            tail, reader = self._tails.setdefault(path, (Tail(Path(path)), Reader()))
            lines, more = tail.read()
            found.more = found.more or more
            if not lines:
                continue
            claims = reader.feed(lines)
            found.claims.extend((session.session_id, c) for c in claims[-CLAIMS:])
            if reader.title is not None:
                found.titles[session.session_id] = reader.title
        for path in self._tails.keys() - wanted:
            del self._tails[path]

    def _guess(self, session: Known, found: Findings) -> str | None:
        """The transcript of a session that only its status file has named (fact 23)."""
        if session.home is None or session.cwd is None:
            return None
        path = Path(session.home) / "projects" / folder(session.cwd) / f"{session.session_id}.jsonl"
        if not path.exists():
            return None
        found.transcripts[session.session_id] = str(path)
        return str(path)

    # --- sessions that nobody has told of -----------------------------------------------

    def _unclaimed(
        self, known: list[Known], homes: list[str], taken: set[str], found: Findings
    ) -> None:
        """Harness processes that no session and no status file names, each with its transcript.

        A process proves that somebody sits there; which conversation it shows is told by its
        command line, or by being the only one of its directory that a single transcript has
        grown under since. Where two could be meant, none is taken.
        """
        claimed = {s.pid for s in known if not s.stranger} | {
            live.status.pid for live in found.live
        }
        free = [p for p in processes.named(PROCESS_NAMES) if p.pid not in claimed]
        free = [p for p in free if not OPTIONS["claude"] & set(processes.command_line(p.pid)[1:])]
        taken = taken | {s.session_id for s in known if s.pid is not None and s.pid in claimed}
        by_directory: dict[tuple[str, str], list[Process]] = {}
        for process in free:
            cwd = processes.working_directory(process.pid)
            env = processes.environment(process.pid)
            home = config_home(env) or "/.claude"
            if cwd is not None:
                by_directory.setdefault((home, cwd), []).append(process)
        for (home, cwd), group in by_directory.items():
            directory = Path(home) / "projects" / folder(cwd)
            for process in group:
                path = _named_transcript(process, directory) or (
                    _only_transcript(process, directory, taken) if len(group) == 1 else None
                )
                chain = tuple(processes.ancestors(process.pid))
                if path is None or path.stem in taken:
                    found.strangers.append(Unclaimed(process, "", "", cwd, home, chain))
                else:
                    found.unclaimed.append(
                        Unclaimed(process, path.stem, str(path), cwd, home, chain)
                    )


def folder(cwd: str) -> str:
    """The name of the folder in which the transcripts of that working directory lie."""
    return re.sub("[^A-Za-z0-9]", "-", cwd)


def _named_transcript(process: Process, directory: Path) -> Path | None:
    """The transcript that the command line names: --resume ID, --session-id ID."""
    words = processes.command_line(process.pid)
    for flag, value in pairwise(words):
        if flag in ("--resume", "-r", "--session-id") and re.fullmatch("[0-9A-Za-z-]+", value):
            path = directory / f"{value}.jsonl"
            return path if path.exists() else None
    return None


def _only_transcript(process: Process, directory: Path, taken: set[str]) -> Path | None:
    """The one transcript that has grown since the process started, if it is one."""
    started = _started_at(process)
    try:
        grown = [
            Path(entry.path)
            for entry in os.scandir(directory)
            if entry.name.endswith(".jsonl")
            and entry.stat().st_mtime >= started
            and entry.name.removesuffix(".jsonl") not in taken
        ]
    except OSError:
        return None
    return grown[0] if len(grown) == 1 else None


def _started_at(process: Process) -> float:
    """When the process started, Unix seconds."""
    try:
        with open("/proc/stat", "rb") as file:
            boot = next(line for line in file if line.startswith(b"btime "))
        return int(boot.split()[1]) + process.start / os.sysconf("SC_CLK_TCK")
    except (OSError, StopIteration, ValueError):
        return process.start / 1000


def homes_of(env: Mapping[str, str], known: Iterable[str | None]) -> list[str]:
    """The config dirs to look into: the user's own and those that sessions have named."""
    own = [env.get("CLAUDE_CONFIG_DIR"), f"{env['HOME']}/.claude" if env.get("HOME") else None]
    return list(dict.fromkeys(h for h in [*own, *known] if h))
