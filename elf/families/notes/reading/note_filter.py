"""Which notes a search may find beyond what its reader may see: as the index is asked, and as Postgres is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from elf.families.notes.api.requests import SearchFilters
from elf.families.notes.api.source_fields import Scalar, check_source, documents, tag
from elf.index.port import IndexFilter, Period

ANY_TIME: Final = Period()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFilter:
    """Notes of one of these types (None: of any), with such a key, last changed and made then, and with all these
    fields in their source_ref.
    """

    types: Sequence[str] | None = None
    key_prefix: str | None = None
    updated: Period = ANY_TIME
    created: Period = ANY_TIME
    source: Mapping[str, Scalar] = field(default_factory=dict)

    @classmethod
    def of(cls, given: SearchFilters | None) -> NoteFilter:
        """Return the filter that a request asks for. Raises InvalidRequest for fields that cannot be asked for."""
        if given is None:
            return EVERYTHING
        if given.source is not None:
            check_source(given.source, "$.filters.source")
        return cls(
            types=given.type,
            key_prefix=given.key_prefix,
            updated=Period(given.updated_since, given.updated_before),
            created=Period(given.created_since, given.created_before),
            source=cast("Mapping[str, Scalar]", given.source or {}),  # by check_source
        )

    def narrowing(self, where: IndexFilter) -> IndexFilter:
        """Return the index's filter, which has alternatives, narrowed to these notes."""
        if self is EVERYTHING:
            return where
        alternatives = list(where.any_of or ())
        if self.types is not None:
            alternatives = [{**one, "type": self.types} for one in alternatives]
        periods = {"updated_at": self.updated, "created_at": self.created}
        return replace(
            where,
            any_of=alternatives,
            key_prefix=self.key_prefix,
            periods={name: period for name, period in periods.items() if period != ANY_TIME},
            tags=[tag(path, value) for path, value in self.source.items()],
        )

    def arguments(self) -> list[Any]:
        """Return the arguments of the statements that apply it; null holds for every note."""
        return [
            self.types, self.key_prefix, self.updated.since, self.updated.before, self.created.since,
            self.created.before, documents(self.source) if self.source else None,
        ]  # fmt: skip


EVERYTHING: Final = NoteFilter()
