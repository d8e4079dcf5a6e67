"""Every captured scenario of the real CLI, played through adapter and core.

`tests/data/captures/stories.txt` says what a person must have seen: the queue's reasons in turn,
`-` for an empty queue, changes shorter than the hold-off left out. Reviewed by hand.
"""

from __future__ import annotations

import pytest

from tests.harness.replay import DATA, Replay, scenarios, story


def _stories() -> list[tuple[str, str, str]]:
    out, version = [], ""
    for line in (DATA / "stories.txt").read_text().splitlines():
        if line.startswith("#"):
            version = line[1:].strip()
        else:
            case, _, told = line.partition(": ")
            out.append((version, case, told))
    return out


STORIES = _stories()


def test_every_scenario_has_its_story() -> None:
    told = {(version, case) for version, case, _ in STORIES}
    assert told == {(v, c) for v in ("2.1.197", "2.1.332") for c in scenarios(v)}


@pytest.mark.parametrize(("version", "case", "told"), STORIES, ids=lambda v: str(v)[:40])
def test_story(version: str, case: str, told: str) -> None:
    assert " ".join(story(Replay(version, case))) == told


# The reminder that comes six seconds after a dialog, and the hooks that only confirm what another
# one has said, may be lost without anybody noticing.
@pytest.mark.parametrize("dropped", ["SessionStart", "PostToolBatch", "SubagentStop", "SessionEnd"])
@pytest.mark.parametrize(("version", "case", "told"), STORIES, ids=lambda v: str(v)[:40])
def test_a_confirming_hook_is_lost(version: str, case: str, told: str, dropped: str) -> None:
    assert " ".join(story(Replay(version, case, drop=frozenset({dropped})))) == told


# Without hooks, these need no more than the status file and the transcript.
HOOKLESS = [
    s for s in STORIES
    if s[1].split("-")[0] in {"02", "03", "04", "04b", "05", "05b", "05c", "06", "06b", "07", "09",
                              "10c", "17", "18", "18b", "24", "30", "35", "38", "39"}
]  # fmt: skip


@pytest.mark.parametrize(("version", "case", "told"), HOOKLESS, ids=lambda v: str(v)[:40])
def test_without_any_hook(version: str, case: str, told: str) -> None:
    assert " ".join(story(Replay(version, case, hooks=False))) == told
