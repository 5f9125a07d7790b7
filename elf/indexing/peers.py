"""What a process that indexes has to know of the others."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class Peers(Protocol):
    """The other processes that index what is in the same database, maybe with another model or chunking."""

    @property
    def foreign_versions(self) -> Collection[str]:
        """The embedding versions of others that are not this process's."""
        ...

    @property
    def other_forms(self) -> Collection[tuple[str, str | None]]:
        """The versions and chunkings of others that are not this process's."""
        ...

    def may_take(self, version: str) -> bool:
        """Tell whether subjects of a version may be indexed here: it is one's own, or that of no living process."""
        ...

    def keeps(self, chunking: str | None) -> bool:
        """Tell whether chunks may stay as they are: they are cut as a living process cuts. None is unknown."""
        ...

    async def wait_known(self) -> None:
        """Wait until the others are known."""
        ...

    async def wait_changed(self) -> None:
        """Wait until somebody came or went."""
        ...
