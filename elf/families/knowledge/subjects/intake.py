"""Taking in what another service exported. What is there already stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from elf.core.slices import Slices, in_slices
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


class Intake:
    """Adds pieces with their ids and times, `step` a transaction or fewer large ones. Vectors are made behind it.

    An episode or an entity that a piece names and that is not there is left out of it; so is what came of applying a
    rule that is not there.
    """

    def __init__(self, kit: Kit, *, step: int = STEP) -> None:
        self._kit = kit
        self._step = step

    async def take_in(self, given: Sequence[Given[x.Exported]]) -> int:
        """Keep pieces of whatever tenants; returns how many of them are new."""
        new = 0
        for tenant_id, pieces in by_tenant(given, most=self._step):
            new += await self._some(tenant_id, pieces)
        return new

    async def _some(self, tenant_id: str, pieces: Sequence[x.Exported]) -> int:
        asked = []
        for kind, statement in _STATEMENTS.items():
            if mine := [piece for piece in pieces if isinstance(piece, kind)]:
                rows = await in_slices(self._rows(mine))
                given = [self._kit.now()] if kind in _DATED else []
                asked.append((self._kit.queries[statement], [*given, *columns(rows, len(rows[0]))]))
        return await retrying(lambda: self._write(tenant_id, asked))

    async def _write(self, tenant_id: str, asked: Sequence[tuple[str, Sequence[Any]]]) -> int:
        new = 0
        async with self._kit.database.transaction() as connection:
            for statement, given in asked:
                new += await connection.fetchval(statement, tenant_id, *given)
            connection.after_commit(self._kit.ring)
        return new

    def _rows(self, pieces: Sequence[x.Exported]) -> Slices[list[Sequence[Any]]]:
        """Return the values of pieces of one kind, each in the order of its statement."""
        rows: list[Sequence[Any]] = []
        for piece in pieces:
            values = [_value(getattr(piece, name)) for name in piece.__struct_fields__ if name != "tenant_id"]
            if isinstance(piece, _SEARCHED):
                values.append(searchable(self._kit.indexed(piece.text)))
            rows.append(values)
            yield
        return rows


def _value(value: Any) -> Any:
    """Return a value as a statement takes it: lists are JSON, as an array of arrays has one dimension more."""
    return as_json(value) if isinstance(value, list) else value
