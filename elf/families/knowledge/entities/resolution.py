"""Whom a name may mean: candidates by the best way in which the name is theirs, and by what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from elf.api.caller import Caller
from elf.core.slices import Slices, in_slices
from elf.db.database import LEAST_WORD_SIMILARITY, Connection
from elf.families.knowledge.access import Reach, reach_of
from elf.families.knowledge.api import entities as e
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.rules.likeness import MOST_BOOST, jaccard, terms_of

SCORES: Final[Mapping[str, float]] = {"exact": 100.0, "alias": 80.0, "prefix": 50.0, "fuzzy": 20.0}
LEAST_LIKENESS: Final = LEAST_WORD_SIMILARITY  # of a whole name; no name is liker than some stretch of it
SIMILAR: Final = 20
MOST_CANDIDATES: Final = 100
FACTS_OF_EACH: Final = 500
CHARS_OF_FACT: Final = 500  # of up to 120 candidates

Row = Mapping[str, Any]


class EntityResolution:
    """Carries out the operation of that name. It never makes an entity."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def resolve(self, request: e.ResolveEntity, caller: Caller) -> e.EntityCandidates:
        """Return the candidates, best first: up to 100 by their names, and up to 20 that are merely similar."""
        reach, name = reach_of(request.tenant_id, caller), request.name.strip()
        if not name:
            return e.EntityCandidates(items=[])
        rows = await self._candidates(reach, name, request)
        likeness = await self._likeness(reach, rows, request.context_hints)
        domains = {} if request.context_hints is None else request.context_hints.domain_scores
        found = [
            _candidate(row, likeness.get(row["id"], 0.0), domains.get(str(row["id"]), 0.0)) for row in rows
        ]
        kept = [one for one in found if one.score > 0]
        return e.EntityCandidates(
            items=sorted(kept, key=lambda one: (-one.score, one.canonical_name, one.entity_id))
        )

    async def _candidates(self, reach: Reach, name: str, request: e.ResolveEntity) -> list[Row]:
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["named_entities"], reach.tenant_id, name, request.entity_type, _part(name),
                MOST_CANDIDATES, reach.seen,
            )  # fmt: skip
            if not request.enable_fuzzy or len(name) <= 2:
                return rows
            similar = await self._similar(connection, reach, name, request.entity_type)
        return [*rows, *({**row, "name_match": "fuzzy"} for row in similar)]

    async def _similar(
        self, connection: Connection, reach: Reach, name: str, entity_type: str | None
    ) -> list[Row]:
        schema = await connection.fetchval(self._sql["can_be_similar"])
        if schema is None:
            return []
        statement = self._sql["similar_entities"].replace("<trgm>", schema)
        return await connection.fetch(
            statement, reach.tenant_id, name, entity_type, LEAST_LIKENESS, SIMILAR, reach.seen, _part(name)
        )

    async def _likeness(
        self, reach: Reach, rows: Sequence[Row], hints: e.ContextHints | None
    ) -> Mapping[UUID, float]:
        """Return what the newest facts of each candidate have in common with the hints."""
        if hints is None or not rows:
            return {}
        asked = terms_of([hints.topic or "", *hints.mentioned_with])
        if not asked:
            return {}
        async with self._kit.database.connection() as connection:
            facts = await connection.fetch(
                self._sql["facts_of_entities"], reach.tenant_id, reach.seen, [row["id"] for row in rows],
                FACTS_OF_EACH, CHARS_OF_FACT,
            )  # fmt: skip
        return await in_slices(_compared(asked, facts))


def _compared(asked: frozenset[str], facts: Sequence[Row]) -> Slices[dict[UUID, float]]:
    said: dict[UUID, set[str]] = {}
    for fact in facts:
        said.setdefault(fact["id"], set()).update(terms_of([fact["predicate"], fact["content"]]))
        yield
    return {id: jaccard(asked, frozenset(terms)) for id, terms in said.items()}


def _candidate(row: Row, likeness: float, domain: float) -> e.EntityCandidate:
    terms = {"name": SCORES[row["name_match"]]}
    if likeness:
        terms["context"] = MOST_BOOST * likeness
    if domain:
        terms["domain"] = domain
    return e.EntityCandidate(
        entity_id=row["id"],
        canonical_name=row["canonical_name"],
        entity_type=row["entity_type"],
        score=round(sum(terms.values()), 4),
        name_match=row["name_match"],
        aliases=row["aliases"],
        terms=terms,
    )


def _part(name: str) -> str:
    """Return the pattern of what has a name in it, in which every character stands for itself."""
    escaped = name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
