"""Carries out the operations of the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from pgvector import Vector

from elf.api.caller import Caller
from elf.db.errors import retrying
from elf.families.store import answers as r
from elf.families.store.api import operations as a
from elf.families.store.kit import Kit
from elf.families.store.model import Place, Written
from elf.families.store.reading import Reading, Reads
from elf.families.store.rules.places import address_of
from elf.families.store.writing import Vectors, Writing

Writes = Mapping[int, tuple[str, a.Put | a.Address]]
"""What is written by its place in the request, with the path of each there."""


class StoreService:
    """Every request is a batch: what is read is read first, and then everything is written, in one transaction."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._reading = Reading(kit)
        self._writing = Writing(kit)

    async def batch(self, request: a.Batch, caller: Caller) -> r.Results:
        """Read and write. Raises Unavailable when a query has no vector because the model is away."""
        place = self._kit.place(request, caller)
        reads: dict[int, a.Get | a.Search | a.ListNamespaces] = {}
        writes: dict[int, tuple[str, a.Put | a.Address]] = {}
        for at, op in enumerate(request.ops):
            if (read := op.get or op.search or op.namespaces) is not None:
                reads[at] = read
            elif op.put is not None:
                writes[at] = f"$.ops[{at}].put", op.put
            elif op.delete is not None:
                writes[at] = f"$.ops[{at}].delete", op.delete
        results = await self._done(place, reads, writes)
        return r.Results([results.get(at, r.Result()) for at in range(len(request.ops))])

    async def put(self, request: a.PutOne, caller: Caller) -> r.StoredValue:
        """Keep a value."""
        results = await self._done(self._kit.place(request, caller), {}, {0: ("$", request)})
        return r.StoredValue(results[0].indexed_chars)

    async def delete(self, request: a.DeleteOne, caller: Caller) -> None:
        """Remove a value, if it is there."""
        await self._done(self._kit.place(request, caller), {}, {0: ("$", request)})

    async def get(self, request: a.GetOne, caller: Caller) -> r.Found:
        """Read a value."""
        found = await self._one(request, caller)
        return r.Found(found.item, found.more)

    async def search(self, request: a.SearchAll, caller: Caller) -> r.FoundAll:
        """Find values."""
        found = await self._one(request, caller)
        return r.FoundAll(found.items or [], found.more)

    async def namespaces(self, request: a.NamespacesOf, caller: Caller) -> r.Namespaces:
        """List namespaces."""
        return r.Namespaces((await self._one(request, caller)).namespaces or [])

    async def _one(self, request: a.GetOne | a.SearchAll | a.NamespacesOf, caller: Caller) -> r.Result:
        return (await self._done(self._kit.place(request, caller), {0: request}, {}))[0]

    async def _done(self, place: Place, reads: Reads, writes: Writes) -> Mapping[int, r.Result]:
        last = {address_of(one.namespace, one.key): at for at, (_, one) in writes.items()}
        given = {
            at: (path, one) for at in last.values() for path, one in [writes[at]] if isinstance(one, a.Put)
        }
        puts = await self._writing.prepared([*given.values()])
        deleted = [address for address, at in last.items() if at not in given]
        asked = await self._reading.vectors(reads)
        if not writes:
            async with self._kit.database.connection() as connection:
                return await self._reading.read(connection, place, reads, asked)
        made = await self._writing.vectors(puts)
        results = await retrying(partial(self._together, place, reads, asked, puts, made, deleted))
        written = zip(given, puts, strict=True)
        return {**results, **{at: r.Result(indexed_chars=one.indexed_chars) for at, one in written}}

    async def _together(
        self,
        place: Place,
        reads: Reads,
        asked: Mapping[str, Vector | None],
        puts: Sequence[Written],
        made: Mapping[UUID, Vectors | None],
        deleted: Sequence[bytes],
    ) -> Mapping[int, r.Result]:
        async with self._kit.database.transaction() as connection:
            results = (
                await self._reading.read(connection, place, reads, asked, with_writes=True) if reads else {}
            )
            await self._writing.write(connection, place, puts, made, deleted)
        return results
