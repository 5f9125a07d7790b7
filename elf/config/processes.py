"""[processes]: how many processes of each role make the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from elf.config.table import Table

Role = Literal["api", "worker", "mcp"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)  # the api first: it makes what the others need
EVERY_ROLE: Final[frozenset[Role]] = frozenset(ROLES)
OPERATED: Final[tuple[Role, ...]] = ("api", "worker")
"""The roles that `elf up` gives an admin address for each process; the others have nothing to tell there."""

Count = Annotated[int, Field(ge=0, le=64)]


class Processes(Table):
    """[processes], optional: `elf up` starts so many of each role. Without the table one process has all roles.

    api answers requests, of operators, too; worker does leased work, chores and the collection of garbage, and stores
    traces that an api could not; mcp serves the tools, for which it asks an api.
    """

    api: Count = 1
    worker: Count = 1
    mcp: Count = 1

    def named(self) -> Iterator[tuple[str, Role]]:
        """Return the name and the role of each process; several of a role are numbered."""
        for role in ROLES:
            count = getattr(self, role)
            for number in range(1, count + 1):
                yield (role if count == 1 else f"{role}-{number}"), role


def admin_ports(first: int, count: int, *, skipped: int | None) -> list[int]:
    """Return the ports at which operators reach so many processes: those from the first on, without the skipped one.

    When the first is 0, the system chooses all of them.
    """
    if first == 0:
        return [0] * count
    return [port for port in range(first, first + count + 1) if port != skipped][:count]
