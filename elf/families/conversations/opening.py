"""Puts the conversations family to work in a process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from elf.api.rpc import Servicer
from elf.config.tables.conversations import ConversationsTable
from elf.db.queries import Queries, sql_folder
from elf.families.conversations.admin_service import AdminService
from elf.families.conversations.census import ConversationCensus
from elf.families.conversations.contexts import ContextReader
from elf.families.conversations.entry_counts import EntryCounts
from elf.families.conversations.eviction import Eviction
from elf.families.conversations.finding.corpus import CHUNK_TOKENS, conversations_corpus
from elf.families.conversations.finding.opening import open_searches
from elf.families.conversations.index_texts import IndexTexts
from elf.families.conversations.model import FAMILY
from elf.families.conversations.offers import ConversationItems, ConversationRecall
from elf.families.conversations.oversight import Oversight
from elf.families.conversations.recording.opening import open_recorder
from elf.families.conversations.recording.recorder import Recorder
from elf.families.conversations.redaction import EntryRedaction
from elf.families.conversations.service import ConversationService, EntryService, ResponseService
from elf.families.conversations.sessions.service import SessionService
from elf.families.conversations.sessions.store import SessionStore
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.subjects.offer import ConversationSubjects
from elf.families.conversations.subjects.owned import OwnedConversations
from elf.families.conversations.transcripts import ConversationTranscripts
from elf.family import Opened
from elf.ground import Ground, indexed
from elf.indexing.indexed import IndexedCorpus
from elf.search.token_store import TokenReader


def open_conversations(ground: Ground) -> Opened:
    """Return the conversations family at work. Raises StartupError when its statements cannot be read."""
    queries = Queries.load(sql_folder() / FAMILY)
    version = ground.config.embedding_version
    corpus = indexed(ground, conversations_corpus(queries, embedding_version=version, tokens=ground.tokens))
    recorder, beside = open_recorder(ground, queries)
    eviction = Eviction(ground.database, queries, corpus.writes)
    counts = EntryCounts()
    served = _served(ground, queries, corpus, recorder, eviction, counts)
    age = timedelta(days=ground.config.of(ConversationsTable).evict_after_days)
    return replace(
        served,
        corpora=[corpus],
        owners=beside.owners if served.handlers else (),
        garbage=[*beside.garbage, *([eviction.garbage(age)] if age else [])],
        gauges=beside.gauges,
        totals=counts.totals() if served.handlers else (),
        stored_gauges=[ConversationCensus(ground.database, queries).gauge()],
        grpc=_servicers(ground, recorder),
    )


def _served(
    ground: Ground,
    queries: Queries,
    corpus: IndexedCorpus,
    recorder: Recorder,
    eviction: Eviction,
    counts: EntryCounts,
) -> Opened:
    """Return what answers whoever calls; nothing in a process that does not serve."""
    if ground.search is None:
        return Opened()
    database, clock = ground.database, ground.clock
    store = ConversationStore(
        database, clock, queries, embedding_version=corpus.corpus.embedding_version, ring=corpus.ring
    )
    indexed_chars = ground.config.of(ConversationsTable).bounds.indexed_content_chars
    subjects = ConversationSubjects(database, queries, corpus.writes, indexed_chars=indexed_chars)
    search, bare = open_searches(ground, ground.search, corpus.index, queries)
    services = (
        ConversationService(store, TreeSharing(database, clock, queries)),
        EntryService(store, counts, indexed_chars=indexed_chars),
        ContextReader(database, queries),
        SessionService(SessionStore(store, database, clock, queries), counts),
        IndexTexts(database, clock, queries, corpus.writes),
        search,
        ResponseService(recorder),
        AdminService(
            Oversight(database, clock, queries),
            search,
            eviction,
            subjects,
            clock,
            asks_why=ground.config.of(ConversationsTable).require_justification,
        ),
    )
    tokens = None if ground.tokens is None else TokenReader(database, ground.tokens, CHUNK_TOKENS)
    return Opened(
        handlers={
            operation.name: handle for service in services for operation, handle in service.handlers().items()
        },
        recall=ConversationRecall(bare, tokens, database, queries),
        items=ConversationItems(store, database, queries),
        subjects=subjects,
        transcripts=ConversationTranscripts(store, counts, database, queries, indexed_chars=indexed_chars),
        redaction=EntryRedaction(database, clock, queries, corpus.writes),
        own_conversations=OwnedConversations(database, queries),
    )


def _servicers(ground: Ground, recorder: Recorder) -> Sequence[Servicer]:
    if ground.config.service.grpc_bind is None or not ground.roles.serves:
        return ()
    from elf.families.conversations.grpc.servicers import servicers  # which loads protobuf

    return servicers(recorder, ground.config.of(ConversationsTable).bounds)
