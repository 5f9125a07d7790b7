"""Puts the notes family to work in a process: what it does there is made of the ground, and nothing of it runs yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from elf.api.operation import Handler
from elf.core.evidence import EvidenceBounds
from elf.core.scopes import ScopeRules
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries
from elf.families.notes.api.admin_operations import REBUILD_PROGRESS
from elf.families.notes.api.handlers import note_admin_handlers, note_handlers
from elf.families.notes.keeping.chunk_tokens import NOTE_CHUNK_TOKENS
from elf.families.notes.keeping.corpus import notes_corpus
from elf.families.notes.keeping.forgetting import NoteForgetting
from elf.families.notes.keeping.index_admin import IndexAdmin
from elf.families.notes.keeping.lifecycle import LifecycleRules, NoteLifecycle
from elf.families.notes.keeping.note_counts import NoteCensus
from elf.families.notes.keeping.overview import NoteOverview
from elf.families.notes.keeping.queries import INDEXING, note_queries
from elf.families.notes.keeping.retention import NoteRetention, RetentionRules
from elf.families.notes.keeping.store import NEEDED_TO_READ, NoteStore
from elf.families.notes.offers import NoteItems, NoteRecall
from elf.families.notes.reading.decision_audit import DecisionAudit
from elf.families.notes.reading.explain import SearchExplainer
from elf.families.notes.reading.finding import NoteFinding
from elf.families.notes.reading.history import NoteHistory
from elf.families.notes.reading.id_lookup import IdLookup
from elf.families.notes.reading.opening import open_finding, open_search
from elf.families.notes.reading.readers import NoteReaders
from elf.families.notes.remembering import NoteRemembering
from elf.families.notes.subjects.offer import NoteSubjects
from elf.families.notes.writing.events import EachMessage, EventService
from elf.families.notes.writing.extraction import ExtractionLimits, NoteExtractor
from elf.families.notes.writing.local_extraction import RULE_BASED_EXTRACTION
from elf.families.notes.writing.resolver import ResolverRules
from elf.families.notes.writing.service import NotePolicy, NoteService
from elf.families.notes.writing.write_rules import WriteGate
from elf.family import Opened
from elf.ground import Ground, indexed
from elf.indexing.embedding import TextEmbedder
from elf.indexing.indexed import IndexedCorpus
from elf.providers.factory import rules_as_chat
from elf.providers.local.model_cache import cache_folder, models_of
from elf.providers.port import Chat
from elf.search.token_store import TokenReader


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
            garbage=self.garbage(),
            stored_gauges=[census.gauge()],
            needed_to_read=NEEDED_TO_READ,
            recall=self.recall(),
            items=self.items(),
            subjects=self.subjects(),
            remember=self.remember(),
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
    def embedding(self) -> TextEmbedder:
        assert self.ground.texts is not None, "who serves has a model"
        return self.ground.texts

    @cached_property
    def corpus(self) -> IndexedCorpus:
        version = self.ground.config.embedding_version
        corpus = notes_corpus(self.queries, self.store, embedding_version=version)
        return indexed(self.ground, corpus, progress_path=REBUILD_PROGRESS.path)

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
        search, finding = self.ground.search, self.finding
        if search is None or finding is None:
            return {}
        return note_handlers(
            notes=self.notes,
            events=self.events,
            search=open_search(self.ground, search, finding, self.store, self.scopes),
            ids=IdLookup(database=self.ground.database, queries=self.queries, clock=self.ground.clock),
            history=self.history(),
            explainer=self.explainer(),
            scopes=self.scopes,
        )

    @cached_property
    def finding(self) -> NoteFinding | None:
        """What finds chunks of notes, where the process serves."""
        search = self.ground.search
        if search is None:
            return None
        return open_finding(self.ground, search, self.corpus.index, self.store, self.queries)

    @cached_property
    def readers(self) -> NoteReaders:
        return NoteReaders(self.scopes, self.ground.config.default_profile)

    def recall(self) -> NoteRecall | None:
        ground, tokens = self.ground, self.ground.tokens
        if ground.search is None:
            return None
        without_tokens = NoteStore(self.queries, ground.fresh)
        return NoteRecall(
            finding=open_finding(ground, ground.search, self.corpus.index, without_tokens, self.queries),
            readers=self.readers,
            tokens=None if tokens is None else TokenReader(ground.database, tokens, NOTE_CHUNK_TOKENS),
            candidate_k=ground.config.memory.candidate_k,
            clock=ground.clock,
        )

    def items(self) -> NoteItems | None:
        ground = self.ground
        if not ground.roles.serves:
            return None
        return NoteItems(
            database=ground.database,
            store=self.store,
            notes=self.notes,
            readers=self.readers,
            clock=ground.clock,
        )

    def subjects(self) -> NoteSubjects | None:
        ground = self.ground
        if not (ground.roles.serves or ground.roles.administers):
            return None
        return NoteSubjects(
            database=ground.database,
            queries=self.queries,
            store=self.store,
            writes=self.corpus.writes,
            policy=self.policy,
            clock=ground.clock,
            ring=ground.ring(INDEXING),
        )

    @cached_property
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

    @cached_property
    def notes(self) -> NoteService:
        ground = self.ground
        return NoteService(
            database=ground.database,
            store=self.store,
            embedder=self.embedding,
            policy=self.policy,
            clock=ground.clock,
            ring=ground.ring(INDEXING),
        )

    def history(self) -> NoteHistory:
        ground = self.ground
        return NoteHistory(
            database=ground.database,
            queries=self.queries,
            store=self.store,
            policy=self.policy,
            embedding_version=self.embedding.version,
            clock=ground.clock,
            ring=ground.ring(INDEXING),
        )

    def remember(self) -> NoteRemembering | None:
        if self.ground.texts is None:
            return None
        most = None if self.by_rules else self.ground.config.remember.max_extractions
        return NoteRemembering(self.events, self.readers, self.scopes, EachMessage(most=most))

    @cached_property
    def events(self) -> EventService:
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
        extractor = NoteExtractor(self.extractor, limits)
        return EventService(
            extractor=extractor,
            by_rules=self.by_rules,
            notes=self.notes,
            policy=self.policy,
            evidence=evidence,
        )

    @property
    def by_rules(self) -> bool:
        return self.ground.config.providers.llm_extractor.is_local

    @property
    def extractor(self) -> Chat:
        """The language model, or the rules, that find notes in what was said."""
        models = self.ground.models
        if models.all is not None:
            return models.all.extractor
        return models.extractor or rules_as_chat(
            self.ground.config.providers.llm_extractor, [RULE_BASED_EXTRACTION]
        )

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
            IndexAdmin(self.corpus),
            NoteForgetting(
                database=ground.database,
                queries=self.queries,
                store=self.store,
                clock=ground.clock,
                ring=ground.ring(INDEXING),
            ),
            self.overview(),
            self.scopes,
        )

    def overview(self) -> NoteOverview:
        config = self.ground.config
        folders = {
            "postgres": config.storage.postgres.place.folder,
            "index": config.storage.qdrant.place.folder,
            "model": cache_folder(config.local_model) if models_of(config) else None,
        }
        return NoteOverview(
            database=self.ground.database,
            queries=self.queries,
            outboxes=self.ground.outboxes,
            embedding_version=config.embedding_version,
            folders={name: folder for name, folder in folders.items() if folder is not None},
            clock=self.ground.clock,
        )
