"""Reading an item of any family by its address."""

from __future__ import annotations

from collections.abc import Mapping

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound
from elf.memory.api import fields as f
from elf.memory.api.items import ReadItem
from elf.memory.asking import Asker, Asking
from elf.memory.conversations import HiddenConversations
from elf.offers import Item, Items


class ItemReading:
    """Carries out the operation `read_item`. What the caller may not see is not there."""

    def __init__(self, families: Mapping[str, Items], asker: Asker, hidden: HiddenConversations) -> None:
        self._families = families
        self._asker = asker
        self._hidden = hidden

    async def read(self, request: ReadItem, caller: Caller) -> f.Item:
        """Read an item. Raises NotFound, InvalidRequest for a kind that its family does not have, and ScopeDenied."""
        item = await self.item(request.family, request.kind, request.id, self._asker.of(request, caller))
        return f.Item(
            family=request.family,
            kind=item.kind,
            id=item.id,
            text=item.text,
            provenance=list(item.provenance),
            at=item.at,
            states=list(item.states),
            agent_id=item.agent_id,
            conversation=item.thread,
            metadata=dict(item.metadata),
        )

    async def item(self, name: str, kind: str, item_id: str, asking: Asking) -> Item:
        """Return an item as its family tells it. Raises as `read`."""
        family = self._families.get(name)
        if family is None:
            raise InvalidRequest(
                f"$.family: only these families are on: {', '.join(self._families)}", fields=["$.family"]
            )
        item = await family.read(kind, item_id, asking.subject, asking.caller)
        if await self._hidden.among([item], asking):
            raise NotFound(f"$.id: there is no item {item_id}", fields=["$.id"])
        return item
