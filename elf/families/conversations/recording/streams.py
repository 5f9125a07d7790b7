"""How many recordings and replays a process has at a time, and how many bytes of them: of all, a tenant and a user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

from elf.config.tables.conversations import ConversationsTable
from elf.core.shares import ShareExceeded, Shares
from elf.families.conversations.errors import TooManyStreams
from elf.families.conversations.recording.content import Content
from elf.families.conversations.trees import Who

Kind: TypeAlias = Literal["recording", "replay"]
KINDS: Final[tuple[Kind, ...]] = ("recording", "replay")


class Streams:
    """Counts them, and lets no more begin or grow than the table says.

    Both limits of bytes but the total are parts of it: a user has at most a quarter, a tenant three quarters.
    """

    def __init__(self, table: ConversationsTable) -> None:
        per_tenant, per_user = table.max_streams_per_tenant, table.max_streams_per_user
        self._streams = Shares(table.max_streams, tenant=per_tenant, user=per_user)
        total = table.recorder_total_bytes
        self._bytes = Shares(total, tenant=total * 3 // 4, user=total // 4)
        self._open: Counter[Kind] = Counter()

    def counts(self) -> Mapping[tuple[str, ...], float]:
        """Return how many there are of each kind."""
        return {(kind,): self._open[kind] for kind in KINDS}

    def held_bytes(self) -> Mapping[tuple[str, ...], float]:
        """Return how many bytes are held of them."""
        return {(): self._bytes.taken}

    @contextmanager
    def one(self, kind: Kind, who: Who) -> Iterator[None]:
        """Have one more meanwhile. Raises TooManyStreams when there are as many as there may be."""
        owners = _owners(who)
        try:
            self._streams.take(1, **owners)
        except ShareExceeded as error:
            raise TooManyStreams(error) from None
        self._open[kind] += 1
        try:
            yield
        finally:
            self._open[kind] -= 1
            self._streams.give_back(1, **owners)

    def content(self, who: Who) -> Content:
        """Return content without a text yet, whose bytes count for a user."""
        return Content(self._bytes, **_owners(who))


def _owners(who: Who) -> dict[str, object]:
    return {"tenant": who.tenant_id, "user": (who.tenant_id, who.user)}
