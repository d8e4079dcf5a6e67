"""Plays a case: hooks through the adapter, transcript lines through the reader, on a fake clock.

A story is JSON lines, in `tests/data/cases/<case>/`. `t` is ms since the start.

- `{"t", "hook", "session", …}`: one hook call. `pane` as `A:%3` (A and B are tmux servers) becomes
  TMUX and TMUX_PANE, `env` adds to it, `chain` are the ancestors, `data` the rest of the
  payload. `heard`: the time of its delivery, where that is later; `copies`: told so often.
- `{"t", "transcript": session, "line"}`: a line that the transcript has grown by.
- `{"t", "registry": session, …}`: what the status file says, seen at `t`.
- `{"expect": …}`: what must hold now (with `t`: then). `queue` and `ready`: rows as
  `session reason`, in order; `panes`, `details`, `since`, `messages` by session; `live` sessions;
  `announced`: how often each session was announced as ready so far; `queue_not`: rows that must
  not be there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from trailboss.adapters import Ancestor, Payload, claude_registry, find
from trailboss.adapters.claude_transcript import Reader
from trailboss.broker import present
from trailboss.broker.announce import Announcer
from trailboss.broker.fleet import Fleet
from trailboss.broker.intake import Intake
from trailboss.core.board import Board, PaneRef, Session
from trailboss.core.claims import Claim
from trailboss.core.queue import Rules

DATA = Path(__file__).parents[1] / "data" / "cases"
#: The moment at which `t` is 0, Unix ms.
START = int(datetime.fromisoformat("2026-03-02T10:00:00+00:00").timestamp() * 1000)
CWD = "/home/dev/demo/app"
#: The tmux servers of the stories: socket and pid.
SERVERS = {"A": ("/tmp/tmux-1000/a", 4101), "B": ("/tmp/tmux-1000/b", 4202)}

Line = Mapping[str, Any]


def lines(case: str, file: str = "events.jsonl") -> list[dict[str, Any]]:
    """The lines of a story."""
    return [orjson.loads(raw) for raw in (DATA / case / file).read_bytes().split(b"\n") if raw]


class Stage:
    """A board with all that is before it in the broker, and a clock that only a story moves."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.board = Board(rules)
        self.now = START
        self.announced: Counter[str] = Counter()
        self.checked = 0
        self._intake = Intake(self.board)
        self._announcer = Announcer(
            self.board, Fleet({}, []), lambda: self.now, lambda _: None, lambda: 1
        )
        self._seen: set[tuple[str, int]] = set()
        self._readers: dict[str, Reader] = {}
        self._count = 0

    def play(self, story: Iterable[Line]) -> Stage:
        """Play it to its end. Raises AssertionError at the first expectation that fails, and for
        a story that expects nothing."""
        for line in story:
            self._wait(START + line.get("heard", line.get("t", self.now - START)))
            if "hook" in line:
                self._hook(line)
            elif "transcript" in line:
                self._transcript(line)
            elif "registry" in line:
                self._registry(line)
            else:
                self._expect(line["expect"])
            self._announce()
        assert self.checked, "the story expects nothing"
        return self

    # time

    def _wait(self, until: int) -> None:
        """Let time pass, with a look at every moment at which something becomes visible."""
        while True:
            times = [
                t
                for s in self.board.queue(self.now)
                if s.entry is not None
                for t in (
                    self._announcer._due(s), s.entry.cooldown_until, s.entry.snoozed_until
                )
                if self.now < t < until
            ]  # fmt: skip
            if not times:
                break
            self.now = min(times)
            self._announce()
        self.now = max(self.now, until)
        self._announce()

    def _announce(self) -> None:
        """Count every wait that is shown as ready for the first time: what rings a bell."""
        for session in self._announcer.visible(self.now):
            assert session.entry is not None
            wait = session.session_id, session.entry.since
            if session.entry.standing(self.now) == "ready" and wait not in self._seen:
                self._seen.add(wait)
                self.announced[session.session_id] += 1

    # sources

    def _hook(self, line: Line) -> None:
        adapter = find("claude")
        assert adapter is not None
        for _ in range(line.get("copies", 1)):
            self._count += 1
            for event in adapter.events(payload(line, f"entry-{self._count}")):
                self._intake.event(event, self.now)

    def _transcript(self, line: Line) -> None:
        session = line["transcript"]
        reader = self._readers.setdefault(session, Reader())
        for claim in reader.feed([orjson.dumps(line["line"])]):
            self.board.claim(session, claim, self.now)

    def _registry(self, line: Line) -> None:
        session = line["registry"]
        changed = START + line.get("changed", line["t"])
        status = claude_registry.read(
            orjson.dumps(
                {
                    "pid": 7000,
                    "sessionId": session,
                    "status": line["status"],
                    "waitingFor": line.get("waiting_for"),
                    "statusUpdatedAt": changed,
                    "startedAt": START,
                }
            )
        )
        assert status is not None
        if session not in self.board.sessions:
            self.board.put(Session(session_id=session, harness="claude"))
        claim = claude_registry.claim(status, self.now)
        assert claim is not None
        self.board.claim(session, claim, self.now)

    def gone(self, session: str, source: Any = "process") -> None:
        """Its process or pane is there no longer."""
        self.board.claim(session, Claim(source=source, at=self.now, says="gone"), self.now)

    # what must hold

    def rows(self, ready: bool = False) -> list[str]:
        found = self.board.ready(self.now) if ready else self.board.queue(self.now)
        return [f"{s.session_id} {s.verdict.reason}" for s in found]

    def item(self, session: str) -> dict[str, Any]:
        return present.session_item(self.board.sessions[session], self.now, None, lambda _: None)

    def live(self) -> list[str]:
        """The sessions that are not over and have not been driven from their pane."""
        return sorted(
            s.session_id
            for s in self.board.sessions.values()
            if s.verdict.state != "ended" and not (s.left_pane and s.pane is None)
        )

    def _expect(self, expected: Mapping[str, Any]) -> None:
        at = f"at {self.now - START} ms"
        for name, value in expected.items():
            assert self._actual(name, value) == value, f"{name} {at}"
            self.checked += 1

    def _actual(self, name: str, value: Any) -> Any:
        """What is the case, in the form in which `value` says what should be."""
        if name == "queue":
            return self.rows()
        if name == "ready":
            return self.rows(ready=True)
        if name == "queue_not":
            return [row for row in value if row not in self.rows()]
        if name == "live":
            return self.live()
        if name == "announced":
            return {session: self.announced[session] for session in value}
        return {session: self._of(name, session, value[session]) for session in value}

    def _of(self, name: str, session: str, value: Any) -> Any:
        shown = self.item(session)
        if name == "panes":
            return _name_of(self.board.sessions[session].pane)
        if name == "details":
            return {key: shown["detail"].get(key) for key in value}
        if name == "messages":
            return shown["message"]
        if name == "since":
            return shown["since"] and shown["since"] - START
        raise AssertionError(f"no expectation is named {name}")


def payload(line: Line, name: str) -> Payload:
    """The hook call of a story's line, as the emitter's front would have journalled it."""
    session = line["session"]
    env = {"HOME": "/home/dev", "CLAUDE_CODE_SESSION_ID": session}
    if "pane" in line:
        server, _, pane = line["pane"].partition(":")
        socket, pid = SERVERS[server]
        env |= {"TMUX": f"{socket},{pid},0", "TMUX_PANE": pane}
    return Payload(
        name=name,
        harness="claude",
        timestamp=START + line["t"],
        data={
            "session_id": session,
            "transcript_path": f"/home/dev/.claude/projects/-home-dev-demo-app/{session}.jsonl",
            "cwd": CWD,
            "hook_event_name": line["hook"],
            **line.get("data", {}),
        },
        event=line["hook"],
        env=env | line.get("env", {}),
        ancestors=[Ancestor(pid, 1, comm) for pid, comm in line.get("chain", ())],
    )


def _name_of(pane: PaneRef | None) -> str | None:
    if pane is None:
        return None
    names = {pair: name for name, pair in SERVERS.items()}
    server = names.get((pane.socket, pane.server_pid), f"{pane.socket},{pane.server_pid}")
    return f"{server}:{pane.pane_id}"
