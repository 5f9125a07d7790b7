"""Puts the notes family to work in a process: what it does there is made of the ground, and nothing of it runs yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from elf.api.operation import Handler
from elf.core.evidence import EvidenceBounds
from elf.core.scopes import ScopeRules
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries
from elf.families.notes.census import NoteCensus
from elf.families.notes.corpus import notes_corpus
from elf.families.notes.decision_audit import DecisionAudit
from elf.families.notes.embedding import TextEmbedder
from elf.families.notes.events import EventService
from elf.families.notes.explain import SearchExplainer
from elf.families.notes.extraction import ExtractionLimits, NoteExtractor
from elf.families.notes.fleet import Fleet, FleetRegister, Member
from elf.families.notes.fleet_gauges import fleet_gauges
from elf.families.notes.fleet_watch import FleetWatch
from elf.families.notes.forgetting import NoteForgetting
from elf.families.notes.gate import WriteGate
from elf.families.notes.handlers import note_admin_handlers, note_handlers
from elf.families.notes.history import NoteHistory
from elf.families.notes.id_lookup import IdLookup
from elf.families.notes.index_admin import IndexAdmin
from elf.families.notes.indexing import LEASE_BYTES, NoteIndexing
from elf.families.notes.lifecycle import LifecycleRules, NoteLifecycle
from elf.families.notes.model import FAMILY
from elf.families.notes.note_renewer import NoteRenewer
from elf.families.notes.overview import NoteOverview
from elf.families.notes.queries import INDEXING, INDEXING_OUTBOX, note_queries
from elf.families.notes.renewal import NoteRenewal
from elf.families.notes.resolver import ResolverRules
from elf.families.notes.retention import NoteRetention, RetentionRules
from elf.families.notes.search_opening import open_search
from elf.families.notes.service import NotePolicy, NoteService
from elf.families.notes.space import NOTES
from elf.families.notes.store import NEEDED_TO_READ, NoteStore
from elf.family import Opened, Owner
from elf.ground import Ground
from elf.indexing.indexed import IndexedCorpus, indexed
from elf.outbox.leased import LeasedOutbox
from elf.outbox.queue import Queue
from elf.providers.tokens import HfTokens

PROGRESS_PATH = "/v1/admin/rebuild_qdrant"


def open_notes(ground: Ground) -> Opened:
    """Return the notes family at work. Raises StartupError when its statements or its tokenizer cannot be read."""
    return _Opening(ground).opened()


@dataclass(frozen=True)
class _Opening:
    """Makes the parts of the family, each once and only where the process needs it."""

    ground: Ground

    def opened(self) -> Opened:
        ground = self.ground
        census = NoteCensus(database=ground.database, queries=self.queries)
        return Opened(
            handlers={**self.public_handlers(), **self.admin_handlers()},
            corpora=[self.corpus],
            outboxes={INDEXING: self.outbox()},
            queues=[self.queue()] if ground.roles.works else [],
            garbage=self.garbage(),
            owners=self.owners(),
            gauges=fleet_gauges(self.fleet, self.member),
            stored_gauges=[census.gauge()],
            warnings=self.fleet.warnings,
            needed_to_read=NEEDED_TO_READ,
        )

    @cached_property
    def queries(self) -> Queries:
        return note_queries()

    @cached_property
    def store(self) -> NoteStore:
        return NoteStore(self.queries, self.ground.fresh, self.ground.tokens)

    @cached_property
    def scopes(self) -> ScopeRules:
        scopes = self.ground.config.scopes
        return ScopeRules(
            allowed=scopes.allowed,
            read_profiles=scopes.read_profiles,
            precedence=scopes.precedence,
            write_allowed=scopes.write_allowed,
        )

    @cached_property
    def texts(self) -> TextEmbedder | None:
        """What cuts notes into chunks as the config says, and embeds them; None in a process without a model."""
        models, config = self.ground.models, self.ground.config
        if models.embedder is None:
            return None
        chunking = config.chunking
        kept = Path(config.local_model.cache_dir) / "tokenizers"
        tokens = HfTokens.open(chunking.tokenizer_repo, config.providers.embedding, kept=kept)
        return TextEmbedder(
            models.embedder,
            tokens,
            chunking.max_tokens,
            chunking.overlap_tokens,
            tokenizer=tokens.name,
            late=models.late,
        )

    @cached_property
    def embedding(self) -> TextEmbedder:
        assert self.texts is not None, "who serves or works has a model"
        return self.texts

    @cached_property
    def corpus(self) -> IndexedCorpus:
        config = self.ground.config
        return indexed(
            notes_corpus(self.queries, embedding_version=config.embedding_version),
            self.ground.index(NOTES),
            database=self.ground.database,
            lease_seconds=config.indexing.lease_seconds,
            clock=self.ground.clock,
            ring=self.ground.ring(INDEXING),
            progress_path=PROGRESS_PATH,
        )

    @cached_property
    def member(self) -> Member | None:
        process, works = self.ground.process, self.ground.roles.works
        return (
            None
            if self.texts is None
            else Member(process.name, self.texts.version, self.texts.chunking, works)
        )

    @cached_property
    def fleet(self) -> Fleet:
        chunking = None if self.texts is None else self.texts.chunking
        return Fleet(self.ground.config.embedding_version, chunking)

    def owners(self) -> list[Owner]:
        """Return what watches the other processes, and what has notes mended in this one."""
        ground = self.ground
        register = FleetRegister(
            database=ground.database,
            queries=self.queries,
            process_id=ground.process.id,
            own=self.member,
            fleet=self.fleet,
        )
        owners: list[Owner] = [FleetWatch(self.fleet, register)]
        if ground.roles.works:
            owners.append(NoteRenewer(self.renewal(), self.fleet))
        return owners

    def renewal(self) -> NoteRenewal:
        ground = self.ground
        return NoteRenewal(
            database=ground.database,
            queries=self.queries,
            texts=self.embedding,
            fleet=self.fleet,
            clock=ground.clock,
            ring=ground.ring(INDEXING),
        )

    def outbox(self) -> LeasedOutbox:
        terms = () if self.texts is None else (self.texts.version, LEASE_BYTES)
        lease_seconds = self.ground.config.indexing.lease_seconds
        return LeasedOutbox(
            self.ground.database,
            self.queries,
            table=INDEXING_OUTBOX,
            lease_seconds=lease_seconds,
            terms=terms,
        )

    def queue(self) -> Queue:
        """Return the work by which notes get into the index."""
        ground, indexing = self.ground, self.ground.config.indexing
        handler = NoteIndexing(
            database=ground.database,
            queries=self.queries,
            store=self.store,
            embedder=self.embedding,
            index=self.corpus.index,
            fleet=self.fleet,
            fresh=ground.fresh,
            clock=ground.clock,
        )
        return Queue(
            family=FAMILY,
            name=INDEXING,
            outbox=self.outbox(),
            handle=handler.handle,
            corpus=NOTES.name,
            concurrency=indexing.indexers,
            batch_size=indexing.batch_size,
            poll_interval_s=indexing.poll_interval_ms / 1000,
        )

    def garbage(self) -> list[GarbageStep]:
        ground, lifecycle = self.ground, self.ground.config.lifecycle
        rules = LifecycleRules(
            purge_deleted_after_days=lifecycle.purge_deleted_after_days,
            purge_deprecated_after_days=lifecycle.purge_deprecated_after_days,
        )
        notes = NoteLifecycle(
            database=ground.database,
            queries=self.queries,
            store=self.store,
            rules=rules,
            ring=ground.ring(INDEXING),
        )
        if lifecycle.retention is None:
            return notes.steps()
        bounds = RetentionRules(**lifecycle.retention.model_dump())
        retention = NoteRetention(database=ground.database, queries=self.queries, rules=bounds)
        return [*notes.steps(), *retention.steps()]

    def public_handlers(self) -> Mapping[str, Handler]:
        """Return what does the operations that are served to everybody."""
        search = self.ground.search
        if search is None:
            return {}
        policy = self.policy()
        notes = self.service(policy)
        return note_handlers(
            notes=notes,
            events=self.events(notes, policy),
            search=open_search(self.ground, search, self.corpus.index, self.store, self.queries, self.scopes),
            ids=IdLookup(database=self.ground.database, queries=self.queries, clock=self.ground.clock),
            history=self.history(policy),
            explainer=self.explainer(),
        )

    def policy(self) -> NotePolicy:
        config = self.ground.config
        rules = ResolverRules(
            dup_sim_threshold=config.memory.dup_sim_threshold,
            update_sim_threshold=config.memory.update_sim_threshold,
            default_ttl_days=config.lifecycle.ttl_days.model_dump(),
            same_fact_only=config.memory.merging.rule == "same_fact",
            neighbours=config.memory.merging.neighbours,
        )
        return NotePolicy(
            gate=WriteGate(self.scopes, config.memory.max_note_chars),
            scopes=self.scopes,
            rules=rules,
            redact=config.security.redact_secrets_on_write,
        )

    def service(self, policy: NotePolicy) -> NoteService:
        ground = self.ground
        return NoteService(
            database=ground.database,
            store=self.store,
            embedder=self.embedding,
            policy=policy,
            clock=ground.clock,
            ring=ground.ring(INDEXING),
        )

    def history(self, policy: NotePolicy) -> NoteHistory:
        ground = self.ground
        return NoteHistory(
            database=ground.database,
            queries=self.queries,
            store=self.store,
            policy=policy,
            embedding_version=self.embedding.version,
            clock=ground.clock,
            ring=ground.ring(INDEXING),
        )

    def events(self, notes: NoteService, policy: NotePolicy) -> EventService:
        memory, security = self.ground.config.memory, self.ground.config.security
        limits = ExtractionLimits(
            max_notes=memory.max_notes_per_add_event,
            max_note_chars=memory.max_note_chars,
            scopes=self.scopes.allowed,
        )
        evidence = EvidenceBounds(
            min_quotes=security.evidence_min_quotes,
            max_quotes=security.evidence_max_quotes,
            max_quote_chars=security.evidence_max_quote_chars,
        )
        providers = self.ground.models.all
        assert providers is not None, "who serves has all models"
        extractor = NoteExtractor(providers.extractor, limits)
        return EventService(extractor=extractor, notes=notes, policy=policy, evidence=evidence)

    def explainer(self) -> SearchExplainer:
        ground = self.ground
        return SearchExplainer(
            traces=ground.traces, database=ground.database, queries=self.queries, clock=ground.clock
        )

    def admin_handlers(self) -> Mapping[str, Handler]:
        """Return what does the operations of operators."""
        ground = self.ground
        if not ground.roles.administers:
            return {}
        return note_admin_handlers(
            DecisionAudit(database=ground.database, queries=self.queries),
            IndexAdmin(self.corpus.runs, self.corpus.drift),
            NoteForgetting(
                database=ground.database,
                queries=self.queries,
                store=self.store,
                clock=ground.clock,
                ring=ground.ring(INDEXING),
            ),
            self.overview(),
        )

    def overview(self) -> NoteOverview:
        config = self.ground.config
        folders = {
            "postgres": config.storage.postgres.place.folder,
            "index": config.storage.qdrant.place.folder,
            "model": Path(config.local_model.cache_dir),
        }
        return NoteOverview(
            database=self.ground.database,
            queries=self.queries,
            outbox=self.outbox(),
            embedding_version=config.embedding_version,
            folders={name: folder for name, folder in folders.items() if folder is not None},
            clock=self.ground.clock,
        )
