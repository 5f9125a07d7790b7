"""Puts the knowledge family to work in a process: each of its rooms brings what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from elf.families.knowledge.consolidation.opening import open_consolidation
from elf.families.knowledge.entities.opening import open_entities
from elf.families.knowledge.keeping.opening import open_keeping
from elf.families.knowledge.kit import kit_of
from elf.families.knowledge.lifecycle.opening import open_lifecycle
from elf.families.knowledge.reading.opening import open_reading
from elf.families.knowledge.upkeep.opening import open_upkeep
from elf.families.knowledge.writing.opening import open_writing
from elf.family import Opened
from elf.ground import Ground


def open_knowledge(ground: Ground) -> Opened:
    """Return the knowledge family at work. Raises StartupError when its statements cannot be read."""
    kit = kit_of(ground)
    opened = _together(
        [
            open_writing(ground, kit),
            open_reading(ground, kit),
            open_lifecycle(ground, kit),
            open_entities(ground, kit),
            open_consolidation(ground, kit),
            open_keeping(ground, kit),
            open_upkeep(ground, kit),
        ]
    )
    return opened if kit.shared_calls is None else replace(opened, owners=[kit.shared_calls])


def _together(rooms: Sequence[Opened]) -> Opened:
    """Return what the rooms bring, as one."""
    return Opened(
        handlers={name: handler for room in rooms for name, handler in room.handlers.items()},
        outboxes={name: outbox for room in rooms for name, outbox in room.outboxes.items()},
        queues=list(chain.from_iterable(room.queues for room in rooms)),
        garbage=list(chain.from_iterable(room.garbage for room in rooms)),
        chores=list(chain.from_iterable(room.chores for room in rooms)),
        gauges=list(chain.from_iterable(room.gauges for room in rooms)),
        stored_gauges=list(chain.from_iterable(room.stored_gauges for room in rooms)),
        needed_to_read=list(chain.from_iterable(room.needed_to_read for room in rooms)),
        recall=next((room.recall for room in rooms if room.recall is not None), None),
        items=next((room.items for room in rooms if room.items is not None), None),
        subjects=next((room.subjects for room in rooms if room.subjects is not None), None),
    )
