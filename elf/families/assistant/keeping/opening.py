"""Puts what keeps memories in order to work in a process."""

from __future__ import annotations

from datetime import timedelta

from elf.db.garbage import GarbageStep
from elf.families.assistant.keeping.census import AssistantCensus
from elf.families.assistant.keeping.lifecycle import Lifecycle
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import FAMILY
from elf.family import Opened
from elf.ground import Ground
from elf.outbox.chores import Chore, every


def open_keeping(ground: Ground, kit: Kit) -> Opened:
    """Return what counts memories, and, where the process works, what ages and removes them."""
    counting = AssistantCensus(kit).gauges()
    if not ground.roles.works:
        return Opened(stored_gauges=counting)
    lifecycle = Lifecycle(kit, batch=ground.config.gc.batch_size)
    return Opened(
        stored_gauges=counting,
        garbage=[
            GarbageStep(FAMILY, "aged_assistant_memories", lifecycle.age),
            GarbageStep(FAMILY, "deleted_assistant_memories", lifecycle.purge),
            GarbageStep(FAMILY, "assistant_events", lifecycle.drop_events),
        ],
        chores=[
            Chore(family=FAMILY, name="memory_lifecycle", when=every(timedelta(hours=1)), run=lifecycle.run),
        ],
    )
