"""A hook's standard input to an object: what is taken, what is cleaned, what is refused."""

from __future__ import annotations

import json

import orjson
import pytest

from trailboss.emit import body


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b' {"a": [true, null, 1.5]}\n', {"a": [True, None, 1.5]}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": "x\\udc88y"}', {"a": "x?y"}),
        (b'{"a\\udc88": 1}', {"a?": 1}),
        (b'{"a": "x\\u0000y"}', {"a": "x�y"}),
        (b'{"a": "x\xb2\xffy"}', {"a": "x��y"}),
        (b'{"a": NaN, "b": 1e999, "c": -Infinity}', {"a": None, "b": None, "c": None}),
        (b'{"a": 9223372036854775807}', {"a": (1 << 63) - 1}),
        (b'{"a": 9223372036854775808}', {"a": float(1 << 63)}),
        (b'{"a": 1' + b"0" * 400 + b"}", {"a": None}),
    ],
)
def test_what_is_taken(raw: bytes, expected: object) -> None:
    data = body.parse(raw)
    assert data == expected
    orjson.dumps(data)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[1, 2]",
        b'"text"',
        b'{"a": 1',
        b'{"a": 1}{"b": 2}',
        b"\x00\x00{}",
        b"\x89PNG\r\n\x1a\n",
        b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    ],
)
def test_what_is_refused(raw: bytes) -> None:
    with pytest.raises(body.NotJson):
        body.parse(raw)


def test_the_reason_holds_no_text_of_the_agent() -> None:
    with pytest.raises(body.NotJson) as caught:
        body.parse(b'{"prompt": "my secret')
    assert "secret" not in str(caught.value)


def test_deep_nesting_is_cut_not_refused() -> None:
    data = body.parse(b'{"a": ' + b'{"b": ' * 300 + b"1" + b"}" * 300 + b', "z": 2}')
    assert data["z"] == 2
    json.dumps(data)


def test_a_body_cut_at_its_cap_keeps_its_first_members(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = orjson.dumps(
        {
            "session_id": "s1",
            "hook_event_name": "PostToolUse",
            "tool_input": {"command": "cat x", "odd": 'a"}b'},
            "tool_response": "r" * 1000,
        }
    )
    cut = whole[:500]
    with pytest.raises(body.NotJson):
        body.parse(cut)
    monkeypatch.setattr(body, "CAPS", frozenset({500}))
    assert body.parse(cut) == {
        "session_id": "s1",
        "hook_event_name": "PostToolUse",
        "tool_input": {"command": "cat x", "odd": 'a"}b'},
    }
