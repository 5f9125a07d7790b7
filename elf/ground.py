"""What a process shares with the families of memory that work in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from elf.config.model import Config
from elf.core.clock import Clock
from elf.db.database import Database
from elf.index.port import VectorIndex
from elf.index.space import Space
from elf.indexing.fresh import FreshWrites
from elf.providers.factory import Providers
from elf.providers.port import Embedder, LateInteraction
from elf.search.token_store import TokenStore
from elf.search.toolkit import SearchToolkit
from elf.search.trace_store import TraceStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessId:
    """Which process this is; `name` tells people where it runs."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What this process is for: it answers the public operations, those of operators, and does leased work."""

    serves: bool
    administers: bool
    works: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of this process: all of them where it serves, the embedder where it works, too.

    `late` makes token vectors in the pass of the embedder, where that costs nothing.
    """

    embedder: Embedder | None = None
    late: LateInteraction | None = None
    all: Providers | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a family builds on. Nothing here works yet while families are opened: the database is not connected.

    `reads` may be a replica. `ring` returns what wakes the workers of a queue, here and elsewhere. `index` returns the
    index of a space. `search` is there where the process serves, `tokens` where token vectors are kept.
    """

    config: Config
    process: ProcessId
    roles: Roles
    clock: Clock
    database: Database
    reads: Database
    models: Models
    ring: Callable[[str], Callable[[], None]]
    index: Callable[[Space], VectorIndex]
    fresh: FreshWrites
    tokens: TokenStore | None
    traces: TraceStore
    search: SearchToolkit | None
