"""A block of LlamaIndex's memory whose content are notes of ELF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field, PrivateAttr

from elf.client import Message
from elf.client.awaited import AnyClient, Awaited
from elf.core.batches import batches
from elf.core.blank_text import is_blank
from elf.core.cjk import contains_cjk
from elf.core.stored_text import inert
from elf.core.unstorable_text import cleaned

ROLES: Final = {"user": "user", "assistant": "assistant", "chatbot": "assistant", "model": "assistant"}
QUERY_CHARS: Final = 2000
MESSAGE_CHARS: Final = 16_000
MESSAGES_AT_ONCE: Final = 100
CHARS_OF_A_TOKEN: Final = 4
"""About, in English: how much a block is cut by where a prompt is too long."""


class ElfMemoryBlock(BaseMemoryBlock[str]):
    """Shows the notes that answer the newest messages, and has notes made of the messages that leave the chat.

    `client` is a Client or an AsyncClient, whose context says whose notes they are; it stays yours to close. The
    extractor of the service proposes notes, and those are stored that cite what was said word for word. Notes are in
    English: what is in Chinese, Japanese or Korean is neither looked for nor stored.
    """

    name: str = Field(default="notes", description="The name of the block.")
    scope: str | None = Field(default=None, description="Who shares the notes; None: as the client says.")
    top_k: int = Field(default=5, ge=1, description="How many notes are shown at most.")
    min_relevance: float | None = Field(default=None, description="Below which relevance none is shown.")
    latest: int = Field(
        default=2, ge=1, description="For how many of the newest messages notes are looked for."
    )
    _client: Awaited = PrivateAttr()

    def __init__(self, client: AnyClient, **fields: Any) -> None:
        super().__init__(**fields)
        self._client = Awaited(client)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """Return the notes, one a line, best first; nothing where there is nothing to look for."""
        newest_first = (one.content for one in _said(reversed(messages or [])))
        query = "\n".join(reversed([*islice(newest_first, self.latest)]))[-QUERY_CHARS:].strip()
        if is_blank(query):
            return ""
        found = await self._client.send(
            self._client.calls.search(
                query, top_k=self.top_k, scope=self.scope, min_relevance=self.min_relevance
            )
        )
        return "\n".join(dict.fromkeys(f"- {inert(item.snippet)}" for item in found.items))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Have notes made of messages, oldest first: of each message of a user's, with the answers to it, its own."""
        for event in _events(_said(messages)):
            for some in batches(event, lambda _: 1, most_size=MESSAGES_AT_ONCE):
                await self._client.send(self._client.calls.add_event(some, scope=self.scope))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave notes out, the last first, until about so many tokens are gone; None when nothing is left."""
        lines = content.splitlines()
        room = len(content) - tokens_to_truncate * CHARS_OF_A_TOKEN
        while lines and len("\n".join(lines)) > room:
            lines.pop()
        return "\n".join(lines) or None


def _events(said: Iterator[Message]) -> Iterator[list[Message]]:
    """Yield each message of a user's with the answers to it: so many notes are made of an event, and no more."""
    event: list[Message] = []
    for message in said:
        if message.role == "user" and any(one.role == "user" for one in event):
            yield event
            event = []
        event.append(message)
    if event:
        yield event


def _said(messages: Sequence[ChatMessage] | Iterator[ChatMessage]) -> Iterator[Message]:
    """Return what users and agents said, in the language of notes, without the calls and results of tools.

    What no database holds of a text is dropped or replaced, and a part of which nothing can be seen is left out: the
    service would refuse all messages for it.
    """
    for message in messages:
        role, text = ROLES.get(str(message.role.value)), cleaned(message.content or "").strip()
        if role is not None and not contains_cjk(text):
            for start in range(0, len(text), MESSAGE_CHARS):
                part = text[start : start + MESSAGE_CHARS]
                if is_blank(part):
                    continue
                yield Message(role="user" if role == "user" else "assistant", content=part)
