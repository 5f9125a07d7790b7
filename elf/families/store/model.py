"""What the store family keeps, as its parts hand it to one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from elf.families.store.rules.places import address_of, path_of

FAMILY: Final = "store"
QUEUE: Final = "store"

MAX_LABELS: Final = 32
MAX_LABEL_CHARS: Final = 512
MAX_KEY_CHARS: Final = 1024
MAX_OPS: Final = 500
MAX_SEARCHES: Final = 32
"""Most operations of a batch that look through all values of a user: searches, and listings of namespaces."""
MAX_LIMIT: Final = 1000
MAX_OFFSET: Final = 1_000_000
MAX_PATHS: Final = 32
MAX_PATH_CHARS: Final = 256
MAX_FILTERS: Final = 32
MAX_QUERY_CHARS: Final = 32_768
MAX_TTL_MINUTES: Final = 52_560_000.0  # a hundred years

WHOLE_VALUE: Final = "$"

Row = Mapping[str, Any]


class Place(NamedTuple):
    """Whose values they are."""

    tenant_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class Written:
    """A value to be kept. `value` is its JSON, `indexed` the paths whose texts have vectors, `texts` these texts.

    `indexed_chars` is how long these are together, where they are not all.
    """

    namespace: Sequence[str]
    key: str
    value: str
    indexed: Sequence[str] | None
    texts: Sequence[str]
    indexed_chars: int | None
    ttl: timedelta | None
    revision: UUID

    @property
    def address(self) -> bytes:
        return address_of(self.namespace, self.key)

    @property
    def path(self) -> str:
        return path_of(self.namespace)
