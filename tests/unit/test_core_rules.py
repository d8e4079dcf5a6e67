"""The queue's rules (contract, section 3), one case each, on the pure core."""

from __future__ import annotations

from typing import Any

import pytest

from trailboss.core import queue
from trailboss.core.board import Board, Session
from trailboss.core.claims import Claim
from trailboss.core.queue import Rules
from trailboss.events import Event

NOW = 10_000_000
_ids = iter(range(10**9))


def event(kind: str, at: int, session: str = "s1", **fields: Any) -> Event:
    if kind == "stuck":
        fields = {"reason": "stopped", "message": "done", **fields}
    given = {
        "v": 1, "id": f"e{next(_ids)}", "type": kind, "harness": "claude", "session_id": session,
        "timestamp": at, **fields,
    }  # fmt: skip
    return Event.from_dict(given)


def board(*events: Event, rules: Rules | None = None, now: int = NOW) -> Board:
    out = Board(rules)
    for each in events:
        out.apply(each, now)
    return out


def ids(b: Board, now: int = NOW) -> list[str]:
    return [s.session_id for s in b.queue(now)]


def only(b: Board, now: int = NOW) -> Session:
    (session,) = b.queue(now)
    assert session.entry is not None
    return session


def since(b: Board) -> int:
    entry = only(b).entry
    assert entry is not None
    return entry.since


def permission(at: int, key: str | None = None, **fields: Any) -> Event:
    more = {"request": key} if key else {}
    return event("stuck", at, reason="permission", message=f"ask {key}", **more, **fields)


# --- in and out ---------------------------------------------------------------------------


def test_order_is_fifo_whatever_the_reason() -> None:
    b = board(event("stuck", 300, "c"), permission(200, session="b"), event("stuck", 100, "a"))
    assert ids(b) == ["a", "b", "c"]


def test_a_further_stuck_keeps_since_and_place_and_shows_the_new_text() -> None:
    b = board(
        event("stuck", 100, "a"),
        event("stuck", 150, "b"),
        event("stuck", 200, "a", reason="permission", message="Bash: ls"),
    )
    assert ids(b) == ["a", "b"]
    first = b.queue(NOW)[0]
    assert (first.verdict.reason, first.verdict.text) == ("permission", "Bash: ls")
    assert first.entry is not None
    assert first.entry.since == 100


def test_unstuck_takes_out_and_the_next_wait_has_its_own_since() -> None:
    b = board(event("stuck", 100), event("unstuck", 200))
    assert ids(b) == []
    b.apply(event("stuck", 300), NOW)
    assert since(b) == 300


def test_ended_takes_out_and_a_newer_stuck_brings_back() -> None:
    b = board(event("stuck", 100), event("ended", 200))
    assert ids(b) == []
    b.apply(event("stuck", 150), NOW)
    assert ids(b) == []
    b.apply(event("stuck", 300), NOW)
    assert since(b) == 300


@pytest.mark.parametrize("first", [event("registered", 100), event("registered", 400)])
def test_registered_neither_puts_in_nor_takes_out(first: Event) -> None:
    assert ids(board(first)) == []
    assert ids(board(event("stuck", 200), first)) == ["s1"]


def test_an_older_event_changes_nothing() -> None:
    b = board(event("unstuck", 200), event("stuck", 100))
    assert ids(b) == []
    b = board(event("stuck", 200, message="new"), event("stuck", 100, message="old"))
    assert only(b).verdict.text == "new"
    assert since(b) == 200
    b.apply(event("unstuck", 150), NOW)
    assert ids(b) == ["s1"]


def test_equal_times_go_by_arrival() -> None:
    assert ids(board(event("stuck", 100), event("unstuck", 100))) == []
    assert ids(board(event("unstuck", 100), event("stuck", 100))) == ["s1"]


def test_a_time_in_the_future_counts_as_now() -> None:
    b = board(event("stuck", NOW + 99_999))
    assert since(b) == NOW
    b.apply(event("unstuck", NOW + 1), NOW + 2)
    assert ids(b) == []


def test_a_stored_time_later_than_now_holds_nothing_off() -> None:
    b = board(event("unstuck", NOW))
    b.apply(event("stuck", 5000), 6000)
    assert ids(b, 6000) == ["s1"]


# --- several requests ---------------------------------------------------------------------


def test_one_answer_of_two_leaves_the_other() -> None:
    b = board(permission(100, "A"), permission(110, "B"), event("unstuck", 200, request="A"))
    assert only(b).verdict.text == "ask B"
    b.apply(event("unstuck", 300, request="B"), NOW)
    assert ids(b) == []


def test_unstuck_without_a_request_settles_all() -> None:
    assert ids(board(permission(100, "A"), permission(110, "B"), event("unstuck", 200))) == []


def test_another_tools_end_settles_nothing() -> None:
    b = board(permission(100, "A"), event("unstuck", 150, request="X"))
    assert only(b).verdict.text == "ask A"


def test_a_request_heard_after_its_answer_stays_answered() -> None:
    assert ids(board(event("unstuck", 200, request="A"), permission(100, "A"))) == []


def test_a_request_heard_late_beside_a_newer_one_counts() -> None:
    b = board(permission(110, "B"), permission(100, "A"), event("unstuck", 200, request="B"))
    assert only(b).verdict.text == "ask A"


def test_the_same_request_again_after_its_answer_is_a_new_wait() -> None:
    b = board(permission(100, "A"), event("unstuck", 150, request="A"), permission(200, "A"))
    assert since(b) == 200


def test_a_stop_leaves_the_request_of_a_subagent() -> None:
    asked = permission(100, "A", detail={"agent_id": "a1"})
    b = board(asked, event("stuck", 150))
    assert only(b).verdict.reason == "permission"
    b.apply(event("unstuck", 200, detail={"scope": "main"}), NOW)
    assert only(b).verdict.reason == "permission"
    b.apply(event("unstuck", 300, detail={"agent_id": "a1"}), NOW)
    assert ids(b) == []


def test_a_failure_after_the_stop_is_no_new_wait() -> None:
    """Case B13."""
    b = board(event("stuck", 100, message="Done."))
    for at in (200, 300, 400):
        b.apply(event("stuck", at, message="429", detail={"error": "rate_limit"}), NOW)
    assert only(b).verdict.text == "Done."
    assert since(b) == 100


# --- reminders -----------------------------------------------------------------------------


def reminder(at: int, reason: str = "permission") -> Event:
    return event("stuck", at, reason=reason, message="needs you", detail={"reminder": True})


def test_a_late_notice_of_an_answered_request_puts_nothing_in() -> None:
    """Case B05."""
    b = board(permission(100, "A"), event("unstuck", 200, request="A"), reminder(800))
    assert ids(b) == []


def test_a_notice_is_a_way_in_where_no_request_was_told() -> None:
    b = board(event("unstuck", 100, detail={"scope": "main"}), reminder(700))
    assert only(b).verdict.reason == "permission"


def test_a_notice_of_what_is_known_changes_nothing() -> None:
    b = board(permission(100, "A"), reminder(700))
    assert only(b).verdict.text == "ask A"
    assert since(b) == 100


# --- skip, cooldown, snooze, grace -----------------------------------------------------------


def test_skip_moves_to_the_tail_and_cools() -> None:
    b = board(event("stuck", 100, "a"), event("stuck", 200, "b"))
    assert b.skip(None, NOW).session_id == "a"  # type: ignore[union-attr]
    assert ids(b) == ["b", "a"]
    assert b.head(NOW).session_id == "b"  # type: ignore[union-attr]
    later = NOW + 60_001
    assert [s.session_id for s in b.ready(later)] == ["b", "a"]
    assert b.sessions["a"].entry.since == 100  # type: ignore[union-attr]


def test_with_none_ready_the_queue_presents_as_empty() -> None:
    b = board(event("stuck", 100))
    b.skip(None, NOW)
    assert b.head(NOW) is None
    assert b.skip(None, NOW) is None
    assert len(b.queue(NOW)) == 1


def test_a_new_stuck_ends_the_cooldown_and_a_repeat_does_not() -> None:
    b = board(permission(100, "A"))
    b.skip(None, NOW)
    for repeat in (permission(100, "A"), reminder(800), permission(900, "A")):
        b.apply(repeat, NOW)
        assert b.head(NOW) is None
    b.apply(permission(1000, "B"), NOW)
    assert b.head(NOW) is not None


def test_the_same_turn_again_is_a_repeat() -> None:
    turn = {"turn": "p1"}
    b = board(event("stuck", 100, detail=turn))
    b.skip(None, NOW)
    b.apply(event("stuck", 200, detail=turn), NOW)
    assert b.head(NOW) is None
    b.apply(event("stuck", 300, detail={"turn": "p2"}), NOW)
    assert b.head(NOW) is not None


def test_snoozed_is_last_and_wakes_by_itself_or_by_a_new_question() -> None:
    """Case B95."""
    b = board(event("stuck", 100, "a"), event("stuck", 200, "b"))
    b.snooze("a", NOW + 600_000)
    assert ids(b) == ["b", "a"]
    b.apply(event("stuck", 300, "a", message="idle", detail={"reminder": True}), NOW)
    assert b.sessions["a"].entry.standing(NOW) != "ready"  # type: ignore[union-attr]
    assert [s.session_id for s in b.ready(NOW + 600_001)] == ["a", "b"]
    b.apply(permission(400, "A", session="a"), NOW)
    assert b.head(NOW).session_id == "a"  # type: ignore[union-attr]


def test_a_stop_with_live_tasks_cools_for_the_grace_at_its_own_place() -> None:
    """Case B21 and contract, rule 5."""
    tasks = [{"id": "b1", "status": "running"}]
    b = board(
        event("stuck", NOW - 1000, "a", detail={"background_tasks": tasks}),
        event("stuck", NOW - 500, "b"),
    )
    assert [s.session_id for s in b.ready(NOW)] == ["b"]
    assert [s.session_id for s in b.ready(NOW + 300_000)] == ["a", "b"]
    b.apply(event("stuck", NOW, "a", message="all over", detail={"background_tasks": []}), NOW)
    assert [s.session_id for s in b.ready(NOW)] == ["a", "b"]


def test_no_grace_when_it_is_0_or_the_tasks_are_over() -> None:
    live = {"background_tasks": [{"status": "running"}]}
    over = {"background_tasks": [{"status": "completed"}]}
    assert board(event("stuck", NOW, detail=live), rules=Rules(background_grace=0)).head(NOW)
    assert board(event("stuck", NOW, detail=over)).head(NOW)


# --- panes -----------------------------------------------------------------------------------

PANE = {"pane_id": "%3", "tmux_socket": "/tmp/a", "tmux_pid": 7}


def test_a_new_session_in_the_pane_retires_the_older_one() -> None:
    """AS-7 and case B16."""
    b = board(event("stuck", 100, "old", **PANE), event("registered", 200, "new", **PANE))
    assert ids(b) == []
    b.apply(event("stuck", 300, "new", **PANE), NOW)
    assert ids(b) == ["new"]
    assert b.sessions["old"].pane is None
    b.apply(event("stuck", 150, "old", **PANE), NOW)
    assert ids(b) == ["new"]


def test_the_same_pane_id_on_another_server_is_another_pane() -> None:
    """Case B26."""
    other = {**PANE, "tmux_socket": "/tmp/b"}
    b = board(event("stuck", 100, "a", **PANE), event("stuck", 200, "b", **other))
    assert ids(b) == ["a", "b"]


def test_a_session_without_a_pane_stays() -> None:
    assert ids(board(event("stuck", 100))) == ["s1"]


def test_a_detector_never_takes_a_harness_pane() -> None:
    b = board(event("stuck", 100, "a", **PANE))
    b.apply(event("stuck", 200, "pane:%3", harness="tmux", **PANE), NOW)
    assert ids(b) == ["a"]
    assert b.sessions["a"].pane is not None


def test_a_run_nested_in_a_live_session_is_none() -> None:
    """Case B23: told by its ancestors, never by a missing terminal."""
    b = board(event("unstuck", 100, "outer", pid=50, **PANE))
    inner = event("stuck", 200, "inner", pid=80, detail={"ancestors": [70, 50, 1]}, **PANE)
    assert b.apply(inner, NOW) is None
    assert list(b.sessions) == ["outer"]


# --- other witnesses -------------------------------------------------------------------------


def claim(source: Any, at: int, says: Any, **more: Any) -> Claim:
    return Claim(source=source, at=at, says=says, **more)


def test_an_answer_seen_by_the_status_file_ends_the_wait() -> None:
    b = board(permission(1000, "A"))
    b.claim("s1", claim("registry", 1050, "stuck", cause="permission prompt"), NOW)
    b.claim("s1", claim("registry", 5000, "going"), NOW)
    assert ids(b) == []


def test_an_answer_too_quick_for_the_status_file_to_be_seen_waiting() -> None:
    b = board(permission(1000, "A"))
    b.claim("s1", claim("registry", 1080, "going", checked_at=1300), NOW)
    assert ids(b) == ["s1"]
    b.claim("s1", claim("registry", 1080, "going", checked_at=2300), NOW)
    assert ids(b) == []


def test_a_status_of_before_the_request_answers_nothing() -> None:
    b = board(permission(1000, "A"))
    b.claim("s1", claim("registry", 900, "going", checked_at=9000), NOW)
    assert ids(b) == ["s1"]


def test_no_said_in_the_pane_becomes_stopped_with_its_own_since() -> None:
    b = board(permission(1000, "A"))
    b.claim("s1", claim("registry", 1050, "stuck", cause="permission prompt"), NOW)
    b.claim("s1", claim("registry", 5000, "idle"), NOW)
    assert only(b).verdict.reason == "stopped"
    assert since(b) == 5000


def test_busy_answers_no_open_form() -> None:
    """Captures fact 5: an MCP form leaves the status busy in some versions."""
    form = event(
        "stuck", 1000, reason="permission", message="Which?", request="F",
        detail={"tool_name": "elicitation"},
    )  # fmt: skip
    b = board(form)
    b.claim("s1", claim("registry", 2000, "going", checked_at=NOW), NOW)
    assert only(b).verdict.text == "Which?"


def test_a_fresh_prompt_is_not_stuck() -> None:
    b = board(event("registered", 100))
    b.claim("s1", claim("registry", 200, "idle", checked_at=NOW), NOW)
    assert b.sessions["s1"].verdict.state == "idle"
    assert ids(b) == []


def test_a_menu_that_a_person_opened_is_not_stuck_and_a_notice_is() -> None:
    b = board(event("registered", 100))
    b.claim("s1", claim("registry", 200, "stuck", cause="dialog open", checked_at=NOW), NOW)
    assert ids(b) == []
    b.apply(reminder(6200), NOW)
    assert only(b).verdict.reason == "permission"


def test_still_busy_long_after_the_stop_means_that_it_went_on() -> None:
    """Captures 15: another tool's Stop hook has blocked, and the turn goes on."""
    b = board(event("stuck", 5000))
    b.claim("s1", claim("registry", 3000, "going", checked_at=5100), NOW)
    assert ids(b) == ["s1"]
    b.claim("s1", claim("registry", 3000, "going", checked_at=9000), NOW)
    assert ids(b) == []


def test_a_dead_process_beats_all() -> None:
    b = board(permission(100, "A"))
    b.claim("s1", claim("process", 500, "gone"), NOW)
    assert b.sessions["s1"].verdict.state == "ended"
    assert ids(b) == []


def test_transcript_alone_puts_in_and_takes_out() -> None:
    b = board(event("unstuck", 100))
    done = claim("transcript", 900, "stuck", scope="main", reason="stopped", text="All done.")
    b.claim("s1", done, NOW)
    assert only(b).verdict.text == "All done."
    b.claim("s1", claim("transcript", 950, "going", scope="main"), NOW)
    assert ids(b) == []


def test_what_hides_nothing_is_next_change() -> None:
    b = board(event("stuck", 100))
    b.skip(None, NOW)
    entries = [s.entry for s in b.queue(NOW) if s.entry]
    assert queue.next_change(entries, NOW) == NOW + 60_000


# --- the screen ------------------------------------------------------------------------------


def screen(at: int, says: Any, cause: str = "permission", **more: Any) -> Claim:
    reason = {"stuck": "permission", "idle": "stopped"}.get(says)
    return claim("screen", at, says, cause=cause, reason=reason, checked_at=at, **more)


def test_a_dialog_that_was_seen_and_is_gone_was_answered() -> None:
    b = board(permission(1000, "A"))
    b.claim("s1", screen(1500, "going"), NOW)
    assert ids(b) == ["s1"], "never seen: what is drawn may hide it"
    b.claim("s1", screen(2000, "stuck"), NOW)
    assert since(b) == 1000
    b.claim("s1", screen(3000, "going"), NOW)
    assert ids(b) == []


def test_a_dialog_on_the_screen_is_a_wait_by_itself() -> None:
    b = board(event("unstuck", 1000))
    b.claim("s1", claim("registry", 900, "going", checked_at=5000), NOW)
    b.claim("s1", screen(4000, "stuck", text="Do you trust it?"), NOW)
    assert only(b).verdict.text == "Do you trust it?"
    assert since(b) == 4000
    b.claim("s1", screen(6000, "stuck", text="Do you trust it?"), NOW)
    assert since(b) == 4000
    b.claim("s1", screen(8000, "going", cause="busy"), NOW)
    assert ids(b) == []


def test_esc_without_hook_or_status_is_seen_on_the_screen() -> None:
    b = board(event("unstuck", 1000, detail={"scope": "main"}))
    b.claim("s1", screen(2000, "going", cause="busy"), NOW)
    assert ids(b) == []
    b.claim("s1", screen(9000, "idle", cause="idle"), NOW)
    assert only(b).verdict.reason == "stopped"
    assert since(b) == 9000


def test_of_two_open_requests_the_screen_shows_one() -> None:
    agents = [{"agent_id": "a1"}, {"agent_id": "a2"}]
    b = board()
    for at, key, text, detail in (
        (100, "A", "Bash: make a", agents[0]), (110, "B", "Bash: make b", agents[1]),
    ):  # fmt: skip
        asked = event("stuck", at, reason="permission", message=text, request=key, detail=detail)
        b.apply(asked, NOW)
    b.claim("s1", screen(2000, "stuck", text="Bash command make a Do you want to proceed?"), NOW)
    b.claim("s1", screen(3000, "going", cause="busy"), NOW)
    assert only(b).verdict.text == "Bash: make b"


def test_the_grace_ends_when_the_tasks_end_without_waking_it() -> None:
    """Contract, rule 5: the status file goes from `shell` to `idle`."""
    tasks = {"background_tasks": [{"id": "b1", "status": "running"}]}
    b = board(event("stuck", NOW - 60_000, detail=tasks))
    b.claim("s1", claim("registry", NOW - 59_900, "idle", cause="shell"), NOW)
    assert b.head(NOW) is None
    b.claim("s1", claim("registry", NOW - 10, "idle", cause="idle"), NOW)
    assert b.head(NOW) is not None
    assert since(b) == NOW - 60_000


def test_a_clock_set_back_holds_nothing_off() -> None:
    b = board(event("stuck", NOW - 100))
    b.skip(None, NOW)
    assert b.head(NOW) is None
    earlier = NOW - 3_600_000
    assert b.head(earlier) is not None
    b.claim("s1", claim("registry", earlier, "going", checked_at=earlier), earlier)
    assert ids(b, earlier) == []


def test_a_claim_of_the_future_counts_as_now() -> None:
    b = board(event("unstuck", NOW - 100))
    b.claim("s1", claim("transcript", NOW + 3_600_000, "going", scope="main"), NOW)
    b.apply(event("stuck", NOW + 10), NOW + 10)
    assert ids(b, NOW + 10) == ["s1"]


def test_a_long_busy_screen_is_a_turn() -> None:
    b = board(event("registered", 100))
    b.claim("s1", screen(1000, "going", cause="busy"), NOW)
    b.claim("s1", screen(61_000, "going", cause="busy"), NOW)
    b.claim("s1", screen(62_000, "idle", cause="idle"), NOW)
    assert only(b).verdict.reason == "stopped"
