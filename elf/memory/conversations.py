"""Which candidates hang on a conversation that the user has to be able to read."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from elf.core.errors import NotFound, Unavailable
from elf.memory.asking import Asking
from elf.memory.gathering import Offered
from elf.offers import Items

log = structlog.get_logger()


class ReadableConversations:
    """Asks the family that keeps conversations; where there is none, nobody reads any."""

    def __init__(self, conversations: Items | None) -> None:
        self._conversations = conversations

    async def readable(
        self, offers: Sequence[Offered], asking: Asking
    ) -> tuple[list[Offered], list[Offered]]:
        """Return the candidates that may be told, and those whose conversation is not the user's to read."""
        known = {
            conversation: await self._may_read(conversation, asking)
            for conversation in {one.item.conversation for one in offers}
            if conversation is not None and asking.subject.user is not None
        }
        told = [one for one in offers if known.get(one.item.conversation or "", True)]
        hidden = [one for one in offers if not known.get(one.item.conversation or "", True)]
        return told, hidden

    async def _may_read(self, conversation: str, asking: Asking) -> bool:
        if self._conversations is None:
            return False
        try:
            await self._conversations.read("conversation", conversation, asking.subject, asking.caller)
        except NotFound:
            return False
        except Unavailable as error:  # what cannot be shown to be the user's is not told
            log.warning("memory.conversation_not_read", error=error.message)
            return False
        return True
