"""Writes values with their vectors, and removes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID, uuid4

import msgspec
from pgvector import Vector

from elf.core.errors import InvalidRequest
from elf.core.secrets import redacting
from elf.core.slices import Slices, in_slices
from elf.db.database import Connection
from elf.families.store.api import operations as a
from elf.families.store.kit import Kit
from elf.families.store.model import WHOLE_VALUE, Place, Written
from elf.families.store.rules.texts import texts_at

MAX_TEXT_CHARS: Final = 32_768
"""The vector of a longer text is that of its beginning."""

Vectors = Sequence[Vector | None]


class Writing:
    """Carries out what is written."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def prepared(self, put: a.Put, path: str) -> Written:
        """Return a value as it will be kept. Raises InvalidRequest where it would have too many vectors."""
        indexed = [WHOLE_VALUE] if put.index is None else put.index or None
        texts = await in_slices(self._texts(put, indexed or ()))
        if len(texts) > (most := self._kit.config.most_vectors):
            where = f"{path}.index"
            raise InvalidRequest(
                f"{where}: leads to {len(texts)} texts, and at most {most} have vectors", fields=[where]
            )
        return Written(
            namespace=put.namespace,
            key=put.key,
            value=json.dumps(put.value, ensure_ascii=False, allow_nan=False),
            indexed=indexed,
            texts=texts,
            ttl=None if put.ttl is None else timedelta(minutes=put.ttl),
            revision=uuid4(),
        )

    def _texts(self, put: a.Put, indexed: Sequence[str]) -> Slices[list[str]]:
        return self.embedded_texts(put.value, indexed)

    def embedded_texts(self, value: object, indexed: Sequence[str]) -> Slices[list[str]]:
        """Return the texts of a value that a model is given, which are without credentials where that is wanted."""
        texts: list[str] = []
        for text in texts_at(value, indexed):
            cut = text[:MAX_TEXT_CHARS]
            texts.append((yield from redacting(cut)) if self._kit.redact else cut)
            yield
        return texts

    async def vectors(self, puts: Collection[Written]) -> Mapping[UUID, Vectors | None]:
        """Return by revision the vectors of all texts; None for a value that is to get them later."""
        texts = [text for one in puts for text in one.texts]
        if not texts:
            return {}
        embedded = await self._kit.embedder.embed_if_there(texts)
        if embedded.is_away:
            return {one.revision: None for one in puts if one.texts}
        rest = iter(embedded.vectors)
        return {one.revision: [next(rest) for _ in one.texts] for one in puts}

    async def write(
        self,
        connection: Connection,
        place: Place,
        puts: Sequence[Written],
        vectors: Mapping[UUID, Vectors | None],
        deleted: Sequence[bytes],
    ) -> None:
        """Write and remove values of a user, none of them twice."""
        if deleted:
            await connection.execute(self._sql["delete_items"], *place, sorted(deleted))
        if puts:
            await self._put(connection, place, puts, vectors)

    async def _put(
        self,
        connection: Connection,
        place: Place,
        puts: Sequence[Written],
        vectors: Mapping[UUID, Vectors | None],
    ) -> None:
        rows = await connection.fetch(
            self._sql["put_items"], *place, self._kit.now(), [one.address for one in puts],
            [one.path for one in puts], [one.key for one in puts], [one.value for one in puts],
            [as_text(one.indexed) for one in puts], [one.ttl for one in puts], [one.revision for one in puts],
        )  # fmt: skip
        made = {row["item_id"]: vectors.get(row["revision"], ()) for row in rows}
        await self.keep_vectors(connection, place, {key: made[key] or () for key in made})
        later = [row["revision"] for row in rows if vectors.get(row["revision"], ()) is None]
        await self.leave_jobs(connection, place, later)

    async def keep_vectors(self, connection: Connection, place: Place, made: Mapping[UUID, Vectors]) -> None:
        """Give values these vectors instead of those that they have."""
        await connection.execute(self._sql["drop_vectors"], [*made])
        kept = [
            (item_id, at, vector)
            for item_id, vectors in made.items()
            for at, vector in enumerate(vectors)
            if vector is not None
        ]
        if kept:
            ids, places, vectors = zip(*kept, strict=True)
            version = self._kit.embedder.version
            await connection.execute(self._sql["keep_vectors"], *place, version, ids, places, vectors)

    async def leave_jobs(self, connection: Connection, place: Place, revisions: Sequence[UUID]) -> None:
        """Have the vectors of revisions made later."""
        if revisions:
            await connection.execute(self._sql["leave_jobs"], *place, revisions)
            connection.after_commit(self._kit.ring)


def as_text(indexed: Sequence[str] | None) -> str | None:
    """Return paths as the JSON that the database keeps."""
    return None if indexed is None else msgspec.json.encode(indexed).decode()
