"""What a tenant may keep, at random: pieces as they are exported, and all that one names is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any, Final
from uuid import UUID

from tests.db.knowledge.conftest import TENANT
from tests.db.knowledge.subjects_kit import Piece

TEXTS: Final = (
    "the aisle", "", "é 中 🙂", "'; DROP TABLE --", '{"kind": "fact"}', "\u2028\t\n", "x" * 3_000, "a -b & c | !d",
    "\\u0041 \\", "ana", "user:ana",
)  # fmt: skip
NAMES: Final = ("Ana", "seat", "É", "🙂", "%_", "a b", "ana", "user:ben", "travel")
SCOPES: Final = ("global", "travel", "user:ana", "user:ben")
VALUES: Final = (
    None,
    True,
    0,
    -(2**53),
    1.5,
    "ana",
    "m1",
    ["m1", None, {"a": "ana"}],
    {"deep": ["travel"]},
    "",
)
KEYS: Final = ("user", "user_id", "message_id", "é", "a.b", "$", "")
COUNTS: Final = (0, 1, 7, 2**31 - 1)
SHARES: Final = (0.0, 5e-324, 0.1, 0.5, 1.0)

Fields = dict[str, Any]


class RandomTenant:
    """Makes pieces by a seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._one = self._random.choice

    def pieces(self) -> list[Piece]:
        entities = [self._entity(number) for number in range(self._one((0, 1, 3)))]
        episodes = [self._episode() for _ in range(self._one((0, 1, 4)))]
        facts = [self._fact(number, entities, episodes) for number in range(self._one((0, 2, 5)))]
        rules = [self._rule(episodes) for _ in range(self._one((0, 1, 3)))]
        memories = [*episodes, *facts, *rules]
        pieces = [
            *entities, *memories, *self._supersessions(facts), *self._some(rules, self._application),
            *self._links(memories), *self._some([*memories, {}], self._event),
        ]  # fmt: skip
        return [
            {"tenant_id": TENANT, **{name: value for name, value in one.items() if value is not None}}
            for one in pieces
        ]

    def _some(self, of: Sequence[Fields], make: Callable[[Fields], Fields]) -> list[Fields]:
        return [make(one) for one in of for _ in range(self._one((0, 0, 1, 2)))]

    def _id(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _moment(self) -> str:
        at = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(microseconds=self._random.randrange(10**15))
        return at.isoformat().replace("+00:00", "Z")

    def _perhaps(self, make: Callable[[], Any]) -> Any:
        return make() if self._random.random() < 0.6 else None

    def _metadata(self) -> Fields:
        return {self._one(KEYS): self._one(VALUES) for _ in range(self._one((0, 1, 3)))}

    def _entity(self, number: int) -> Fields:
        return {
            "kind": "entity", "id": self._id(), "canonical_name": f"{number} {self._one(NAMES)}",
            "entity_type": self._one(("person", "place")), "aliases": self._random.sample(NAMES, self._one((0, 2))),
            "metadata": self._metadata(), "created_at": self._moment(), "updated_at": self._moment(),
        }  # fmt: skip

    def _memory(self, kind: str) -> Fields:
        id = self._id()
        key = self._perhaps(lambda: f"key of {id}")
        return {
            "kind": kind, "id": id, "content": self._one(TEXTS), "reference_count": self._one(COUNTS),
            "created_at": self._moment(), "last_referenced_at": self._perhaps(self._moment),
            "metadata": self._metadata(), "idempotency_key": key, "request_digest": key and "AAEC",
        }  # fmt: skip

    def _episode(self) -> Fields:
        return self._memory("episode") | {
            "butler": self._one(SCOPES[1:]), "session_id": self._perhaps(self._id),
            "importance": 10 * self._one(SHARES), "consolidated": self._one((True, False)),
            "consolidation_status": self._one(("pending", "consolidated", "dead_letter")),
            "retry_count": self._one(COUNTS), "last_error": self._perhaps(lambda: self._one(TEXTS)),
            "available_at": self._perhaps(self._moment), "expires_at": self._perhaps(self._moment),
        }  # fmt: skip

    def _learned(self, kind: str, episodes: Sequence[Fields]) -> Fields:
        return self._memory(kind) | {
            "scope": self._one(SCOPES), "confidence": self._one(SHARES), "decay_rate": self._one(SHARES),
            "permanence": self._one(("permanent", "standard", "ephemeral")),
            "source_butler": self._perhaps(lambda: self._one(NAMES)),
            "source_episode_id": self._perhaps(lambda: self._one(episodes)["id"]) if episodes else None,
            "last_confirmed_at": self._perhaps(self._moment), "tags": self._random.sample(NAMES, self._one((0, 2))),
        }  # fmt: skip

    def _fact(self, number: int, entities: Sequence[Fields], episodes: Sequence[Fields]) -> Fields:
        about = self._perhaps(lambda: self._one(entities)) if entities else None
        whom = about and {
            "entity_id": about["id"], "entity_name": about["canonical_name"], "entity_type": about["entity_type"],
        }  # fmt: skip
        return self._learned("fact", episodes) | (whom or {}) | {
            "subject": self._one(NAMES), "predicate": f"{number} {self._one(NAMES)}",
            "importance": 10 * self._one(SHARES),
            "validity": self._one(("active", "active", "superseded", "expired", "retracted")),
        }  # fmt: skip

    def _rule(self, episodes: Sequence[Fields]) -> Fields:
        states = {
            "forgotten": self._one((True, False)), "needs_inversion": self._one((True, False)),
            "harmful_reasons": self._random.sample(TEXTS, 2),
        }  # fmt: skip
        kept = self._random.sample(sorted(states), self._one((0, 1, 3)))
        rule = self._learned("rule", episodes)
        return rule | {
            "metadata": rule["metadata"] | {name: states[name] for name in kept},
            "maturity": self._one(("candidate", "proven", "anti_pattern")), "effectiveness_score": self._one(SHARES),
            "applied_count": self._one(COUNTS), "success_count": self._one(COUNTS),
            "harmful_count": self._one(COUNTS), "last_applied_at": self._perhaps(self._moment),
            "last_evaluated_at": self._perhaps(self._moment),
        }  # fmt: skip

    def _supersessions(self, facts: Sequence[Fields]) -> list[Fields]:
        return [
            {"kind": "supersession", "id": fact["id"], "supersedes_id": other["id"]}
            for fact, other in pairwise(facts)
            if self._random.random() < 0.5
        ]

    def _application(self, rule: Fields) -> Fields:
        return {
            "kind": "application", "id": self._id(), "rule_id": rule["id"],
            "outcome": self._one(("helpful", "harmful")), "context": self._perhaps(lambda: self._one(TEXTS)),
            "reason": self._perhaps(lambda: self._one(TEXTS)), "actor": self._perhaps(lambda: self._one(NAMES)),
            "created_at": self._moment(),
        }  # fmt: skip

    def _links(self, memories: Sequence[Fields]) -> list[Fields]:
        return [
            {
                "kind": "link", "source_type": source["kind"], "source_id": source["id"],
                "target_type": target["kind"], "target_id": target["id"],
                "relation": self._one(("derived_from", "derived_from", "contradicts", "related_to")),
                "created_at": self._moment(),
            }
            for source in memories for target in memories
            if source is not target and self._random.random() < 0.2
        ]  # fmt: skip

    def _event(self, memory: Fields) -> Fields:
        return {
            "kind": "event", "id": self._id(), "event_type": self._one(("fact_created", "consolidation_run")),
            "actor": self._perhaps(lambda: self._one(NAMES)), "memory_type": memory.get("kind"),
            "memory_id": memory.get("id"), "request_id": self._perhaps(lambda: self._one(TEXTS)),
            "payload": {"scope": self._one(SCOPES), "n": self._one(COUNTS)}, "created_at": self._moment(),
        }  # fmt: skip
