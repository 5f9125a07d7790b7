"""Stores the traces of searches, out of their way."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import anyio
import structlog
from anyio.abc import TaskStatus
from anyio.lowlevel import checkpoint

from actors.kernel import Channel
from actors.workers.leased_work import LeasedWork
from elf.core.errors import ServiceError, Unavailable
from elf.core.slices import in_slices
from elf.outbox.leased import LeasedOutbox
from elf.outbox.leases import Job
from elf.search.trace import SearchTrace, redacting_trace
from elf.search.trace_store import Payload, TraceStore

BATCH_SIZE = 64
GATHER_S = 0.2  # searches of this time share their statements
POLL_S = 2.0  # between looks for what failed, or what another process left
RETRY_S = 1.0
FLUSH_TIMEOUT_S = 2.0

log = structlog.get_logger()


class TraceWriter:
    """Takes traces from a channel in batches, puts them into the outbox and writes them to their tables.

    It needs no other actor: while Postgres is away it keeps the batch in hand and tries again, and the channel drops
    what it has no room for. A trace that cannot be stored at all is dropped alone. On the way out it stores what is
    left within a short time.
    """

    name = "trace_writer"

    def __init__(
        self, traces: Channel[SearchTrace], *, store: TraceStore, outbox: LeasedOutbox, redact: bool
    ) -> None:
        self._traces = traces
        self._store = store
        self._outbox = outbox
        self._redact = redact
        self._work = LeasedWork(
            outbox, store.write, caution=None, told={"actor": self.name}, failure_event="traces_not_written"
        )
        self._dropped = 0

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        held: list[SearchTrace] = []
        try:
            look_at = anyio.current_time()
            while True:
                await self._gather(held, until=look_at)
                if not await self._is_told(held):
                    continue
                try:
                    await self._put_in(held)
                    if anyio.current_time() >= look_at:
                        look_at = anyio.current_time() + POLL_S
                        await self._write_what_is_due()
                except Unavailable as error:
                    log.warning("traces_wait", held=len(held), error=error.message)
                    await anyio.sleep(RETRY_S)
        finally:
            await self._flush(held)

    async def _is_told(self, held: list[SearchTrace]) -> bool:
        """Tell whether others know that this process leases traces; until then it puts none in."""
        with anyio.move_on_after(RETRY_S):
            await self._outbox.presence.wait_told()
            return True
        log.warning(
            "traces_wait", held=len(held), error="there is no session of Postgres to tell others of them"
        )
        return False

    async def _gather(self, held: list[SearchTrace], *, until: float) -> None:
        """Fill `held`, unless there is something in it that could not be stored before."""
        if not held:
            with anyio.CancelScope(deadline=until):
                held += await self._traces.receive_many(BATCH_SIZE)
                if len(held) < BATCH_SIZE:
                    await anyio.sleep(GATHER_S)
            self._fill(held)
        self._report_dropped()

    def _fill(self, held: list[SearchTrace]) -> None:
        with suppress(anyio.WouldBlock):
            while len(held) < BATCH_SIZE:
                held.append(self._traces.receive_nowait())

    def _report_dropped(self) -> None:
        dropped = self._traces.statistics().dropped
        if dropped > self._dropped:
            log.warning("traces_dropped", traces=dropped - self._dropped, dropped_in_all=dropped)
            self._dropped = dropped

    async def _put_in(self, held: list[SearchTrace]) -> None:
        """Store what is held, and hold it no more. Raises Unavailable, and holds it still, while Postgres is away."""
        payloads = [payload for trace in held if (payload := await self._payload(trace)) is not None]
        term = self._outbox.leases.term(self._outbox.lease_seconds)
        jobs = await self._enqueue(payloads) if payloads else []
        held.clear()
        if jobs:
            self._outbox.leases.begin(jobs, term)
            await self._work.do_or_give_back(jobs)

    async def _payload(self, trace: SearchTrace) -> Payload | None:
        await checkpoint()  # a batch must not keep searches waiting
        try:
            return Payload.of(await in_slices(redacting_trace(trace)) if self._redact else trace)
        except (TypeError, ValueError) as error:
            log.warning("trace_not_stored", trace_id=str(trace.trace_id), error=type(error).__name__)
            return None

    async def _enqueue(self, payloads: Sequence[Payload]) -> list[Job]:
        try:
            return await self._store.enqueue(payloads)
        except Unavailable:
            raise
        except ServiceError as error:  # one bad trace fails the statement for all
            if len(payloads) > 1:
                return [job for payload in payloads for job in await self._enqueue([payload])]
            log.warning("trace_not_stored", trace_id=str(payloads[0].trace_id), error=error.message)
            return []

    async def _write_what_is_due(self) -> None:
        leased = BATCH_SIZE
        while leased == BATCH_SIZE:
            jobs = await self._outbox.lease(BATCH_SIZE)
            leased = len(jobs)
            if jobs:
                await self._work.do_or_give_back(jobs)

    async def _flush(self, held: list[SearchTrace]) -> None:
        with anyio.move_on_after(FLUSH_TIMEOUT_S, shield=True):
            try:
                self._fill(held)
                while held:
                    await self._put_in(held)
                    self._fill(held)
            except Unavailable as error:
                log.info("traces_not_flushed", error=error.message)
        if held:
            log.warning("traces_lost", traces=len(held), waiting=self._traces.statistics().fill)
