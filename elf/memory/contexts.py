"""What is known as a text to put before a model."""

from __future__ import annotations

from elf.api.caller import Caller
from elf.core.chunking import TokenCounter
from elf.memory.answering import Answering
from elf.memory.api import context as c
from elf.memory.api.recalling import AlsoItem
from elf.memory.asking import Asker
from elf.memory.own_context import OwnContext
from elf.memory.page import Page
from elf.memory.traces import also_of


class MemoryContexts:
    """Carries out the operation `context_of_memory`."""

    def __init__(self, answering: Answering, counter: TokenCounter, own: OwnContext, asker: Asker) -> None:
        self._answering = answering
        self._own = own
        self._asker = asker
        self._counter = counter

    async def context(self, request: c.ContextOfMemory, caller: Caller) -> c.ContextAnswer:
        """Return a page of what is known that answers a query. Raises as `Answering.answer` does."""
        page = Page(self._counter, request.budget_tokens)
        trace_id, _, content = await self._answering.answer(request, caller, page)
        subject = self._asker.of(request, caller).subject
        await self._own.keep(subject, [line.told.offered.item.text for line in page.lines])
        return c.ContextAnswer(
            trace_id=trace_id,
            text=page.text,
            citations=[
                c.Citation(
                    marker=line.marker,
                    family=family,
                    kind=kind,
                    id=id,
                    also=[AlsoItem(**also_of(other)) for other in line.told.also],
                )
                for line in page.lines
                for family, kind, id in [line.told.offered.address]
            ],
            tokens=page.tokens,
            degraded=content["degraded"],
            skipped=content["skipped"],
        )
