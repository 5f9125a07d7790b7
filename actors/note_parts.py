"""The part of the composition root that puts the operations on notes together."""

from __future__ import annotations

from dataclasses import dataclass

from actors.search_parts import SearchParts
from actors.shared_parts import SharedParts
from actors.trace_parts import Traces
from elf.api.operation import Handler
from elf.core.evidence import EvidenceBounds
from elf.families.notes.events import EventService
from elf.families.notes.extraction import ExtractionLimits, NoteExtractor
from elf.families.notes.gate import WriteGate
from elf.families.notes.handlers import note_handlers
from elf.families.notes.history import NoteHistory
from elf.families.notes.id_lookup import IdLookup
from elf.families.notes.queries import INDEXING
from elf.families.notes.resolver import ResolverRules
from elf.families.notes.search import NoteSearch
from elf.families.notes.service import NotePolicy, NoteService
from elf.indexing.embedding import TextEmbedder
from elf.indexing.indexed import IndexedCorpus
from elf.providers.factory import Providers


@dataclass(frozen=True, kw_only=True)
class NoteParts:
    """Builds what does the operations of the API from the parts that are there already."""

    shared: SharedParts
    reach: IndexedCorpus
    providers: Providers
    texts: TextEmbedder
    traces: Traces

    def handlers(self) -> dict[str, Handler]:
        """Return what does the operations; the actors that searches need are added to the supervisor."""
        policy = self._policy()
        notes = self._service(policy)
        return note_handlers(
            notes=notes,
            events=self._events(notes, policy),
            search=self._search(),
            ids=self._ids(),
            history=self._history(policy),
            explainer=self.traces.explainer,
        )

    def _policy(self) -> NotePolicy:
        config, scopes = self.shared.config, self.shared.scopes
        rules = ResolverRules(
            dup_sim_threshold=config.memory.dup_sim_threshold,
            update_sim_threshold=config.memory.update_sim_threshold,
            default_ttl_days=config.lifecycle.ttl_days.model_dump(),
            same_fact_only=config.memory.merging.rule == "same_fact",
            neighbours=config.memory.merging.neighbours,
        )
        return NotePolicy(
            gate=WriteGate(scopes, config.memory.max_note_chars),
            scopes=scopes,
            rules=rules,
            redact=config.security.redact_secrets_on_write,
        )

    def _service(self, policy: NotePolicy) -> NoteService:
        return NoteService(
            database=self.shared.database,
            store=self.shared.store,
            embedder=self.texts,
            policy=policy,
            clock=self.shared.clock,
            ring=self.shared.bell(INDEXING).ring,
        )

    def _history(self, policy: NotePolicy) -> NoteHistory:
        return NoteHistory(
            database=self.shared.database,
            queries=self.shared.queries,
            store=self.shared.store,
            policy=policy,
            embedding_version=self.texts.version,
            clock=self.shared.clock,
            ring=self.shared.bell(INDEXING).ring,
        )

    def _ids(self) -> IdLookup:
        return IdLookup(database=self.shared.database, queries=self.shared.queries, clock=self.shared.clock)

    def _events(self, notes: NoteService, policy: NotePolicy) -> EventService:
        memory, security = self.shared.config.memory, self.shared.config.security
        limits = ExtractionLimits(
            max_notes=memory.max_notes_per_add_event,
            max_note_chars=memory.max_note_chars,
            scopes=self.shared.scopes.allowed,
        )
        evidence = EvidenceBounds(
            min_quotes=security.evidence_min_quotes,
            max_quotes=security.evidence_max_quotes,
            max_quote_chars=security.evidence_max_quote_chars,
        )
        extractor = NoteExtractor(self.providers.extractor, limits)
        return EventService(extractor=extractor, notes=notes, policy=policy, evidence=evidence)

    def _search(self) -> NoteSearch:
        shared = self.shared
        parts = SearchParts(
            config=shared.config,
            database=shared.database,
            reads=shared.reads,
            store=shared.store,
            note_queries=shared.queries,
            search_queries=shared.search_queries,
            index=self.reach.index,
            providers=self.providers,
            scopes=shared.scopes,
            fresh=shared.fresh,
            clock=shared.clock,
            trace=self.traces.sink,
            metrics=shared.metrics,
            tokens=shared.tokens,
        )
        return parts.note_search(shared.supervisor)
