"""Changing something that is kept and telling what became of it, by the family that keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from elf.client.asynchronous import AsyncClient
from elf.client.memory import records as r
from elf.client.memory.inputs import Address
from elf.client.memory.subject import Subject
from elf.core.errors import InvalidRequest

UNCHANGED: Final[Mapping[str, str]] = {
    "conversations": "what was said stays as it was said: remember what is true now, or forget its conversation",
    "knowledge": "a fact is replaced by the next one: client.knowledge.store_fact",
    "graph": "client.graph.update changes it, for its orchestrator",
}
UNTOLD: Final[Mapping[str, str]] = {
    "conversations": "an entry never changes; client.conversations.entries tells what else was said",
    "knowledge": "client.knowledge.history tells it",
    "graph": "client.graph.history tells it, to its orchestrator",
}


async def change(client: AsyncClient, address: Address, text: str, subject: Subject) -> None:
    """Give an item another text. Raises NotFound, and InvalidRequest where its family takes none, or not this one."""
    if address.family == "notes":
        updated = await subject.notes(client, "a note").update(address.id, text=text)
        if not updated.stored:
            raise InvalidRequest(f"text: {updated.reason or updated.reason_code}", fields=["text"])
    elif address.family == "assistant":
        await subject.calling(client).assistant.update(address.id, text=text, user_id=subject.user_id)
    else:
        raise _refused(address, "is not changed", UNCHANGED)


async def history(client: AsyncClient, address: Address, subject: Subject) -> list[r.Change]:
    """Return all changes of an item, oldest first. Raises NotFound, and InvalidRequest for other families."""
    if address.family == "notes":
        versions = [one async for one in subject.notes(client, "a note").history(address.id)]
        return r.changes_of_note(address, versions)
    if address.family == "assistant":
        memories = subject.calling(client).assistant
        rows = [one async for one in memories.history(address.id, user_id=subject.user_id)]
        return r.changes_of_memory(address, rows)
    raise _refused(address, "has no history here", UNTOLD)


def _refused(address: Address, what: str, instead: Mapping[str, str]) -> InvalidRequest:
    why = instead.get(address.family, "the client of its family may know how")
    return InvalidRequest(f"memory_id: {address} {what}: {why}", fields=["memory_id"])
