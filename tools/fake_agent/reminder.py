"""The notifications that come when nobody acts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.fake_agent.agent import Agent, Request

#: The words of each; `plan` is a permission prompt in words of its own.
WORDS = {
    "permission_prompt": "Claude needs your permission",
    "plan": "Claude Code needs your approval for the plan",
    "elicitation_dialog": "Claude Code needs your input",
    "idle_prompt": "Claude is waiting for your input",
}


class Reminder:
    """One Notification per dialog that stays open, and one per prompt that stays idle.

    A key moves that of an open dialog by its whole time; typing ends that of an idle prompt for
    good. Seconds are those of the agent's `pace`.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._timer: asyncio.TimerHandle | None = None

    def of_dialog(self, request: Request) -> None:
        kind = request.notification
        if kind is not None and not request.reminded:
            self._in(self._agent.pace.notify_after, kind, lambda: self._take(request))

    def of_idle(self) -> None:
        agent = self._agent
        self._in(agent.pace.idle_after, "idle_prompt", lambda: not agent.turning)

    def key(self) -> None:
        """A key was pressed."""
        request = self._agent.shown
        if request is None:
            self.cancel()
        elif self._timer is not None:
            self.of_dialog(request)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def fire(self, kind: str) -> None:
        """The notification of that type, now."""
        name = "permission_prompt" if kind == "plan" else kind
        message = WORDS.get(kind, kind)
        await self._agent.fire("Notification", message=message, notification_type=name)

    def _take(self, request: Request) -> bool:
        """Whether this dialog is still open and was never reminded of, which it is from now on."""
        if request not in self._agent.asked or request.reminded:
            return False
        request.reminded = True
        return True

    def _in(self, seconds: float, kind: str, due: Callable[[], bool]) -> None:
        def ring() -> None:
            if due():
                self._agent.later(self.fire(kind))

        self.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, ring)
