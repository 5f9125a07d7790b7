"""Taking in what another service exported. What is there already stays as it is.

An id is of one memory alone, whatever its tenant: one that another tenant has becomes another here, the same each time,
so that nothing is left out, and nobody learns what others have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec

from elf.core.secrets import redacting, redacting_json
from elf.core.slices import Slices, in_slices
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.rules.searchable_text import searchable
from elf.families.knowledge.subjects import exported as x
from elf.families.knowledge.writing.to_store import as_json, columns
from elf.taking_in import Given, by_tenant

STEP: Final = 500

# In the order in which they refer to one another. Some depend on the time.
_STATEMENTS: Final[Mapping[type[x.Exported], str]] = {
    x.ExportedEntity: "take_in_entities",
    x.ExportedEpisode: "take_in_episodes",
    x.ExportedFact: "take_in_facts",
    x.ExportedRule: "take_in_rules",
    x.ExportedSupersession: "take_in_supersessions",
    x.ExportedApplication: "take_in_applications",
    x.ExportedLink: "take_in_links",
    x.ExportedEvent: "take_in_events",
}
_DATED: Final = (x.ExportedEpisode, x.ExportedFact)
_SEARCHED: Final = (x.ExportedEpisode, x.ExportedFact, x.ExportedRule)

# What callers said. All that is blanked when it is written, and what the service made of it.
_TEXTS: Final = frozenset({"content", "context", "reason", "last_error"})
_JSON: Final = frozenset({"metadata", "payload"})


class Intake:
    """Adds pieces with their times, `step` a transaction or fewer large ones. Vectors are made behind it.

    Secrets are blanked as in what is written. An episode or an entity that a piece names and that is not there is left
    out of it; so is what came of applying a rule that is not there.
    """

    def __init__(self, kit: Kit, *, step: int = STEP) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._step = step

    async def take_in(self, given: Sequence[Given[x.Exported]]) -> int:
        """Keep pieces of whatever tenants; returns how many of them are new."""
        new = 0
        for tenant_id, pieces in by_tenant(given, most=self._step):
            new += await self._some(tenant_id, pieces)
        return new

    async def _some(self, tenant_id: str, pieces: Sequence[x.Exported]) -> int:
        clean = await in_slices(self._redacted(pieces)) if self._kit.redact else pieces
        searched = await in_slices(self._searched(clean))
        return await retrying(partial(self._write, tenant_id, list(zip(clean, searched, strict=True))))

    async def _write(self, tenant_id: str, pieces: Sequence[tuple[x.Exported, str | None]]) -> int:
        new = 0
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_intake"])
            ids = await self._other_ids(connection, tenant_id, [piece for piece, _ in pieces])
            for kind, statement in _STATEMENTS.items():
                rows = [
                    _row(x.with_ids(piece, ids), searched)
                    for piece, searched in pieces
                    if isinstance(piece, kind)
                ]
                if rows:
                    given = [self._kit.now()] if kind in _DATED else []
                    new += await connection.fetchval(
                        self._sql[statement], tenant_id, *given, *columns(rows, len(rows[0]))
                    )
            connection.after_commit(self._kit.ring)
        return new

    async def _other_ids(
        self, connection: Connection, tenant_id: str, pieces: Sequence[x.Exported]
    ) -> Mapping[UUID, UUID]:
        """Return other ids for those of pieces that another tenant has, and for those that got one before."""
        others = {one: uuid5(one, tenant_id) for piece in pieces for one in x.ids_of(piece)}
        known = await connection.fetch(self._sql["find_known_ids"], tenant_id, [*others, *others.values()])
        own = {row["id"] for row in known if row["is_own"]}
        taken = {row["id"] for row in known} - own
        return {
            one: other for one, other in others.items() if one not in own and (one in taken or other in own)
        }

    def _redacted(self, pieces: Sequence[x.Exported]) -> Slices[list[x.Exported]]:
        """Return pieces as they would have been written: their texts without secrets."""
        clean: list[x.Exported] = []
        for piece in pieces:
            texts: dict[str, Any] = {}
            for name in _TEXTS & {*piece.__struct_fields__}:
                if text := getattr(piece, name):
                    texts[name] = yield from redacting(text)
            for name in _JSON & {*piece.__struct_fields__}:
                texts[name] = yield from redacting_json(getattr(piece, name))
            clean.append(msgspec.structs.replace(piece, **texts))
            yield
        return clean

    def _searched(self, pieces: Sequence[x.Exported]) -> Slices[list[str | None]]:
        """Return of each piece what it is found by, if it is."""
        texts: list[str | None] = []
        for piece in pieces:
            text = piece.text if isinstance(piece, _SEARCHED) else None
            texts.append(None if text is None else searchable(self._kit.indexed(text)))
            yield
        return texts


def _row(piece: x.Exported, searched: str | None) -> Sequence[Any]:
    """Return the values of a piece in the order of its statement."""
    values = [_value(getattr(piece, name)) for name in piece.__struct_fields__ if name != "tenant_id"]
    return values if searched is None else [*values, searched]


def _value(value: Any) -> Any:
    """Return a value as a statement takes it: lists are JSON, as an array of arrays has one dimension more."""
    return as_json(value) if isinstance(value, list) else value
