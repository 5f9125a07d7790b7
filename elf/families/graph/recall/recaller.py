"""Recalls from the memory of an orchestrator: the query is embedded, and everything else is read at one moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from anyio import from_thread

from elf.core.clock import Clock
from elf.families.graph.recall.finding import Found, Sought, find
from elf.families.graph.recall.grants import Grants, tell_denied
from elf.families.graph.recall.legs import Where
from elf.families.graph.recall.place import Place, Vector
from elf.families.graph.store.statements import Snapshot

T = TypeVar("T")

Mode: TypeAlias = Literal["hybrid", "full_text_only"]

EMBEDDING: Final = "embedding"
SOURCE_PATH: Final = "source_path"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, of which memories, and how many each leg and the answer may have."""

    query: str
    where: Where = field(default_factory=Where)
    top_n: int
    rrf_k: int
    top_k_text: int
    top_k_vector: int


@dataclass(frozen=True, slots=True)
class Recalled(Generic[T]):
    """What was found, and what else was looked at in the same moment. `degraded` names what was away or left out."""

    found: Sequence[Found]
    beside: T
    mode: Mode
    degraded: Sequence[str]


class QueryVectors(Protocol):
    """Makes vectors of queries, of the version of which those of memories are."""

    @property
    def version(self) -> str: ...

    @property
    def is_quick(self) -> bool:
        """Whether it takes a moment only: then the words are looked for meanwhile, by a thread that waits for it."""
        ...

    async def of(self, query: str) -> Vector | None:
        """Return a vector of length 1; None where the model is away or finds no direction."""
        ...


Beside = Callable[[Snapshot, Sequence[Found], Grants], T]
"""Looks at what stands beside the memories that were found, in a thread."""


class Recaller:
    """Recalls for whoever asks: of the wire, of a bulletin, of a context."""

    def __init__(self, vectors: QueryVectors, clock: Clock) -> None:
        self._vectors = vectors
        self._clock = clock

    async def recall(self, place: Place, question: Question, beside: Beside[T]) -> Recalled[T]:
        """Find memories, and look beside them. Raises InvalidRow for a bad one, and Unavailable without the file."""
        vector = await self._vector(question) if not self._vectors.is_quick else None
        version, now = self._vectors.version, self._clock.now()
        grants = Grants(place.is_granted)

        def look(snapshot: Snapshot) -> tuple[list[Found], T]:
            def nearest() -> Iterator[str] | None:
                nonlocal vector
                if self._vectors.is_quick:
                    vector = from_thread.run(self._vector, question)
                return None if vector is None else place.nearest(snapshot, version, vector)

            sought = Sought(
                query=question.query,
                nearest=nearest,
                where=question.where,
                top_n=question.top_n,
                rrf_k=question.rrf_k,
                top_k_text=question.top_k_text,
                top_k_vector=question.top_k_vector,
                now=now,
            )
            found = find(snapshot, sought, grants)
            return found, beside(snapshot, found, grants)

        found, looked = await place.read(look)
        await tell_denied(place, grants.denied)
        degraded = [EMBEDDING] if vector is None and question.top_k_vector else []
        degraded += [SOURCE_PATH] if grants.denied else []
        return Recalled(found, looked, "full_text_only" if vector is None else "hybrid", degraded)

    async def _vector(self, question: Question) -> Vector | None:
        return await self._vectors.of(question.query) if question.top_k_vector else None
