"""Puts the assistant family to work in a process: each of its rooms brings what it does."""

from __future__ import annotations

from dataclasses import replace

from elf.db.garbage import GarbageStep
from elf.families.assistant.background.opening import background_jobs, open_background
from elf.families.assistant.checkpoints.opening import open_checkpoints
from elf.families.assistant.consent.opening import open_consent
from elf.families.assistant.files.opening import open_files
from elf.families.assistant.jobs import DoesJobs, JobHandling
from elf.families.assistant.keeping.opening import open_keeping
from elf.families.assistant.kit import QUEUE, Kit, kit_of
from elf.families.assistant.memories.opening import open_memories
from elf.families.assistant.memories.vectors import VectorJobs
from elf.families.assistant.model import FAMILY
from elf.families.assistant.procedures.opening import open_procedures
from elf.families.assistant.query.opening import open_query
from elf.families.assistant.store.changes import VECTOR_JOB
from elf.families.assistant.subjects.opening import open_subjects
from elf.families.assistant.turn.deferred import TURN_JOB, TurnJobs
from elf.families.assistant.turn.opening import open_turn
from elf.family import Opened, together
from elf.ground import Ground
from elf.outbox.queue import Queue


def open_assistant(ground: Ground) -> Opened:
    """Return the assistant family at work. Raises StartupError when its statements cannot be read."""
    kit = kit_of(ground)
    rooms = (
        open_memories, open_turn, open_consent, open_query, open_keeping, open_procedures, open_checkpoints,
        open_files, open_background, open_subjects,
    )  # fmt: skip
    opened = together([*(open_room(ground, kit) for open_room in rooms), _open_jobs(kit)])
    return opened if kit.shared_calls is None else replace(opened, owners=[kit.shared_calls, *opened.owners])


def _open_jobs(kit: Kit) -> Opened:
    """Return what does the work that is left in the outbox, where there is a model to do it with."""
    if kit.texts is None:
        return Opened(outboxes={QUEUE: kit.outbox})
    does: dict[str, DoesJobs] = {VECTOR_JOB: VectorJobs(kit), **background_jobs(kit)}
    if kit.chat is not None:
        does[TURN_JOB] = TurnJobs(kit, kit.chat)
    jobs = JobHandling(kit, does)
    return Opened(
        outboxes={QUEUE: kit.outbox},
        # Where some jobs wait for a language model, others go by.
        queues=[Queue(family=FAMILY, name=QUEUE, outbox=kit.outbox, handle=jobs.handle, concurrency=2)],
        garbage=[GarbageStep(FAMILY, "done_assistant_jobs", jobs.drop_done)],
    )
