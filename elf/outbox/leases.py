"""The leases that a process has, and the work that goes on under them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import NamedTuple
from uuid import UUID

import anyio


@dataclass(frozen=True, slots=True)
class Job:
    """One leased job about one subject (the note, the trace, ...).

    op: what to do, in an outbox whose jobs are of several kinds. lease: which lease of the job this is.
    """

    outbox_id: UUID
    subject_id: UUID
    attempts: int
    created_at: datetime
    op: str = ""
    lease: int = field(default=0, compare=False)


class Term(NamedTuple):
    """Until when the leases hold that are asked for now, and how often all were lost before."""

    until: float
    losses: int


class Leases:
    """What is leased here and waits or is worked on, each until a moment of this process's clock.

    A job may be handed to somebody else once its lease is lost. Work on it is cancelled by then: when the lease is
    known to be lost, when it has run out without having been renewed, and when nobody knows any more that this process
    is alive.
    """

    def __init__(self) -> None:
        self._until: dict[UUID, float] = {}
        self._jobs: dict[UUID, Job] = {}
        self._at_work: dict[anyio.CancelScope, frozenset[UUID]] = {}
        self._losses = 0

    def term(self, seconds: float) -> Term:
        """Return the term of leases that Postgres is about to be asked for."""
        return Term(anyio.current_time() + seconds, self._losses)

    def begin(self, jobs: Sequence[Job], term: Term) -> None:
        """Hold jobs, unless all leases were lost since they were asked for."""
        if term.losses == self._losses:
            self._jobs.update((job.outbox_id, job) for job in jobs)
            self._until.update((job.outbox_id, term.until) for job in jobs)

    def renew(self, jobs: Sequence[Job], term: Term) -> None:
        """Hold those jobs longer that are held still."""
        self.begin(self.of(jobs), term)
        for scope, ids in self._at_work.items():
            scope.deadline = self._deadline(ids)

    def end(self, jobs: Sequence[Job]) -> None:
        """Hold jobs no longer: nobody here works on them any more, or nobody can take them."""
        for job in self.of(jobs):
            del self._jobs[job.outbox_id], self._until[job.outbox_id]

    def lose(self, jobs: Sequence[Job]) -> None:
        """Hold jobs no longer, and cancel the work on them."""
        lost = {job.outbox_id for job in self.of(jobs)}
        self.end(jobs)
        for scope, ids in self._at_work.items():
            if ids & lost:
                scope.cancel()

    def lose_all(self) -> None:
        """Lose what is held, and what Postgres was asked for and has not answered yet."""
        self._losses += 1
        self.lose(self.held())

    def held(self) -> list[Job]:
        """Return the jobs that are held."""
        return list(self._jobs.values())

    def of(self, jobs: Sequence[Job]) -> list[Job]:
        """Return those of the jobs whose lease, and no later one, is held."""
        return [job for job in jobs if (held := self._jobs.get(job.outbox_id)) and held.lease == job.lease]

    @contextmanager
    def at_work(self, jobs: Sequence[Job]) -> Iterator[anyio.CancelScope]:
        """Work on jobs that are held; it is cancelled when the lease of one is lost, or ends."""
        ids = frozenset(job.outbox_id for job in jobs)
        with anyio.CancelScope(deadline=self._deadline(ids)) as scope:
            self._at_work[scope] = ids
            try:
                yield scope
            finally:
                del self._at_work[scope]

    def _deadline(self, ids: frozenset[UUID]) -> float:
        return min((self._until[id] for id in ids if id in self._until), default=inf)
