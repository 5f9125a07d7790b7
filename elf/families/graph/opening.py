"""Puts the graph family to work in a process."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from anyio import CapacityLimiter

from elf.config.tables.graph import GraphTable
from elf.db.queries import Queries, sql_folder
from elf.families.graph.bell import Bell
from elf.families.graph.bulletins import Bulletins
from elf.families.graph.context import Contexts
from elf.families.graph.embedding import Embedding
from elf.families.graph.erasing import Erasing
from elf.families.graph.extraction.opening import text_extractor
from elf.families.graph.homes import Homes
from elf.families.graph.ingest.actor import IngestActor
from elf.families.graph.ingest.ingestion import Ingestion, IngestRules
from elf.families.graph.ingest.service import IngestService
from elf.families.graph.losses import Losses
from elf.families.graph.memory_listing import MemoryListing
from elf.families.graph.memory_writing import MemoryWriting
from elf.families.graph.model import FAMILY
from elf.families.graph.offers import GraphItems, GraphRecall
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.overseeing import Overseeing
from elf.families.graph.ownership import ConversationOwners
from elf.families.graph.recall.query_vectors import EmbeddedQueries
from elf.families.graph.recall.recaller import Recaller
from elf.families.graph.recovering import Recovering
from elf.families.graph.remains import GraphRemains
from elf.families.graph.service import RecallService, WriteBackService
from elf.families.graph.sharing import Sharing
from elf.families.graph.status import StatusReader
from elf.families.graph.steward import Steward
from elf.families.graph.store.connections import refuse_racy_sqlite
from elf.families.graph.store.file import FileKit
from elf.families.graph.store.owner_locks import OwnerLocks
from elf.families.graph.store.schema import read_steps
from elf.families.graph.store.statements import OwnerKey, file_queries
from elf.families.graph.subjects import GraphSubjects
from elf.families.graph.tallies import Tallies
from elf.families.graph.telling import Telling, Untold, is_wanted
from elf.families.graph.transfer.service import TransferService
from elf.family import Gauge, Opened
from elf.ground import Ground
from elf.indexing.embedding import TextEmbedder
from elf.search.breaker import CircuitBreaker
from elf.search.guards import GuardedEmbedder

MEGABYTE: Final = 1024 * 1024
READERS: Final = 8
WRITERS: Final = 8
"""How many threads of a process read files, and how many write them: these mostly wait for the disk."""


def open_graph(ground: Ground) -> Opened:
    """Return the graph family at work; only where the process serves, or operators ask it, does it open files.

    Raises StartupError for a version of SQLite that may corrupt files, and when statements cannot be read.
    """
    if not (ground.roles.serves or ground.roles.administers) or ground.texts is None:
        return Opened()
    refuse_racy_sqlite()
    table, clock, bell = ground.config.of(GraphTable), ground.clock, Bell()
    tallies = Tallies()
    queries = Queries.load(sql_folder() / FAMILY)
    texts, orchestrators = _guarded(ground.texts), _orchestrators(ground, table, queries)
    extractor, rules = text_extractor(ground.models.extractor), _ingest_rules(table, texts.version)
    is_ingesting = table.enabled and table.ingest.enabled
    owners = ConversationOwners(
        next((one.transcripts for one in ground.below.values() if one.transcripts is not None), None)
    )
    ingestion = Ingestion(orchestrators, extractor, clock, rules, tallies, owners) if is_ingesting else None
    telling = Telling(ground.database, queries)
    untold: set[OwnerKey] | None = set() if table.enabled and is_wanted(ground.config.webhooks) else None
    steward = Steward(
        [
            Embedding(
                texts,
                clock,
                bell,
                tallies,
                turns=ground.turns,
                max_process_deaths=ground.config.outbox.max_process_deaths,
            ),
            owners,
            *([ingestion] if ingestion else []),
            *([] if untold is None else [telling]),
        ]
    )
    files = _files(ground, table, orchestrators, steward, tallies, untold)
    watcher = _watcher(table, orchestrators, files, ingestion)
    recaller = Recaller(EmbeddedQueries(texts), clock)
    contexts = Contexts(recaller, Bulletins(recaller, table.retrieval, clock), table.retrieval)
    losses = Losses(orchestrators, clock)
    overseeing = Overseeing(orchestrators, files, losses)
    services = (
        overseeing,
        MemoryWriting(files, clock, owners, embedding_version=texts.version, ring=bell.ring),
        MemoryListing(files),
        Erasing(ground.database, files),
        Sharing(files),
        TransferService(files, embedding_version=texts.version, ring=bell.ring),
        Recovering(orchestrators, files, losses, extractor, clock, rules, owners, ring=bell.ring),
        StatusReader(files, embedding_version=texts.version),
        RecallService(files, recaller, contexts, table.retrieval, tallies),
        WriteBackService(files, owners, embedding_version=texts.version, ring=bell.ring),
        IngestService(files, watcher),
    )
    return Opened(
        handlers={
            operation.name: handle for service in services for operation, handle in service.handlers().items()
        },
        owners=[
            files,
            *([losses] if table.enabled else []),
            *([watcher] if watcher else []),
            *([] if untold is None else [Untold(orchestrators, files, telling, untold)]),
        ],
        recall=GraphRecall(
            files,
            table.retrieval,
            clock,
            version=texts.version,
            is_local=ground.config.providers.embedding.is_local,
        ),
        items=GraphItems(files),
        gauges=[*_gauges(files, overseeing), *tallies.gauges()],
        totals=tallies.totals(),
        warnings=overseeing.warnings,
        subjects=GraphSubjects(orchestrators, files, telling, embedding_version=texts.version),
        remains=GraphRemains(orchestrators),
    )


def _orchestrators(ground: Ground, table: GraphTable, queries: Queries) -> Orchestrators:
    return Orchestrators(table, Homes(ground.database, queries, ground.clock, most=table.max_orchestrators))


def _files(
    ground: Ground,
    table: GraphTable,
    orchestrators: Orchestrators,
    steward: Steward,
    tallies: Tallies,
    untold: set[OwnerKey] | None,
) -> OpenFiles:
    folder = sql_folder() / FAMILY / "file"
    kit = FileKit(
        locks=OwnerLocks(ground.database, Queries.load(sql_folder() / FAMILY)),
        queries=file_queries(folder),
        steps=read_steps(folder),
        clock=ground.clock,
        read_threads=CapacityLimiter(READERS),
        write_threads=CapacityLimiter(WRITERS),
        tallies=tallies,
        untold=untold,
    )
    return OpenFiles(orchestrators, kit, most=table.max_open, idle_s=table.idle_seconds, steward=steward)


def _ingest_rules(table: GraphTable, embedding_version: str) -> IngestRules:
    return IngestRules(
        max_bytes=table.ingest.max_file_size_mb * MEGABYTE,
        indexed_chars=table.indexed_content_chars,
        poll_s=table.ingest.poll_interval_s,
        embedding_version=embedding_version,
    )


def _watcher(
    table: GraphTable, orchestrators: Orchestrators, files: OpenFiles, ingestion: Ingestion | None
) -> IngestActor | None:
    """Return what opens a memory when something is dropped for it."""
    if ingestion is None:
        return None
    return IngestActor(orchestrators, files, ingestion, poll_s=table.ingest.poll_interval_s)


def _guarded(texts: TextEmbedder) -> TextEmbedder:
    """Put a breaker around the model: what is found by words does not wait for a model that is away."""
    return replace(
        texts, embedder=GuardedEmbedder(texts.embedder, CircuitBreaker("embedding of the graph")), late=None
    )


def _gauges(files: OpenFiles, overseeing: Overseeing) -> list[Gauge]:
    return [
        Gauge(
            name="elf_graph_files_open", about="Memories that are open.", read=lambda: {(): files.open_count}
        ),
        Gauge(
            name="elf_graph_files_broken",
            about="Memories that cannot be used.",
            read=lambda: {(): len(overseeing.unusable())},
        ),
    ]
