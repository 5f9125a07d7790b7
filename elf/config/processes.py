"""[processes]: how many processes of each role make the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from elf.config.table import Table

Role = Literal["api", "worker", "mcp"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
EVERY_ROLE: Final[frozenset[Role]] = frozenset(ROLES)

Count = Annotated[int, Field(ge=0, le=64)]


class Processes(Table):
    """[processes], optional: `elf up` starts so many of each role. Without the table one process has all roles.

    api answers requests, of operators, too; worker does what is left to be done; mcp serves the tools.
    """

    api: Count = 1
    worker: Count = 1
    mcp: Count = 1

    def named(self) -> Iterator[tuple[str, Role]]:
        """Return the name and the role of each process; several of a role are numbered."""
        for role, count in self.counts.items():
            for number in range(1, count + 1):
                yield (role if count == 1 else f"{role}-{number}"), role

    @property
    def counts(self) -> dict[Role, int]:
        """How many of each role, the api first: it makes what the others need."""
        return {"api": self.api, "worker": self.worker, "mcp": self.mcp}
