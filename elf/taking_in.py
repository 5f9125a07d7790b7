"""What families share that take in what another service exported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from elf.core.batches import batches

BYTES_AT_ONCE: Final = 8 * 1024 * 1024


class OfTenant(Protocol):
    """A piece of what a tenant has."""

    @property
    def tenant_id(self) -> str: ...


P = TypeVar("P", bound=OfTenant)


class Given(NamedTuple, Generic[P]):
    """A piece that was given, and how many bytes of JSON it is."""

    piece: P
    size: int


def by_tenant(given: Sequence[Given[P]], *, most: int) -> Iterator[tuple[str, list[P]]]:
    """Yield pieces tenant by tenant, in parts of so many at most, and of BYTES_AT_ONCE but for a larger piece."""
    for tenant_id in sorted({one.piece.tenant_id for one in given}):
        mine = [one for one in given if one.piece.tenant_id == tenant_id]
        for part in batches(mine, lambda one: one.size, most_size=BYTES_AT_ONCE, most=most):
            yield tenant_id, [one.piece for one in part]
