"""What the tests of the notes family share: notes, a clock to turn, models and an index without a process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from elf.core.errors import ProviderUnavailable
from elf.core.ids import new_note_id
from elf.core.scopes import ScopeRules
from elf.core.slices import at_once
from elf.families.notes.model import Context, Note
from elf.families.notes.writing.resolver import (
    Incoming,
    Match,
    Near,
    Outcome,
    ResolverRules,
    Surroundings,
    Workspace,
)
from elf.index.port import IndexPoint, IndexQuery, LegHit, QueryResult, StoredPoint
from elf.index.schema import EVERY_TAG

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
DIM = 384
CONTEXT = Context("acme", "alpha", "anna")
RULES = ResolverRules(
    dup_sim_threshold=0.92,
    update_sim_threshold=0.85,
    default_ttl_days={
        "plan": 14, "fact": 180, "preference": 0, "constraint": 0, "decision": 0, "profile": 0,
    },
    same_fact_only=False,
    neighbours=1,
)  # fmt: skip
STRICT_RULES = replace(RULES, same_fact_only=True, neighbours=8)
SCOPES = ("agent_private", "project_shared", "org_shared")

Vector = npt.NDArray[np.float32]


def scope_rules(**write_allowed: bool) -> ScopeRules:
    """The scopes of the spec, and a profile that reads none; by keyword those that may not be written."""
    return ScopeRules(
        allowed=SCOPES,
        read_profiles={
            "private_only": SCOPES[:1], "private_plus_project": SCOPES[:2], "all_scopes": SCOPES, "nothing": (),
        },
        precedence={"agent_private": 30, "project_shared": 20, "org_shared": 10},
        write_allowed=dict.fromkeys(SCOPES, True) | write_allowed,
    )  # fmt: skip


def an_incoming(text: str = "Fact: tea is hot.", **fields: Any) -> Incoming:
    values: dict[str, Any] = {
        "scope": "project_shared", "type": "fact", "key": None, "text": text, "importance": 0.5,
        "confidence": 0.9, "ttl_days": None, "source_ref": {},
    }  # fmt: skip
    return Incoming(**(values | fields))


def a_note(text: str = "Fact: tea is hot.", **fields: Any) -> Note:
    values: dict[str, Any] = {
        "note_id": new_note_id(), "tenant_id": CONTEXT.tenant_id, "project_id": CONTEXT.project_id,
        "agent_id": CONTEXT.agent_id, "scope": "project_shared", "type": "fact", "key": None, "text": text,
        "importance": 0.5, "confidence": 0.9, "status": "active", "created_at": NOW, "updated_at": NOW,
        "expires_at": None, "requested_ttl_days": None, "embedding_version": "fake:hash:384", "source_ref": {},
    }  # fmt: skip
    return Note(**(values | fields))


def beside(incoming: Incoming, stored: Note, similarity: float, rules: ResolverRules) -> Surroundings:
    """One stored note near an incoming one."""
    near = Near(stored.note_id, stored.updated_at, stored.text, similarity)
    may_merge = rules.may_merge(incoming, stored.text, similarity)
    return Surroundings(near, Match(stored, similarity) if may_merge else None)


def resolve(
    work: Workspace, incoming: Incoming, stored: Note | None = None, similarity: float = 0.0
) -> Outcome:
    """Resolve a note without a key beside one stored note, or none."""
    near = Surroundings() if stored is None else beside(incoming, stored, similarity, work.rules)
    return at_once(work.resolving_similar(incoming, near))


def resolve_keyed(work: Workspace, incoming: Incoming) -> Outcome:
    """Resolve a note with a key."""
    return at_once(work.resolving_keyed(incoming))


def unit(*numbers: float, dim: int = DIM) -> Vector:
    """A vector that begins with `numbers`, scaled to length 1."""
    vector = np.zeros(dim, np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.float32(np.linalg.norm(vector))


def at_cosine(cosine: float, dim: int = DIM) -> Vector:
    """A unit vector with this cosine to `unit(1.0)`."""
    return unit(cosine, float(np.sqrt(1.0 - cosine * cosine)), dim=dim)


def vector_of(text: str) -> Vector:
    """The same unit vector for the same text; those of different texts are nearly at right angles."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=DIM).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


class TurnedClock:
    """A clock that a test turns."""

    def __init__(self, moment: datetime = NOW) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def turn(self, **by: float) -> None:
        self.moment += timedelta(**by)


class FakeEmbedder:
    """Vectors of `known` texts, else of `vector_of`; remembers every text, and may be away."""

    version = "fake:hash:384"
    dimensions = DIM

    def __init__(self, known: Mapping[str, Vector] | None = None) -> None:
        self.known = dict(known or {})
        self.texts: list[str] = []
        self.away = False
        self.before_answer: Callable[[], Any] | None = None

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if self.away:
            raise ProviderUnavailable("the model is asleep")
        self.texts += texts
        if self.before_answer is not None:
            await self.before_answer()
        rows = [self.known[text] if text in self.known else vector_of(text) for text in texts]
        return np.stack(rows).astype(np.float32)


class WordTokens:
    """Tokens are words between spaces."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        spans = []
        position = 0
        for word in text.split(" "):
            if word:
                spans.append((position, position + len(word)))
            position += len(word) + 1
        return spans


class MemoryIndex:
    """The port VectorIndex over a dict. Queries are exact; the BM25 leg counts shared words."""

    def __init__(self) -> None:
        self.points: dict[UUID, IndexPoint] = {}
        self.queries: list[Sequence[IndexQuery]] = []
        self.before_upsert: Callable[[], Any] | None = None

    async def ensure(self) -> None:
        return None

    async def upsert(self, points: Sequence[IndexPoint]) -> None:
        if self.before_upsert is not None:
            await self.before_upsert()
        self.points.update((point.point_id, point) for point in points)

    async def delete_owners(self, owner_ids: Sequence[UUID], *, keep: Sequence[UUID] = ()) -> None:
        self._keep_where(lambda point: point.owner_id not in owner_ids or point.point_id in keep)

    async def delete_points(self, point_ids: Sequence[UUID]) -> None:
        self._keep_where(lambda point: point.point_id not in point_ids)

    is_away = False

    async def query(self, queries: Sequence[IndexQuery]) -> list[QueryResult]:
        self.queries.append(queries)
        return [self._answer(query) for query in queries]

    async def scan(self, *, after: UUID | None, limit: int) -> list[StoredPoint]:
        ids = sorted(point_id for point_id in self.points if after is None or point_id > after)[:limit]
        return [
            StoredPoint(one, self.points[one].owner_id, str(self.points[one].payload["updated_at"]))
            for one in ids
        ]

    async def count(self) -> int:
        return len(self.points)

    async def aclose(self) -> None:
        return None

    def owners(self) -> set[UUID]:
        return {point.owner_id for point in self.points.values()}

    def texts(self) -> set[str]:
        return {point.text for point in self.points.values()}

    def _keep_where(self, kept: Callable[[IndexPoint], bool]) -> None:
        self.points = {point_id: point for point_id, point in self.points.items() if kept(point)}

    def _answer(self, query: IndexQuery) -> QueryResult:
        found = [point for point in self.points.values() if _matches(point, query)]
        dense = [] if query.dense is None else [(float(point.dense @ query.dense), point) for point in found]
        words = set() if query.text is None else set(query.text.lower().split())
        shared = [(float(len(words & set(point.text.lower().split()))), point) for point in found]
        return QueryResult(
            _hits(dense, query.limit), _hits([hit for hit in shared if hit[0] > 0], query.limit)
        )


def _matches(point: IndexPoint, query: IndexQuery) -> bool:
    payload = point.payload
    where = query.where
    return (
        all(payload[name] == value for name, value in where.must.items())
        and (
            where.any_of is None
            or any(all(payload[name] in values for name, values in group.items()) for group in where.any_of)
        )
        and (where.key_prefix is None or str(payload["key"] or "").startswith(where.key_prefix))
        and (EVERY_TAG in point.tags or set(where.tags) <= set(point.tags))
    )


def _hits(scored: Iterable[tuple[float, IndexPoint]], limit: int) -> list[LegHit]:
    ranked = sorted(scored, key=lambda hit: (-hit[0], hit[1].point_id))[:limit]
    return [LegHit(point.point_id, point.owner_id, score) for score, point in ranked]
