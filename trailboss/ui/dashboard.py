"""`trailboss dashboard`: the same list in a window of its own, which stays."""

from __future__ import annotations

from trailboss.ui import keys, model, view
from trailboss.ui.lists import Jump, ListScreen
from trailboss.ui.model import Item


class Dashboard(ListScreen):
    """The full-window list. A jump moves the client away and leaves it open; q asks first."""

    def __init__(self, jump: Jump) -> None:
        super().__init__(keys.DASHBOARD, jump)

    def landed(self, item: Item) -> None:
        self.say(f"went to {view.session_name(item)}")

    def leave(self) -> None:
        self.state = model.ask(
            self.state, "close", "close the dashboard? the same key again closes it"
        )
