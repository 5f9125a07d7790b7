"""Which conversations, of those that candidates hang on, the user may not read."""

from __future__ import annotations

from collections.abc import Iterable

import anyio
import structlog

from elf.core.errors import Unavailable
from elf.memory.asking import Asking
from elf.offers import Item, Transcripts

log = structlog.get_logger()


class HiddenConversations:
    """Asks the family that keeps conversations; where there is none, nobody reads any."""

    def __init__(self, transcripts: Transcripts | None) -> None:
        self._transcripts = transcripts

    async def among(
        self, items: Iterable[Item], asking: Asking, *, patience_s: float | None = None
    ) -> frozenset[str]:
        """Return the conversations of items that are not the user's to read: what hangs on them is not told.

        Where it is about no user, none is hidden by this: what there is was found for the caller. Whoever asks waits
        for at most `patience_s` seconds.
        """
        named = frozenset(one.conversation for one in items if one.conversation is not None)
        if not named or asking.subject.user is None:
            return frozenset()
        if self._transcripts is None:
            return named
        try:
            with anyio.fail_after(patience_s):
                readable = await self._transcripts.readable(named, asking.subject, asking.caller)
        except (Unavailable, TimeoutError) as error:  # what cannot be shown to be the user's is not told
            log.warning("memory.conversations_not_read", error=type(error).__name__)
            return named
        return named - frozenset(readable)
