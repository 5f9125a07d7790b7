"""Rebuilds as they are asked for and watched: one at a time, whoever asks may go away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import anyio
import structlog
from anyio.abc import TaskStatus

from elf.core.clock import Clock
from elf.core.errors import InternalError, InvalidRequest, ServiceError, Unavailable
from elf.indexing.admin_operations import RebuildState
from elf.indexing.rebuild import RebuildReport, Tally

log = structlog.get_logger()


@dataclass(slots=True)
class RebuildRun:
    """One rebuild. It runs until `ended` is set, and then has a report or a failure."""

    started_at: datetime
    tally: Tally = field(default_factory=Tally)
    finished_at: datetime | None = None
    report: RebuildReport | None = None
    failure: ServiceError | None = None
    ended: anyio.Event = field(default_factory=anyio.Event)

    @property
    def state(self) -> RebuildState:
        if self.finished_at is None:
            return "running"
        return "done" if self.failure is None else "failed"

    def progress(self) -> dict[str, Any]:
        """Return what an answer about it says, by the names of its fields."""
        return {
            "state": self.state,
            "done": self.tally.done,
            "total": max(self.tally.total, self.tally.done),  # subjects may be written meanwhile
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "report": None if self.report is None else asdict(self.report),
            "last_error": None if self.failure is None else self.failure.message,
        }


class RebuildRuns:
    """Hands rebuilds from those who ask to the one task that serves them.

    `progress_path` is where operators see how far one is. `latest` is the run of this process that runs, or ended last;
    None before the first one.
    """

    def __init__(
        self, rebuild: Callable[[Tally], Awaitable[RebuildReport]], *, progress_path: str, clock: Clock
    ) -> None:
        self._rebuild = rebuild
        self._progress_path = progress_path
        self._clock = clock
        self._is_served = False
        self._asked = anyio.Event()
        self.latest: RebuildRun | None = None

    async def ask(self) -> RebuildReport:
        """Have a rebuild begin and wait for its end; it goes on when the caller stops waiting.

        Raises InvalidRequest when one runs, Unavailable when none can begin or this one was cut off, and what the
        rebuild raises.
        """
        if self.latest is not None and self.latest.finished_at is None:
            raise InvalidRequest(
                f"the index is being rebuilt already; GET {self._progress_path} says how far it is"
            )
        if not self._is_served:
            raise Unavailable("the index cannot be rebuilt while Postgres is away")
        run = self.latest = RebuildRun(self._clock.now())
        self._asked.set()
        await run.ended.wait()
        if run.report is None:
            raise run.failure or InternalError("the rebuild ended without a report")
        return run.report

    def progress(self) -> dict[str, Any]:
        """Return what an answer about the latest run says, by the names of its fields."""
        return {"state": "idle"} if self.latest is None else self.latest.progress()

    async def serve(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Carry out what is asked for until cancelled; a fault of the code itself is raised."""
        self._is_served = True
        task_status.started()
        try:
            while True:
                await self._asked.wait()
                self._asked = anyio.Event()
                if self.latest is not None and self.latest.finished_at is None:
                    await self._carry_out(self.latest)
        finally:
            self._is_served = False

    async def _carry_out(self, run: RebuildRun) -> None:
        try:
            run.report = await self._rebuild(run.tally)
        except ServiceError as error:
            run.failure = error
            log.warning(
                "index_rebuild_failed", error=error.message, done=run.tally.done, total=run.tally.total
            )
        except Exception:
            run.failure = InternalError("the rebuild failed; the log has the details")
            raise
        except BaseException:
            run.failure = Unavailable("the rebuild was cut off: the service stops, or lost Postgres")
            raise
        finally:
            run.finished_at = self._clock.now()
            run.ended.set()
