"""Rules, as they are written: each begins as a candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.knowledge import model as m
from elf.families.knowledge.writing.events import Event
from elf.families.knowledge.writing.to_store import (
    FromEpisode,
    Writing,
    as_json,
    columns,
    with_owners,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleToStore(FromEpisode):
    """A rule before it has an id."""

    scope: str = m.GLOBAL_SCOPE
    tags: Sequence[str] = ()
    source_butler: str | None = None


@dataclass(frozen=True, slots=True)
class StoredRule:
    """The id of a rule."""

    id: UUID


class RuleWriter:
    """Stores rules with a transaction of the caller's."""

    kind: Final = "rule"

    def __init__(self, queries: Queries) -> None:
        self._sql = queries

    def competes_for(self, tenant_id: str, rules: Sequence[RuleToStore]) -> list[str]:
        return []

    async def repeats(
        self, connection: Connection, tenant_id: str, keys: Sequence[str]
    ) -> list[Mapping[str, Any]]:
        return await connection.fetch(self._sql["find_repeated_rules"], tenant_id, list(keys))

    def repeated(self, row: Mapping[str, Any]) -> StoredRule:
        return StoredRule(row["id"])

    async def write(
        self, connection: Connection, writing: Writing, rules: Sequence[RuleToStore]
    ) -> tuple[list[StoredRule], list[Event]]:
        """Store rules in their order. Raises InvalidRequest, naming the path, for an episode that is unknown."""
        rules = await with_owners(connection, self._sql, writing, rules)
        stored = [StoredRule(uuid4()) for _ in rules]
        rows = [
            (
                one.id, rule.content, vector, rule.searched, rule.scope, rule.source_butler, rule.source_episode_id,
                as_json(rule.tags), dict(rule.metadata), rule.idempotency_key, rule.digest, rule.user_id, rule.reader,
            )
            for rule, one, vector in zip(rules, stored, writing.vectors, strict=True)
        ]  # fmt: skip
        await connection.execute(
            self._sql["insert_rules"], writing.reach.tenant_id, writing.now, writing.version, writing.is_model_away,
            m.RULE_CONFIDENCE, m.RULE_DECAY_RATE, *columns(rows, 13),
        )  # fmt: skip
        events = [
            Event("rule_created", "rule", one.id, _told(rule), user=rule.user_id)
            for rule, one in zip(rules, stored, strict=True)
        ]
        return stored, events


def _told(rule: RuleToStore) -> Mapping[str, str]:
    return {"scope": rule.scope} if rule.reader is None else {"scope": rule.scope, "reader": rule.reader}
