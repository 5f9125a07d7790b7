"""Puts what is done behind the back of answers to work in a process."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from elf.db.garbage import GarbageStep
from elf.families.assistant.api.consolidation import CONSOLIDATE
from elf.families.assistant.background.consolidation.comparing import Comparing
from elf.families.assistant.background.consolidation.daily import DailyConsolidation
from elf.families.assistant.background.consolidation.ledger import Ledger
from elf.families.assistant.background.episodes import EpisodeJobs
from elf.families.assistant.background.insights import InsightJobs
from elf.families.assistant.background.procedures import ProcedureJobs
from elf.families.assistant.background.recent import EPISODE_JOB, INSIGHT_JOB, PROCEDURE_JOB, RecentWords
from elf.families.assistant.jobs import DoesJobs
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import FAMILY
from elf.family import Opened
from elf.ground import Ground
from elf.outbox.chores import Chore, every


def open_background(ground: Ground, kit: Kit) -> Opened:
    """Return what compares memories once a day, or now, and removes what it leaves behind."""
    if kit.texts is None:
        return Opened()
    ledger = Ledger(kit)
    daily = DailyConsolidation(kit, Comparing(kit, ledger))
    handlers = {CONSOLIDATE.name: daily.on_request} if ground.roles.administers else {}
    if not ground.roles.works:
        return Opened(handlers=handlers)
    return Opened(
        handlers=handlers,
        chores=[
            Chore(
                family=FAMILY, name="memory_consolidation", when=every(timedelta(hours=1)), run=daily.run,
                subjects=daily.subjects,
            )
        ],
        garbage=[
            GarbageStep(FAMILY, "old_assistant_pairs", ledger.drop_old),
            GarbageStep(FAMILY, "old_assistant_words", RecentWords(kit).drop),
        ],
    )  # fmt: skip


def background_jobs(kit: Kit) -> Mapping[str, DoesJobs]:
    """Return what does the jobs that turns leave."""
    recent = RecentWords(kit)
    does: dict[str, DoesJobs] = {
        INSIGHT_JOB: InsightJobs(kit, recent),
        EPISODE_JOB: EpisodeJobs(kit, recent),
    }
    return does if kit.chat is None else {**does, PROCEDURE_JOB: ProcedureJobs(kit, kit.chat, recent)}
