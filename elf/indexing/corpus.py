"""What a memory family puts into the vector index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from elf.core.errors import InternalError
from elf.db.queries import Queries
from elf.index.port import IndexPoint
from elf.index.space import Space

STATEMENTS: Final = (
    "live_chunks",
    "count_live_chunks",
    "count_live_subjects_without_chunks",
    "enqueue_indexing",
    "moving_subjects",
    "open_jobs",
    "lease_rebuild_page",
    "lease_strays",
    "end_leased",
    "release_jobs",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The chunks of one family's texts with their vectors in Postgres, of which the index is a copy.

    `name` is lower_snake_case and says in logs and in metrics which corpus is meant. A subject is what chunks are cut
    from and jobs are for: a note, say. `queries` hold STATEMENTS, which know the family's tables; their rows name a
    subject `subject_id`. `point` makes the index's point of a row of lease_rebuild_page. `embedding_version` is that of
    the configured model.
    """

    name: str
    space: Space
    queries: Queries
    point: Callable[[Mapping[str, Any]], IndexPoint]
    embedding_version: str

    @property
    def rebuild_lock(self) -> int:
        """The advisory lock of Postgres that whoever rebuilds this corpus holds."""
        name = f"elf rebuild {self.name}".encode()
        return int.from_bytes(blake2b(name, digest_size=8).digest(), signed=True)

    def __post_init__(self) -> None:
        if missing := [name for name in STATEMENTS if name not in self.queries]:
            raise InternalError(f"the corpus {self.name} has no statement {', '.join(missing)}")
