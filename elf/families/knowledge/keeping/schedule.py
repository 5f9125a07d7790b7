"""When the work of the family is due, by the lines of cron in the config."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias, get_args

from elf.api.caller import Caller
from elf.families.knowledge.api import working as w
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.model import FAMILY
from elf.outbox.chores import Chore, ChoreRuns, Due
from elf.outbox.cron import cron, next_due

ChoreName: TypeAlias = Literal["consolidation", "decay_sweep", "episode_cleanup"]

CHORES: Final[tuple[ChoreName, ...]] = get_args(ChoreName)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A chore of the family, and its line of cron, which is empty where it never is due."""

    name: ChoreName
    line: str
    zone: str

    @classmethod
    def of(cls, kit: Kit, name: ChoreName) -> Scheduled:
        schedule = kit.config.schedule
        return cls(name, getattr(schedule, name), schedule.timezone)

    def chores(
        self, run: Callable[[Due], Awaitable[None]], subjects: Callable[[], Awaitable[Sequence[str]]]
    ) -> list[Chore]:
        """Return the chore, which does `run` for each of its subjects whenever it is due; nothing where it never is."""
        if not self.line:
            return []
        when = cron(self.line, self.zone)
        return [Chore(family=FAMILY, name=self.name, when=when, run=run, subjects=subjects)]

    def next_due(self, now: datetime) -> datetime | None:
        """Return when it is due next, if ever."""
        return next_due(self.line, self.zone, now) if self.line else None


class Schedules:
    """Tells when each chore of the family was done last, and when it is due."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def tell(self, _: w.NoArguments, __: Caller) -> w.Schedules:
        runs = await ChoreRuns(self._kit.database).states()
        last_done = {state.chore: state.last_done for state in runs if state.family == FAMILY}
        now = self._kit.now()
        return w.Schedules(
            items=[
                w.Schedule(
                    chore=chore.name,
                    cron=chore.line,
                    timezone=chore.zone,
                    last_done=last_done.get(chore.name),
                    next_due=chore.next_due(now),
                )
                for chore in (Scheduled.of(self._kit, name) for name in CHORES)
            ]
        )
