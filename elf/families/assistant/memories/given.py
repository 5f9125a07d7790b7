"""What callers tell of memories, as it may be kept."""

from __future__ import annotations

from elf.core.secrets import redacting
from elf.core.slices import in_slices
from elf.families.assistant.kit import Kit
from elf.families.assistant.rules.texts import normalised, normalised_steps


class Given:
    """Brings texts into the form in which they are kept: with credentials blanked, where that is wanted."""

    def __init__(self, kit: Kit) -> None:
        self._redact = kit.redact

    async def text(self, text: str) -> str:
        """Return the text of a memory."""
        return normalised(await self.quote(text))

    async def steps(self, text: str | None) -> str | None:
        """Return steps, each in a line of its own."""
        return None if text is None else normalised_steps(await self.quote(text))

    async def quote(self, text: str) -> str:
        """Return words that somebody said, which stay as they are otherwise."""
        return await in_slices(redacting(text)) if self._redact else text

    async def value(self, value: str | list[str]) -> str | list[str]:
        """Return what a user is known by."""
        return await self.quote(value) if isinstance(value, str) else [await self.quote(one) for one in value]
