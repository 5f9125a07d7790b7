"""Leased work of a family, as data: the root makes a dispatcher and workers of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from elf.outbox.leased import LeasedOutbox
from elf.outbox.leases import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Work that goes through an outbox, done by all processes that run workers.

    `name` is lower_snake_case and one's own among the queues of all families; actors, channels and metrics are named by
    it. `handle` is given up to batch_size leased jobs and ends them by `outbox.finish` before it returns: best with the
    transaction of what it does, which is then done once. What it does outside of one may be done twice. It is cancelled
    when a lease is lost. It says by JobsFailed which of them failed, or raises: then they
    are tried again one by one. Unavailable with `concerns_all` puts all of them off. `concurrency` is how many batches
    are handled at once in a process. Without a wake-up the outbox is looked into every poll_interval_s. Where `corpus`
    names one that the work writes to, it is done while the index of that is there.
    """

    family: str
    name: str
    outbox: LeasedOutbox
    handle: Callable[[Sequence[Job]], Awaitable[None]]
    corpus: str | None = None
    concurrency: int = 1
    batch_size: int = 32
    poll_interval_s: float = 1.0
