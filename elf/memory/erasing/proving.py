"""Proving a receipt by search: nothing of whom it is of, and none of their texts, stands anywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from elf.api.caller import Caller
from elf.core.clock import Clock
from elf.core.whole_words import whole_words_in_bytes, whole_words_in_postgres
from elf.db.database import Database
from elf.db.patience import AS_LONG_AS_IT_TAKES_S, telling
from elf.db.queries import Queries, filled, sql_folder
from elf.index.port import IndexFilter, IndexQuery
from elf.indexing.indexed import IndexedCorpus
from elf.memory.api import erasing as e
from elf.memory.erasing.points import IndexPoints
from elf.memory.erasing.signing import signer_of
from elf.memory.erasing.whose import Somebody
from elf.memory.model import FAMILY
from elf.offers import Remains

MOST_FOUND: Final = 100


class Proving:
    """Carries out `prove_erasure`. `remains` look into what families keep beside the database and the index."""

    def __init__(
        self,
        database: Database,
        queries: Queries,
        remains: Mapping[str, Remains],
        points: IndexPoints,
        *,
        vector_dim: int,
        clock: Clock,
    ) -> None:
        self._database = database
        self._sql = queries
        self._remains = remains
        self._points = points
        self._vector_dim = vector_dim
        self._clock = clock

    async def prove(self, request: e.ProveErased, caller: Caller) -> e.Proof:
        """Check the signature and whom a receipt is of, and look for a name and texts wherever something is kept.

        What other tenants have is not looked at, where it says whose it is; for who is bound to a tenant, neither is
        what does not say it. Raises Unavailable when something is away.
        """
        somebody = Somebody.of(request, caller)
        receipt = request.receipt.model_dump(mode="json")
        signer = await signer_of(self._database, self._sql, self._clock.now())
        words = [somebody.name, *request.texts]
        is_bound = "tenant_id" in caller.bound
        columns = [one for one in await self._columns() if one["has_tenant"] or not is_bound]
        found = [one async for one in self._in_columns(somebody, words, columns)]
        found += await self._in_indexes(somebody)
        for name, look in self._remains.items():
            places = await look(somebody.subject(), words)
            found += [e.Found(place=f"{name}: {place}", count=count) for place, count in places.items()]
        signed, is_of = signer.has_signed(receipt), receipt["subject"] == signer.hash(somebody)
        return e.Proof(
            proven=signed and is_of and not found,
            signed_here=signed,
            is_of_subject=is_of,
            found=found,
            columns=len(columns),
            points=dict(await self._points.counts()),
        )

    async def _columns(self) -> Sequence[Mapping[str, Any]]:
        async with self._database.connection() as connection:
            return await connection.fetch(self._sql["columns_with_texts"])

    async def _in_columns(
        self, somebody: Somebody, words: Sequence[str], columns: Sequence[Mapping[str, Any]]
    ) -> AsyncIterator[e.Found]:
        """Look for words in columns: not in rows of other tenants, where a table, or what a row is of, says it."""
        statements = Queries.load(sql_folder() / FAMILY / "searching")
        in_bytes, in_texts = whole_words_in_bytes(words), whole_words_in_postgres(words)
        for column in columns:
            values = {"table": column["quoted"], "expression": column["expression"]}
            pattern = in_bytes if column["is_bytes"] else in_texts
            query, whose = "count_in_column", [somebody.tenant_id]
            if somebody.kind != "tenant" and column["has_tenant"]:
                query = "count_in_column_of_tenant"
            elif somebody.kind != "tenant" and column["tenant"] is not None:
                query, values["tenant"] = "count_in_column_of_no_other", column["tenant"]
            else:
                whose = []
            async with self._database.connection() as connection:
                with telling("column_being_searched"):
                    count = await connection.fetchval(
                        filled(statements[query], values), pattern, *whose, timeout=AS_LONG_AS_IT_TAKES_S
                    )
            if count:
                yield e.Found(place=f"{column['table_name']}.{column['column_name']}", count=count)

    async def _in_indexes(self, somebody: Somebody) -> list[e.Found]:
        """Look for points that have a name in one of the fields that filters may ask for."""
        found = []
        for one in self._points.corpora:
            tenant, *_ = one.corpus.space.place_fields
            for name in one.corpus.space.keyword_fields:
                must = {tenant: somebody.tenant_id} | ({name: somebody.name} if name != tenant else {})
                if name == tenant and somebody.kind != "tenant":
                    continue
                if count := await self._count(one, must):
                    place = f"index of {one.corpus.name}: {name}"
                    found.append(e.Found(place=place, count=count))
        return found

    async def _count(self, one: IndexedCorpus, must: Mapping[str, str]) -> int:
        any_direction = np.zeros(self._vector_dim, dtype=np.float32)
        any_direction[0] = 1.0
        query = IndexQuery(dense=any_direction, text=None, where=IndexFilter(must=must), limit=MOST_FOUND)
        (result,) = await one.index.query([query])
        return len(result.dense)
