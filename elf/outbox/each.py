"""The jobs of a batch, a few at once: one that waits, such as for a language model, holds up no others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import anyio

from elf.core.errors import ServiceError
from elf.outbox.leased import JobsFailed
from elf.outbox.leases import Job

Work = TypeVar("Work")

AT_ONCE: Final = 4


async def each(
    work: Sequence[Work], do: Callable[[Work], Awaitable[None]], *, job_of: Callable[[Work], Job]
) -> None:
    """Do all of some work, each for itself. Raises JobsFailed, which says which jobs are not done and why."""
    failed: list[tuple[Job, ServiceError]] = []
    waiting = iter(work)

    async def next_ones() -> None:
        for one in waiting:
            try:
                await do(one)
            except ServiceError as error:
                failed.append((job_of(one), error))

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(next_ones)
    if failed:
        raise JobsFailed(failed)
