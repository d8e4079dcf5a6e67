"""The table of harnesses that Trail Boss knows."""

from __future__ import annotations

from trailboss.adapters.base import Adapter, Ancestor, Payload

__all__ = ["Adapter", "Ancestor", "Payload", "find"]


def find(name: str) -> Adapter | None:
    """The adapter of that harness, or None for one that nobody knows."""
    if name == "claude":
        from trailboss.adapters.claude import CLAUDE

        return CLAUDE
    return None
