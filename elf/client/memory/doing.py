"""What a memory does: what was said is remembered, and what is known is recalled, told and forgotten.

Each is written once, to be awaited. The examples of the docstrings are those of Memory; with AsyncMemory each is
awaited.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from elf.client.asynchronous import AsyncClient
from elf.client.families.memories import MemoriesClient, MemoryContext, Recalled, Remembered
from elf.client.families.memories_kept import Forgotten
from elf.client.filters import Moment
from elf.client.memory.inputs import Kept, Messages, addresses_of, messages_of, wait_ms_of
from elf.client.memory.subject import Subject


class Doing:
    """What is done by a client, for a subject: what a call does not say."""

    def __init__(self, client: AsyncClient, subject: Subject) -> None:
        self.client = client
        self.subject = subject

    @property
    def memories(self) -> MemoriesClient[AsyncClient]:
        return self.client.memories

    async def remember(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        conversation: str | None = None,
        request_id: str | None = None,
        wait: bool | float = True,
        dry_run: bool = False,
        strict: bool = False,
    ) -> Remembered:
        """Remember what was said: a text, a message, or a list of them, the oldest first.

        It is kept at once as it was said; what families make of it is waited for, up to 30 s or as many as `wait` says.
        A repeat with the same `request_id` does nothing twice. `dry_run` tells what would become of it. Messages may be
        those of the chat API of OpenAI: their text is kept, the rest is told as `skipped`, or refused with `strict`.

        >>> told = memory.remember("I prefer green tea to coffee.", user_id="ana", conversation="breakfast")
        >>> told.done, [one.family for one in told.families]
        (True, ['conversations', 'notes', 'assistant'])
        """
        whose = self.subject.with_(user_id, agent_id, conversation)
        return await self.memories.remember(
            messages_of(messages),  # type: ignore[arg-type]  # what is no message is the service's to refuse
            user_id=whose.user_id, agent_id=whose.agent_id, conversation=whose.run_id, request_id=request_id,
            wait_ms=wait_ms_of(wait), dry_run=dry_run or None, strict=strict or None,
        )  # fmt: skip

    async def remembered(
        self, remembered_id: UUID | str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> Remembered:
        """Tell what became of what was said, by the id of the answer. Raises NotFound.

        >>> told = memory.remember("I moved to Porto in May.", user_id="ana", wait=False)
        >>> memory.remembered(told.id, user_id="ana").conversation == told.conversation
        True
        """
        whose = self.subject.with_(user_id, agent_id)
        return await self.memories.remembered(remembered_id, user_id=whose.user_id, agent_id=whose.agent_id)

    async def recall(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        families: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        top_k: int | None = None,
        budget_tokens: int | None = None,
        min_relevance: float | None = None,
    ) -> Recalled:
        """Recall what is known that answers a question, best first: each with its text and what it rests on.

        >>> answer = memory.recall("Which hot drink does Ana like?", user_id="ana")
        >>> "green tea" in answer.items[0].text
        True
        """
        whose = self.subject.with_(user_id, agent_id)
        return await self.memories.recall(
            query, user_id=whose.user_id, agent_id=whose.agent_id, families=families, kinds=kinds, since=since,
            until=until, top_k=top_k, budget_tokens=budget_tokens, min_relevance=min_relevance,
        )  # fmt: skip

    async def context(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        families: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        top_k: int | None = None,
        budget_tokens: int | None = None,
        min_relevance: float | None = None,
    ) -> MemoryContext:
        """Put what is known into a text for a model, within a budget of tokens; `citations` say what each line is.

        >>> context = memory.context("Which hot drink does Ana like?", user_id="ana", budget_tokens=200)
        >>> "green tea" in context.text, context.tokens <= 200
        (True, True)
        """
        whose = self.subject.with_(user_id, agent_id)
        return await self.memories.context(
            query, user_id=whose.user_id, agent_id=whose.agent_id, families=families, kinds=kinds, since=since,
            until=until, top_k=top_k, budget_tokens=budget_tokens, min_relevance=min_relevance,
        )  # fmt: skip

    async def forget(
        self,
        items: Kept | None = None,
        *,
        query: str | None = None,
        handle: UUID | str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        top_k: int | None = None,
        min_relevance: float | None = None,
        cascade: bool = False,
    ) -> Forgotten:
        """Forget items: those that were recalled, or addresses. A query alone forgets nothing: it shows candidates.

        What it shows is forgotten by the `handle` of its answer, all of it or the `items` that are meant. `remaining`
        names the entries of conversations that still hold the words; with `cascade` these are taken out there.

        >>> shown = memory.forget(query="Which hot drink does Ana like?", user_id="ana", top_k=1)
        >>> gone = memory.forget(shown.candidates[0], handle=shown.handle, user_id="ana")
        >>> [one.outcome for one in gone.items]
        ['forgotten']
        """
        whose = self.subject.with_(user_id, agent_id)
        return await self.memories.forget(
            None if items is None else [str(one) for one in addresses_of(items)], query=query, handle=handle,
            user_id=whose.user_id, agent_id=whose.agent_id, top_k=top_k, min_relevance=min_relevance,
            cascade=cascade or None,
        )  # fmt: skip
