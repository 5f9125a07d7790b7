"""Keeps what was said as an episode, which names the user as its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from elf.api.caller import Caller
from elf.core.nobody import AGENT_OF_NOBODY
from elf.db.database import Connection
from elf.families.knowledge.api.writing import StoreEpisode
from elf.families.knowledge.model import MAX_EPISODE_CHARS
from elf.families.knowledge.writing.episodes import StoredEpisode
from elf.families.knowledge.writing.service import MemoryWriting
from elf.offers import Done, Message, Said, Written

EPISODE: Final = "episode"


class EpisodeRemembering:
    """Has episodes stored; rules and facts come of them as of all episodes."""

    def __init__(self, writing: MemoryWriting) -> None:
        self._writing = writing

    async def __call__(self, said: Said, caller: Caller, done: Done) -> None:
        """Store an episode. What is longer than one may be is cut at its end."""
        request = StoreEpisode(
            tenant_id=said.subject.tenant_id,
            content="\n".join(f"{one.role}: {one.text}" for one in said.messages)[:MAX_EPISODE_CHARS],
            butler=said.subject.agent_id or AGENT_OF_NOBODY,
            session_id=said.conversation_id,
            metadata=_metadata(said),
        )

        async def stored(connection: Connection, episodes: Sequence[StoredEpisode]) -> None:
            await done(
                connection,
                [
                    Written(kind=EPISODE, op="ADD", id=str(one.id), indexed_chars=one.indexed_chars)
                    for one in episodes
                ],
            )

        await self._writing.store_episode(request, caller, also=stored)


def _metadata(said: Said) -> dict[str, Any]:
    told: dict[str, Any] = {
        "user_id": said.subject.user,
        "conversation_id": str(said.conversation_id),
        "thread": said.conversation,
        "message_ids": [one.id for one in said.messages if one.id is not None],
        "entry_ids": [str(one.entry_id) for one in said.messages if one.entry_id is not None],
        "said_at": _moments(said.messages),
    }
    return {name: value for name, value in told.items() if value}


def _moments(messages: Sequence[Message]) -> list[str]:
    return [one.at.isoformat() for one in messages if one.at is not None]
