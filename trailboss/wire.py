"""Requests and replies of the API socket (contract, section 4), as bytes and back."""

from __future__ import annotations

from typing import Any

import orjson

VERSION = 1
MAX_REQUEST = 1024 * 1024

BAD_REQUEST = "bad_request"
UNKNOWN_OP = "unknown_op"
UNSUPPORTED_VERSION = "unsupported_version"
NOT_FOUND = "not_found"
CONFLICT = "conflict"
UNAVAILABLE = "unavailable"
INTERNAL = "internal"


class ApiError(Exception):
    """A refusal with one of the contract's codes; the text is a sentence for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def request(op: str, args: dict[str, Any] | None = None) -> bytes:
    return orjson.dumps({"v": VERSION, "op": op, "args": args or {}})


def read_request(frame: bytes) -> tuple[str, dict[str, Any]]:
    """(op, args) of one frame. Raises ApiError with the code to answer."""
    if len(frame) > MAX_REQUEST:
        raise ApiError(BAD_REQUEST, f"a request of {len(frame)} bytes, more than {MAX_REQUEST}")
    try:
        data = orjson.loads(frame)
    except (orjson.JSONDecodeError, RecursionError):
        raise ApiError(BAD_REQUEST, "the request is not JSON") from None
    if not isinstance(data, dict):
        raise ApiError(BAD_REQUEST, "the request is not a JSON object")
    version = data.get("v")
    if isinstance(version, bool) or not isinstance(version, int):
        raise ApiError(BAD_REQUEST, "the request has no integer v")
    if version != VERSION:
        raise ApiError(UNSUPPORTED_VERSION, f"version {version} is not {VERSION}")
    op = data.get("op")
    if not isinstance(op, str):
        raise ApiError(BAD_REQUEST, "the request has no op")
    args = data.get("args", {})
    if args is None:
        args = {}
    if not isinstance(args, dict):
        raise ApiError(BAD_REQUEST, "args is not an object")
    return op, args


def ok(result: dict[str, Any]) -> bytes:
    return orjson.dumps({"v": VERSION, "ok": True, "result": result})


def error(code: str, message: str) -> bytes:
    return orjson.dumps({"v": VERSION, "ok": False, "error": {"code": code, "message": message}})
