"""Erasing all of somebody for good, over all families: a repeat finishes what was broken off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from elf.api.caller import Caller
from elf.core.clock import Clock
from elf.core.errors import Conflict, NotFound, ServiceError, Unavailable
from elf.db.database import Database
from elf.db.queries import Queries
from elf.erasing import erasing
from elf.memory.api import erasing as e
from elf.memory.erasing.audited import audit_rows
from elf.memory.erasing.own import OwnedBySomebody
from elf.memory.erasing.points import IndexPoints
from elf.memory.erasing.signing import SIGNATURE, signer_of
from elf.memory.erasing.store import ErasureStore, Job
from elf.memory.erasing.whose import Somebody
from elf.offers import ELSEWHERE, NOBODYS, Subjects

MOST_PASSES: Final = 5
OUT_OF_REACH: Final = (
    "backups, and replicas until they have caught up",
    "bytes of files that are not yet rewritten: `elf erase --compact` rewrites those that are on its host",
    "logs of the service and of what is in front of it, where they were sent: they say who called",
    "caches in the memory of running processes, until they are restarted",
)

log = structlog.get_logger()


class Erasing:
    """Carries out `erase_memory` and `read_receipt`. `families` have something of somebody, asked in their order."""

    def __init__(
        self,
        database: Database,
        queries: Queries,
        families: Mapping[str, Subjects],
        owned: OwnedBySomebody,
        points: IndexPoints,
        *,
        clock: Clock,
    ) -> None:
        self._database = database
        self._sql = queries
        self._families = families
        self._owned = owned
        self._points = points
        self._audit = audit_rows(database, queries, clock)
        self._clock = clock
        self._store = ErasureStore(database, queries)

    async def erase(self, request: e.Erase, caller: Caller) -> e.Receipt:
        """Erase all of somebody; returns the receipt.

        Nothing of theirs is written until it has ended. Raises ScopeDenied for who is bound to less, Conflict while
        another request erases them, and Unavailable when something is away, or never stops writing: then nothing is
        lost by erasing again, which goes on where this ended.
        """
        somebody = Somebody.of(request, caller)
        async with erasing(self._database, somebody):
            receipt = await self._erase(somebody)
        log.info(
            "memory_erased", receipt=str(receipt.receipt_id), kind=receipt.kind, by=caller.client or None,
            pieces=sum(sum(counts.values()) for counts in receipt.erased.values()),
        )  # fmt: skip
        return receipt

    async def receipt(self, request: e.ReadReceipt, caller: Caller) -> e.Receipt:
        """Return a receipt of somebody. Raises NotFound, and ScopeDenied for who is bound to less."""
        somebody = Somebody.of(request, caller)
        signer = await signer_of(self._database, self._sql, self._clock.now())
        found = await self._store.receipt(request.receipt_id, of=signer.hash(somebody))
        if found is None:
            raise NotFound(f"$.receipt_id: there is no receipt {request.receipt_id}", fields=["$.receipt_id"])
        return _receipt(found)

    async def go_on(self) -> None:
        """Go on with all erasures that were broken off. What cannot be ended now stays to be ended."""
        for somebody in await self._store.unfinished():
            try:
                async with erasing(self._database, somebody):
                    if somebody in await self._store.unfinished():  # nobody else has ended it meanwhile
                        receipt = await self._erase(somebody)
                        log.info("erasure_ended_late", receipt=str(receipt.receipt_id), kind=receipt.kind)
            except Conflict:  # somebody is at it
                continue
            except ServiceError as error:
                log.warning("erasure_not_ended", kind=somebody.kind, error=error.message)

    async def _erase(self, somebody: Somebody) -> e.Receipt:
        owned = await self._owned.of(somebody)
        job = await self._store.begin(somebody, owned, self._clock.now())
        for _ in range(MOST_PASSES):  # one after which nothing was left ends it
            if not await self._pass(job):
                break
        else:
            raise Unavailable("something of what is erased is written again and again: erase again")
        left = await self._points.wait_gone()
        now = self._clock.now()
        signer = await signer_of(self._database, self._sql, now)
        receipt: dict[str, Any] = {
            "receipt_id": str(job.receipt_id),
            "kind": somebody.kind,
            "subject": signer.hash(somebody),
            "began_at": job.began_at.isoformat(),
            "finished_at": now.isoformat(),
            "erased": job.erased,
            "index": dict(left),
            "out_of_reach": [*OUT_OF_REACH, *_elsewhere(job)],
        }
        receipt[SIGNATURE] = signer.sign(receipt)
        await self._audit.pseudonymize(somebody)  # while it is known whose names these are
        await self._store.end(job, receipt, now)
        return _receipt(receipt)

    async def _pass(self, job: Job) -> int:
        """Have every family erase; returns how much went that was somebody's."""
        gone = 0
        subject = job.of.subject(job.conversations)
        for name, family in self._families.items():
            counts = dict(await family.erase(subject))
            if elsewhere := counts.pop(ELSEWHERE, 0):
                job.erased.setdefault(name, {})[ELSEWHERE] = elsewhere
            job.add(name, counts)
            gone += sum(count for kind, count in counts.items() if kind not in NOBODYS)
            await self._store.tell(job)
        return gone


def _elsewhere(job: Job) -> Sequence[str]:
    """Take out of what went what was not reached, and tell of it."""
    counts = {name: counts.pop(ELSEWHERE, 0) for name, counts in job.erased.items()}
    return [f"{name}: {count} places on other hosts" for name, count in counts.items() if count]


def _receipt(found: Mapping[str, Any]) -> e.Receipt:
    return e.Receipt.model_validate(found)
