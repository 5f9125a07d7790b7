"""Whose memories are that are from conversations and not written by a user's own call: their owners'.

Who keeps conversations is asked before such a memory is written. It may not know yet, or be away: until it knows, the
memory is somebody's whom nobody knows, and no user is told of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import anyio
import msgspec
import structlog

from elf.core.errors import Unavailable
from elf.families.graph.store.file import MemoryFile
from elf.families.graph.store.nodes import NewMemory
from elf.families.graph.store.statements import Change, Snapshot
from elf.offers import Transcripts

LOOK_S: Final = 60.0
"""How soon is seen that a conversation has come to be known."""
AT_ONCE: Final = 1_000

log = structlog.get_logger()


class ConversationOwners:
    """Asks the family that keeps conversations; where there is none, nobody knows of any."""

    def __init__(self, transcripts: Transcripts | None) -> None:
        self._transcripts = transcripts

    async def of(self, tenant_id: str, conversation_id: str | None) -> str | None:
        """Return the owner of a conversation; None where nobody knows, or can say now."""
        return (await self._known(tenant_id, {conversation_id} - {None})).get(conversation_id or "")

    async def owned(self, tenant_id: str, memories: Sequence[NewMemory]) -> list[NewMemory]:
        """Return memories as those of the owners of the conversations that they are from."""
        owners = await self._known(
            tenant_id, {new.memory.source.conversation_id for new in memories} - {None}
        )
        return [_of(new, owners.get(new.memory.source.conversation_id or "")) for new in memories]

    async def run(self, file: MemoryFile) -> None:
        """Say from time to time whose the memories of a file are of whom that was not known: a duty of the steward.

        Raises Unavailable when the file, or who knows, is away.
        """
        while True:
            if self._transcripts is not None:
                await self._look(file, self._transcripts)
            await anyio.sleep(LOOK_S)

    async def _look(self, file: MemoryFile, transcripts: Transcripts) -> None:
        conversations = await file.read(_unknown)
        for start in range(0, len(conversations), AT_ONCE):
            some = conversations[start : start + AT_ONCE]
            if owners := await transcripts.owners(file.key.tenant_id, some):
                await file.write(lambda change, known=owners: _own(change, known))  # type: ignore[misc]

    async def _known(self, tenant_id: str, conversations: Collection[str | None]) -> Mapping[str, str]:
        named = [one for one in conversations if one is not None]
        if self._transcripts is None or not named:
            return {}
        try:
            return await self._transcripts.owners(tenant_id, named)
        except Unavailable as error:  # the memory is kept: it is asked again while its file is open
            log.warning("graph.conversation_owners_unknown", error=type(error).__name__)
            return {}


def _of(new: NewMemory, owner: str | None) -> NewMemory:
    if owner is None:
        return new
    return replace(new, memory=msgspec.structs.replace(new.memory, user_id=owner))


def _unknown(snapshot: Snapshot) -> list[str]:
    return [conversation for (conversation,) in snapshot.rows("unknown_conversations")]


def _own(change: Change, owners: Mapping[str, str]) -> None:
    for conversation_id, owner in owners.items():
        for statement in ("own_versions", "own_memories"):
            change.run(statement, conversation_id=conversation_id, owner=owner)
