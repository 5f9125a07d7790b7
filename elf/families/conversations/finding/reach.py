"""In which trees somebody finds something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.conversations.finding.corpus import CREATOR, TENANT, TREE
from elf.index.port import IndexFilter

MANY_TREES: Final = 500
"""From so many trees that are named one by one on, an index takes longer to look them up than for all else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The trees that a user of a tenant is a member of; without a user all of them, for an operator.

    For an operator they may be those of one `owner`, and with `deleted` the deleted ones are among them. What is found
    in them was said at `since` or later, and before `until`, where these are given; an operator gives none.
    """

    tenant_id: str
    user: str | None = None
    owner: str | None = None
    deleted: bool = False
    since: datetime | None = None
    until: datetime | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The first values of each query of search.queries.sql."""
        return self.tenant_id, self.user, self.owner, self.deleted

    @property
    def moments(self) -> tuple[datetime | None, datetime | None]:
        """The last values of each query of search.queries.sql that looks for what a user may find."""
        return self.since, self.until

    async def where(self, connection: Connection, sql: Queries) -> IndexFilter:
        """Return what the index is asked for: at least these trees, of which Postgres then says which they are.

        Who began a tree never changes and stands in the index. So the trees that are named one by one are only those
        that somebody else began, however many a user has.
        """
        whose = self.user if self.owner is None else self.owner
        must = {TENANT: self.tenant_id}
        if whose is None:
            return IndexFilter(must=must)
        query = "trees_shared_with" if self.owner is None else "trees_taken_over"
        others: Sequence[str] = await connection.fetchval(sql[query], self.tenant_id, whose)
        if not others:
            return IndexFilter(must={**must, CREATOR: whose})
        any_of: list[Mapping[str, Sequence[str]]] = [{CREATOR: [whose]}, {TREE: others}]
        return IndexFilter(must=must, any_of=any_of)


def widened(where: IndexFilter) -> IndexFilter | None:
    """Return what is asked for instead of very many trees: all of the tenant, of which Postgres says what may be found.

    None where the trees are few.
    """
    named = sum(len(values) for one in where.any_of or () for values in one.values())
    return IndexFilter(must=where.must) if named > MANY_TREES else None
