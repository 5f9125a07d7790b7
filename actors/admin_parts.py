"""The part of the composition root that puts the operations of operators together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from actors.index_rebuilder import IndexRebuilder
from actors.shared_parts import SharedParts
from actors.stored_readings import StoredReadings
from elf.api.operation import Handler
from elf.db.schema import COMMON
from elf.families.notes.admin_operations import REBUILD_PROGRESS
from elf.families.notes.census import NoteCensus
from elf.families.notes.decision_audit import DecisionAudit
from elf.families.notes.forgetting import NoteForgetting
from elf.families.notes.handlers import note_admin_handlers
from elf.families.notes.index_admin import IndexAdmin
from elf.families.notes.overview import NoteOverview
from elf.families.notes.queries import INDEXING
from elf.families.schema import NOTES
from elf.indexing.admin import index_handlers
from elf.indexing.indexed import IndexedCorpus
from elf.outbox.chores import ChoreRuns
from elf.web.admin import common_admin_handlers

PROGRESS_PATHS: Final = {NOTES: REBUILD_PROGRESS.path}  # where those of notes look for it


def admin_handlers(shared: SharedParts, corpora: Mapping[str, IndexedCorpus]) -> dict[str, Handler]:
    """Return what does the operations; the actor that carries out rebuilds is added to the supervisor."""
    kept = {name: reach.kept(progress_path=PROGRESS_PATHS.get(name)) for name, reach in corpora.items()}
    shared.supervisor.add(IndexRebuilder([one.runs for one in kept.values()]), needs=["database"])
    decisions = DecisionAudit(database=shared.database, queries=shared.queries)
    forgetting = NoteForgetting(
        database=shared.database,
        queries=shared.queries,
        store=shared.store,
        clock=shared.clock,
        ring=shared.bell(INDEXING).ring,
    )
    notes = note_admin_handlers(decisions, IndexAdmin(kept[NOTES]), forgetting, _overview(shared))
    return common_admin_handlers(shared.collector) | index_handlers(kept) | notes


def _overview(shared: SharedParts) -> NoteOverview:
    config = shared.config
    folders = {
        "postgres": config.storage.postgres.place.folder,
        "index": config.storage.qdrant.place.folder,
        "model": Path(config.local_model.cache_dir),
    }
    return NoteOverview(
        database=shared.database,
        queries=shared.queries,
        outbox=shared.indexing_outbox(),
        embedding_version=config.embedding_version,
        folders={name: folder for name, folder in folders.items() if folder is not None},
        clock=shared.clock,
    )


def add_stored_readings(shared: SharedParts) -> None:
    """Add what reads the metrics that only Postgres knows."""
    readings = StoredReadings(
        database=shared.database,
        outboxes={
            (NOTES, INDEXING): shared.indexing_outbox(),
            (COMMON, "traces"): shared.trace_outbox(),
        },
        chores=ChoreRuns(shared.database),
        census=NoteCensus(database=shared.database, queries=shared.queries),
        clock=shared.clock,
    )
    shared.supervisor.add(readings)
    shared.metrics.watch_stored(readings.collect)
