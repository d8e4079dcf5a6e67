"""Section E: transcripts and text, with real files, a real broker and what people see of it."""

from __future__ import annotations

import re
import time
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from tests.cases.emitter import Emitter
from tests.cases.replayer import DATA, lines
from tests.harness.broker import BrokerProcess
from tests.harness.opened import Opened, bytes_read
from tests.harness.sandbox import Sandbox
from tests.harness.tmux_server import TmuxServer
from tests.harness.wait import until
from trailboss.adapters.claude_transcript import Reader
from trailboss.broker.survey import Known, Survey
from trailboss.broker.tails import FIRST, Tail
from trailboss.ui import keys, model, theme, view


@pytest.fixture
def emitter(sandbox: Sandbox) -> Emitter:
    return Emitter(sandbox)


def recent(raw: bytes) -> bytes:
    """The transcript as if it had been written just now: its times one ms apart, as long as they
    were."""
    base = time.time_ns() // 1_000_000
    stamps = sorted(set(re.findall(rb"2026-03-02T[0-9:.]{12}Z", raw)))
    for n, stamp in enumerate(stamps):
        moment = datetime.fromtimestamp((base + n) / 1000, UTC)
        new = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()
        assert len(new) == len(stamp)
        raw = raw.replace(stamp, new)
    return raw


def until_going(broker: BrokerProcess, session: str) -> None:
    def going() -> bool:
        found = broker.call("session.list")["sessions"]
        return any(s["session_id"] == session and s["state"] == "going" for s in found)

    until(going, what=f"{session} works")


def listed(broker: BrokerProcess) -> list[str]:
    """The rows that `trailboss queue` prints into a pipe."""
    done = broker.sandbox.trailboss("queue")
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


def frame(broker: BrokerProcess, columns: int = 100) -> list[str]:
    """The picker's screen."""
    items = model.read_items(broker.call("queue.list"))
    shown = model.listed(model.State(), items, model.now_ms())
    fitted = model.fit(shown, view.layout(columns, 20).body)
    return [
        "".join(part for _, part in line)
        for line in view.render(fitted, keys.POPUP, columns, 20, model.now_ms(), theme.Signs())
    ]


def harmless(text: str) -> bool:
    """Whether a terminal shows this and does nothing else: no control, no mark that reorders."""
    return not any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "\u202a\u202b\u202d\u202e\u200b"
        for c in text
    )


# B60: separators of Unicode inside strings

SEPARATED = "one\u2028two\u2029three\u0085four\x0bfive\x0csix\x1cseven"


def test_b60_a_row_is_one_line(broker: BrokerProcess, emitter: Emitter) -> None:
    path = broker.sandbox.root / "s1.jsonl"
    emitter.hook("UserPromptSubmit", "s1", transcript_path=str(path), prompt="x")
    emitter.hook("Stop", "s2", last_assistant_message=SEPARATED)
    until_going(broker, "s1")
    records = [
        {"type": "user", "message": {"content": "x"}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": SEPARATED}]}},
        {"type": "user", "message": {"content": "[Request interrupted by user]"}},
    ]
    raw = b"".join(
        orjson.dumps({"timestamp": f"2026-03-02T10:00:0{n}.000Z", **record}) + b"\n"
        for n, record in enumerate(records)
    )
    path.write_bytes(recent(raw))
    broker.wait_queue("s2", "s1")
    rows = listed(broker)
    assert len(rows) == 2
    assert "one two three four five six seven" in rows[0]
    assert [line for line in frame(broker) if "one two three four five" in line]
    assert all(map(harmless, rows + frame(broker)))


# B61: a half-written last line


def test_b61_a_record_in_two_parts(broker: BrokerProcess, emitter: Emitter) -> None:
    path = broker.sandbox.root / "s1.jsonl"
    emitter.hook("UserPromptSubmit", "s1", transcript_path=str(path), prompt="x")
    until_going(broker, "s1")
    raw = recent((DATA / "B61" / "transcript.jsonl").read_bytes())
    cut = raw.rindex("ö".encode()) + 1
    path.write_bytes(raw[:cut])
    for _ in range(2):
        broker.call("reconcile.run")
        assert broker.queue() == []
    assert not [line for line in broker.log.splitlines() if "WARNING" in line or "ERROR" in line]
    with open(path, "ab") as file:
        file.write(raw[cut:])
    broker.call("reconcile.run")
    (item,) = broker.items()
    assert item["reason"] == "stopped"
    evidence = broker.call("session.explain", session_id="s1")["evidence"]
    assert sum("interrupted" in e["text"] for e in evidence) == 1


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_b61_wherever_it_is_cut(tmp_path: Path, end: bytes) -> None:
    raw = (DATA / "B61" / "transcript.jsonl").read_bytes().replace(b"\n", end)
    last = raw.rindex(end, 0, -len(end)) + len(end)
    path = tmp_path / "transcript.jsonl"
    for cut in range(last, len(raw)):
        path.write_bytes(raw[:cut])
        tail, reader = Tail(path), Reader()
        assert [c.cause for c in reader.feed(tail.read()[0])] == ["prompt", "assistant"], cut
        assert reader.feed(tail.read()[0]) == []
        with open(path, "ab") as file:
            file.write(raw[cut:])
        assert [c.cause for c in reader.feed(tail.read()[0])] == ["interrupted"], cut
        path.unlink()


# B63: huge transcripts, many files

SIZE = 60 * 1024 * 1024


def test_b63_tails_alone_are_read(tmp_path: Path) -> None:
    """40 transcripts of 60 MB and 4,000 old ones: a pass reads what is new and opens no old one."""
    home = tmp_path / "home"
    folder = home / "projects" / "-home-dev-demo-app"
    folder.mkdir(parents=True)
    for n in range(4000):
        (folder / f"old-{n}.jsonl").write_bytes(b'{"type":"user"}\n')
    line = b'{"type":"assistant","message":{"content":"%s"}}\n' % (b"x" * 400)
    known = []
    for n in range(40):
        path = folder / f"s{n}.jsonl"
        with open(path, "wb") as file:
            file.truncate(SIZE)
            file.seek(SIZE)
            file.write(line * 700)
        known.append(Known(f"s{n}", None, None, str(path), str(home), "/home/dev/demo/app"))
    survey, opened = Survey(), Opened()
    before = bytes_read()
    while survey.look(known, [str(home)], 0).more:
        pass
    assert bytes_read() - before < 40 * (FIRST + 64 * 1024) + 1024 * 1024
    with opened:
        quiet = [_one_pass(survey, known, home) for _ in range(3)]
        with open(folder / "s7.jsonl", "ab") as file:
            file.write(line)
        changed = _one_pass(survey, known, home)
    assert max(*quiet, changed) < 1024 * 1024
    assert any("s7.jsonl" in path for path in opened.paths)
    assert not [path for path in opened.paths if "old-" in path]


def _one_pass(survey: Survey, known: list[Known], home: Path) -> int:
    before = bytes_read()
    survey.look(known, [str(home)], 0)
    return bytes_read() - before


# B64: invalid Unicode


def test_b64_surrogates_nul_and_bytes(
    tmux: TmuxServer, broker: BrokerProcess, emitter: Emitter
) -> None:
    data = DATA / "B64"
    tmux.new_session("desk", "cat")
    path = broker.sandbox.root / "s1.jsonl"
    emitter.hook("UserPromptSubmit", "s1", transcript_path=str(path), prompt="x")
    until_going(broker, "s1")
    path.write_bytes(recent((data / "transcript.jsonl").read_bytes()))
    broker.wait_queue("s1")
    stop = emitter.line("Stop", "s2", raw=(data / "escaped.json").read_bytes())
    pane = tmux.new_session("two", "sh", "-c", f"{stop}\nexec cat")
    broker.wait_queue("s1", "s2")
    emitter.hook("Stop", "s3", raw=(data / "raw.json").read_bytes())
    items = broker.wait_queue("s1", "s2", "s3")
    assert re.fullmatch("a[?�]b[?�]c 😀 [?�]", items[1]["message"])
    assert re.fullmatch("latin1 �+", items[2]["message"])
    done = broker.sandbox.trailboss("queue", "--json")
    assert [i["session_id"] for i in orjson.loads(done.stdout.decode("utf-8"))["items"]] == [
        "s1",
        "s2",
        "s3",
    ]
    assert "\\u0000" not in done.stdout.decode()
    assert len(listed(broker)) == 3
    assert all(map(harmless, frame(broker)))
    client = tmux.attach("desk")
    inside = {"TMUX": f"{tmux.socket},{tmux.pid},0"}
    done = broker.sandbox.trailboss("jump", pane, "--client", client.name, env=inside)
    assert done.returncode == 0, done.stderr
    assert client.pane() == pane
    assert "Traceback" not in broker.log + (broker.sandbox.root / "broker.stderr").read_text()
    broker.kill()
    broker.start()
    broker.wait_queue("s1", "s2", "s3")


# B65: text that a terminal would act upon


def test_b65_nothing_raw_reaches_a_terminal(
    tmux: TmuxServer, broker: BrokerProcess, emitter: Emitter
) -> None:
    story = lines("B65")
    sessions: dict[str, list[str]] = {}
    for line in story:
        data = {"cwd": "/home/dev/demo/\x1b[31mred", **line["data"]}
        sessions.setdefault(line["session"], []).append(
            emitter.line(line["hook"], line["session"], **data)
        )
    desk = tmux.new_session("desk", "cat")
    panes = {}
    for name, calls in sessions.items():
        panes[name] = tmux.new_session(name, "sh", "-c", "\n".join([*calls, "exec cat"]))
        broker.wait_queue(*panes)
    client = tmux.attach("desk")
    until(lambda: tmux.option("@trailboss_depth") == "2", what="the options are written")
    inside = {"TMUX": f"{tmux.socket},{tmux.pid},0", "TMUX_PANE": desk}
    run = broker.sandbox.trailboss
    printed = [
        run(*argv, env=inside)
        for argv in (
            ["queue"], ["sessions"], ["status"], ["status", "--line"], ["explain", "%1"],
            ["why", panes["s1"]], ["next", "--client", client.name],
            ["next", "--client", client.name], ["queue", "--help"],
        )
    ]  # fmt: skip
    assert broker.process is not None
    assert broker.process.poll() is None, broker.log
    shown = [(done.stdout + done.stderr).decode("utf-8") for done in printed]
    shown += [*frame(broker), *frame(broker, 40), broker.log]
    shown += tmux.tmux("show-options", "-g").splitlines()
    for pane in panes.values():
        shown += tmux.tmux("show-options", "-p", "-t", pane).splitlines()
    assert len(listed(broker)) == 2
    assert [text for text in shown if not all(map(harmless, text.splitlines()))] == []
    assert not [text for text in shown if "Y3VybCBldmls" in text or "\x1b" in text]
    (place,) = [text for text in shown if text.startswith("@trailboss_status")]
    assert "2 stuck" in place
    assert client.pane() in panes.values()
