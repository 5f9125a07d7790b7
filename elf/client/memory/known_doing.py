"""The verbs that users of mem0 know, by what a memory does, with the results that they expect: plain dicts.

Where a verb cannot do what it does there, it says so: no option is taken and passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from elf.client.families.memories import InFamily, RecalledItem, Remembered
from elf.client.inputs import NewNote
from elf.client.memory import changing
from elf.client.memory import records as r
from elf.client.memory.deleting import forget_all, refusal_of
from elf.client.memory.doing import Doing
from elf.client.memory.inputs import MOST, Messages, Told, address_of, limit_of, told_of
from elf.client.memory.listing import listed
from elf.client.memory.subject import Subject
from elf.core.errors import InvalidRequest, NotFound

MOST_FOUND: Final = 100
UNREAD: Final = frozenset({"entry", "proposal"})
"""Kinds of what is written that is no memory by itself: what was said as it is, and what a user has to agree to."""
KEPT_ROLES: Final = frozenset({"user", "assistant"})
"""Whose words are kept without inference: what systems, developers and tools say is not the user's to be remembered."""
WHOSE: Final = ("user_id", "agent_id", "run_id")


class KnownDoing(Doing):
    """`run_id` is a conversation, by any name."""

    async def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
        infer: bool = True,
        wait: bool | float = True,
    ) -> r.AddedAll:
        """Remember what was said, and return what was made of it. Families that keep the same thing each have theirs.

        Without `infer`, each text is kept as a note just as it is, with `metadata`, which get, search and get_all
        return. What is neither a user's nor an assistant's is not kept: ROLE_NOT_KEPT.

        >>> made = memory.add("I moved to Lisbon in May.", user_id="bob", run_id="hello")
        >>> {"id", "memory", "event"} <= made["results"][0].keys(), made["results"][0]["event"]
        (True, 'ADD')
        >>> memory.add("Bob has two cats.", user_id="bob", infer=False)["results"][0]["memory"]
        'Bob has two cats.'
        """
        whose = self.subject.with_(user_id, agent_id, run_id)
        if not infer:
            return await self._kept_as_notes(told_of(messages), whose, metadata)
        if metadata is not None:
            raise InvalidRequest(
                "metadata: is kept with infer=False only; what is made of messages names them as its source",
                fields=["metadata"],
            )
        told = await self.remember(
            messages, user_id=whose.user_id, agent_id=whose.agent_id, conversation=whose.run_id, wait=wait
        )
        return r.AddedAll(
            results=[one for family in told.families for one in await self._made(family, whose)],
            remembered=str(told.id),
            pending=[one.family for one in told.families if one.state in ("pending", "failed")],
            refused=_refused(told),
            skipped=[msgspec.to_builtins(one) for one in told.skipped],
        )

    async def _made(self, told: InFamily, whose: Subject) -> list[r.Added]:
        """Return what a family made of what was said, with its text; what is gone again is not there."""
        made = []
        for written in told.written:
            if written.id is None or written.kind in UNREAD:
                continue
            try:
                item = await self.memories.item(
                    told.family, written.kind, written.id, user_id=whose.user_id, agent_id=whose.agent_id
                )
            except NotFound:
                continue
            made.append(r.Added(id=item.address, memory=item.text, event=written.op))
        return made

    async def _kept_as_notes(
        self, told: Sequence[Told], whose: Subject, metadata: Mapping[str, object] | None
    ) -> r.AddedAll:
        source = {
            **({} if whose.run_id is None else {"thread": whose.run_id}),
            **({} if metadata is None else {"metadata": dict(metadata)}),
        }
        kept = [one for one in told if one.role in KEPT_ROLES]
        notes = [NewNote(text=one.text, source_ref=source) for one in kept]
        client = whose.notes(self.client, "a note")
        written = iter(await client.add_notes(notes, scope="project_shared") if notes else ())
        results = []
        for role, text in told:
            if role not in KEPT_ROLES:
                results.append(r.Added(id=None, memory=text, event="REJECTED", reason="ROLE_NOT_KEPT"))
                continue
            one = next(written)
            id = None if one.note_id is None else f"notes/note/{one.note_id}"
            added = r.Added(id=id, memory=text, event=one.op)
            if not one.stored:
                added["reason"] = one.reason or one.reason_code
            results.append(added)
        return r.AddedAll(results=results)

    async def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
        top_k: int | None = None,
        filters: Mapping[str, str] | None = None,
        threshold: float | None = None,
    ) -> r.FoundAll:
        """Find what is known that answers a query, best first. `filters` may say whose, too.

        `threshold` leaves out what is less relevant, 0 to 1. With `run_id` only what is of this conversation is there,
        with `agent_id` what is of this agent or of none.

        >>> found = memory.search("Which city did he move to in May?", user_id="bob", limit=3)
        >>> "Lisbon" in found["results"][0]["memory"]
        True
        """
        whose = self._filtered(filters).with_(user_id, agent_id, run_id)
        wanted = limit_of(limit, top_k, default=20, most=MOST_FOUND)
        answer = await self.memories.recall(
            query, user_id=whose.user_id, agent_id=whose.agent_id, min_relevance=threshold,
            top_k=wanted if whose.run_id is None else MOST_FOUND, only_agent=whose.agent_id is not None or None,
        )  # fmt: skip
        names = await self._names_of_run(whose)
        items = [one for one in answer.items if names is None or not names.isdisjoint(_rests_on(one))]
        return r.FoundAll(results=[r.found_of(one, whose.user_id) for one in items[:wanted]])

    async def _names_of_run(self, whose: Subject) -> frozenset[str] | None:
        """Return the names by which an item rests on the run's conversation; None without a run."""
        if whose.run_id is None:
            return None
        conversation = await whose.conversation_id(self.client)
        return frozenset({f"thread:{whose.run_id}", f"conversation:{conversation or whose.run_id}"})

    def _filtered(self, filters: Mapping[str, str] | None) -> Subject:
        """Return whom filters say. Raises InvalidRequest for one that is not here."""
        for name in filters or {}:
            if name not in WHOSE:
                raise InvalidRequest(
                    f"filters: {name} is none: there are {', '.join(WHOSE)}", fields=[f"filters.{name}"]
                )
        return self.subject.with_(**(filters or {}))

    async def get(
        self, memory_id: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> r.Record | None:
        """Read something that is kept; None when it is not there.

        >>> made = memory.add("I live in Oslo.", user_id="eve")["results"][0]
        >>> memory.get(made["id"], user_id="eve")["memory"] == made["memory"]
        True
        """
        whose, address = self.subject.with_(user_id, agent_id), address_of(memory_id)
        try:
            item = await self.memories.item(*address, user_id=whose.user_id, agent_id=whose.agent_id)
        except NotFound:
            return None
        return r.record_of_item(item, whose.user_id)

    async def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
        top_k: int | None = None,
        filters: Mapping[str, str] | None = None,
    ) -> r.Listed:
        """List what notes, the assistant and knowledge keep of a user, changed last first: 100, or `limit` up to 1000.

        With a run, only what is of it; with an agent, what is of it or of none. What was said stands in conversations:
        client.conversations.

        >>> [one["memory"] for one in memory.get_all(user_id="eve")["results"] if one["id"].startswith("notes/")]
        ['Profile: I live in Oslo.']
        """
        whose = self._filtered(filters).with_(user_id, agent_id, run_id)
        wanted = limit_of(limit, top_k, default=100, most=MOST)
        return r.Listed(results=await listed(self.client, whose, wanted))

    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        *,
        data: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> r.Told:
        """Give a note or a memory of the assistant another text; `data` is another name for it. Raises NotFound.

        >>> (home,) = [one for one in memory.get_all(user_id="eve")["results"] if one["id"].startswith("notes/")]
        >>> memory.update(home["id"], "Eve lives in Bergen.", user_id="eve")["message"]
        'Memory updated successfully!'
        """
        if (text is None) == (data is None):
            raise InvalidRequest("text: give the new text, once", fields=["text"])
        new: str = text if text is not None else data  # type: ignore[assignment]  # one of them is there
        await changing.change(self.client, address_of(memory_id), new, self.subject.with_(user_id, agent_id))
        return r.Told(message="Memory updated successfully!")

    async def history(
        self, memory_id: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> list[r.Change]:
        """Tell what became of a note or a memory of the assistant, oldest change first. Raises NotFound.

        >>> [(one["event"], one["new_memory"]) for one in memory.history(home["id"], user_id="eve")]
        [('ADD', 'Profile: I live in Oslo.'), ('UPDATE', 'Eve lives in Bergen.')]
        """
        subject = self.subject.with_(user_id, agent_id)
        return await changing.history(self.client, address_of(memory_id), subject)

    async def delete(
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        cascade: bool = False,
    ) -> r.Deleted:
        """Forget one thing, as `forget` does. Raises NotFound, and what its family refuses it with.

        `remaining` names the entries of conversations that still hold the words; with `cascade` these are taken out.

        >>> memory.delete(home["id"], user_id="eve")["message"]
        'Memory deleted successfully!'
        >>> memory.get(home["id"], user_id="eve") is None
        True
        """
        address = address_of(memory_id)
        told = await self.forget(str(address), user_id=user_id, agent_id=agent_id, cascade=cascade)
        (item,) = told.items
        if item.outcome != "forgotten":
            raise refusal_of(item)
        return r.Deleted(message="Memory deleted successfully!", remaining=told.remaining)

    async def delete_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        cascade: bool = False,
    ) -> r.ForgottenAll:
        """Forget all that `get_all` lists, and the user's conversations: of a run its own, with an agent none.

        `left` names what stays, and why, such as a conversation that somebody else owns. `remaining` names the entries
        of conversations that still hold the words; with `cascade` these are taken out.

        >>> gone = memory.delete_all(user_id="bob")
        >>> gone["left"], memory.get_all(user_id="bob")["results"]
        ({}, [])
        """
        return await forget_all(self.client, self.subject.with_(user_id, agent_id, run_id), cascade=cascade)


def _rests_on(item: RecalledItem) -> set[str]:
    """Return what an item rests on, and those that state the same."""
    return {*item.provenance, *(name for one in item.also for name in one.provenance)}


def _refused(told: Remembered) -> dict[str, str]:
    """Return the families that do not take what was said, and why."""
    return {one.family: one.error_code for one in told.families if one.error_code is not None}
