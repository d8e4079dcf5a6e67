"""`trailboss popup`: the queue over whatever is running; one key goes there and closes it."""

from __future__ import annotations

from trailboss.ui import keys
from trailboss.ui.lists import Jump, ListScreen
from trailboss.ui.model import Item


class Picker(ListScreen):
    """The picker inside tmux's display-popup (or any terminal). Ends with the jump."""

    def __init__(self, jump: Jump) -> None:
        super().__init__(keys.POPUP, jump)

    def landed(self, item: Item) -> None:
        self.close()

    def leave(self) -> None:
        self.close()
