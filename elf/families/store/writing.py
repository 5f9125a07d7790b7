"""Writes values with their vectors, and removes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import islice
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
from elf.families.store.model import MAX_PATHS, WHOLE_VALUE, Place, Written
from elf.families.store.rules.texts import TextBounds, TooManyVisits, texts_at

MAX_TEXT_CHARS: Final = 32_768
"""The vector of a longer text is that of its beginning."""
MAX_TEXTS: Final = 5_000
"""Most texts of all values of a request, unless one value may have more."""
MAX_VISITS: Final = 500_000
"""Most fields and items that the paths of a request lead through, or of one value that was kept before."""

Vectors = Sequence[Vector | None]


class Writing:
    """Carries out what is written."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def prepared(self, puts: Sequence[tuple[str, a.Put]]) -> list[Written]:
        """Return values, each with its path in the request, as they will be kept.

        Raises InvalidRequest where paths lead to too many texts, or through too much to them.
        """
        prepared: list[Written] = []
        visits, room = MAX_VISITS, max(MAX_TEXTS, self._kit.config.most_vectors)
        for path, put in puts:
            indexed = paths_of([WHOLE_VALUE] if put.index is None else put.index or ())
            bounds = self._bounds(visits)
            texts = await in_slices(self._texts(put.value, indexed, bounds, f"{path}.index", room))
            visits, room = bounds.visits, room - len(texts)
            read = self._kit.config.indexed_content_chars - bounds.chars
            prepared.append(
                Written(
                    namespace=put.namespace,
                    key=put.key,
                    value=json.dumps(put.value, ensure_ascii=False, allow_nan=False),
                    indexed=indexed or None,
                    texts=texts,
                    indexed_chars=read if bounds.is_cut else None,
                    ttl=None if put.ttl is None else timedelta(minutes=put.ttl),
                    revision=uuid4(),
                )
            )
        return prepared

    def _texts(
        self, value: object, indexed: Sequence[str], bounds: TextBounds, where: str, room: int
    ) -> Slices[list[str]]:
        most = self._kit.config.most_vectors
        texts: list[str] = []
        try:
            for text in texts_at(value, indexed, bounds):
                if text is None:
                    yield
                    continue
                if len(texts) == most:
                    problem = f"leads to more than {most} texts, which is as many as have vectors"
                    raise _refused(where, problem)
                if len(texts) == room:
                    problem = f"with the values before it, leads to more than {max(MAX_TEXTS, most):,} texts"
                    raise _refused(where, problem)
                texts.append((yield from self._told(text)))
        except TooManyVisits:
            raise _refused(where, f"leads through more than {MAX_VISITS:,} fields and items") from None
        return texts

    def kept_texts(self, value: object, indexed: Sequence[str]) -> Slices[list[str]]:
        """Return the texts of a value that was kept before, which may have been under wider bounds: the first ones."""
        texts: list[str] = []
        with suppress(TooManyVisits):
            for text in texts_at(value, paths_of(indexed), self._bounds(MAX_VISITS)):
                if len(texts) == self._kit.config.most_vectors:
                    break
                if text is None:
                    yield
                else:
                    texts.append((yield from self._told(text)))
        return texts

    def _bounds(self, visits: int) -> TextBounds:
        return TextBounds(
            visits=visits, chars=self._kit.config.indexed_content_chars, text_chars=MAX_TEXT_CHARS
        )

    def _told(self, text: str) -> Slices[str]:
        """Return a text as a model is told it: without credentials where that is wanted."""
        yield
        return (yield from redacting(text)) if self._kit.redact else text

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


def paths_of(indexed: Iterable[str]) -> list[str]:
    """Return each of the paths once, and no more of them than a request may name."""
    return [*islice(dict.fromkeys(indexed), MAX_PATHS)]


def _refused(where: str, problem: str) -> InvalidRequest:
    return InvalidRequest(f"{where}: {problem}", fields=[where])


def as_text(indexed: Sequence[str] | None) -> str | None:
    """Return paths as the JSON that the database keeps."""
    return None if indexed is None else msgspec.json.encode(indexed).decode()
