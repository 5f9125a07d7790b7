"""What the family offers to whoever stands above all families: candidates, and items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from elf.api.caller import Caller
from elf.core.errors import Conflict, Forbidden, IndexUnavailable, InvalidRequest, NotFound
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.entry_counts import EntryCounts
from elf.families.conversations.finding.bare import BareSearch
from elf.families.conversations.finding.by_words import WordSearch
from elf.families.conversations.finding.corpus import CHUNK_TOKENS
from elf.families.conversations.finding.passages import Passages
from elf.families.conversations.model import NewEntry
from elf.families.conversations.offers import ConversationItems, ConversationRecall
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.transcripts import ConversationTranscripts
from elf.families.conversations.trees import Who
from elf.index.port import IndexQuery, QueryResult
from elf.offers import Question, Subject
from elf.search.fuse import FusionRules
from elf.search.retrieve import CandidateRetrieval, RetrievalRules
from elf.search.token_store import TokenReader, TokenStore
from elf.search.trace_store import search_queries
from tests.notes_kit import FakeEmbedder, TurnedClock

pytestmark = pytest.mark.anyio


@pytest.fixture
def tenant() -> str:
    return f"offers-{uuid4()}"


@pytest.fixture
def items(store: ConversationStore, database: Database, queries: Queries) -> ConversationItems:
    return ConversationItems(store, database, queries)


@pytest.fixture
def transcripts(store: ConversationStore, database: Database, queries: Queries) -> ConversationTranscripts:
    return ConversationTranscripts(store, EntryCounts(), database, queries)


class Away:
    """An index that answers nobody."""

    is_away = True

    async def query(self, queries: Sequence[IndexQuery]) -> list[QueryResult]:
        raise IndexUnavailable("it is away")


@pytest.fixture
def recall(database: Database, queries: Queries) -> ConversationRecall:
    """A recall while the index is away: by words, and of what is not indexed yet."""
    tokens = TokenStore(search_queries(), version="none", max_words=100)
    nothing: Any = None
    rules = RetrievalRules(
        expansion="off", fusion=FusionRules("rrf", k=60, dense_weight=0.5, bm25_weight=0.5), prefilter=0
    )
    search = BareSearch(
        retrieval=CandidateRetrieval(index=Away(), embedder=FakeEmbedder(), expander=nothing, rules=rules),
        passages=Passages(database, queries, tokens, embedding_version="none"),
        words=WordSearch(database, queries),
        candidates=10,
    )
    return ConversationRecall(search, TokenReader(database, tokens, CHUNK_TOKENS), database, queries)


def caller(tenant: str, user: str = "ana", client: str | None = None) -> Caller:
    return Caller(user=user, client=client, bound={"tenant_id": tenant})


async def said(store: ConversationStore, tenant: str, text: str) -> tuple[UUID, UUID]:
    """Say something in a new conversation of ana's; returns the ids of both."""
    who = Who(tenant_id=tenant, user="ana")
    id = (await store.create(who, title="Trip", metadata={})).conversation_id
    content = [{"role": "USER", "text": text}]
    entry = NewEntry(channel="history", content_type="history", content=content, indexed_content=text)
    return id, (await store.append(who, id, entry)).entry_id


async def remembered(store: ConversationStore, tenant: str, id: UUID) -> UUID:
    """Have ana's bot remember something; returns the id of the entry."""
    synced = await store.sync(Who(tenant_id=tenant, user="ana", client="bot"), id, "LC4J", ["a secret"], None)
    assert synced.entry is not None
    return synced.entry.entry_id


async def test_an_item_is_read_with_what_it_rests_on(
    store: ConversationStore, items: ConversationItems, clock: TurnedClock, tenant: str
) -> None:
    id, entry = await said(store, tenant, "The  ferry leaves.")
    mine = Subject(tenant_id=tenant, user="ana")
    read = await items.read("entry", str(entry), mine, caller(tenant))
    assert (read.text, read.at) == ("The ferry leaves.", clock.now())
    assert read.provenance == [f"entry:{entry}", f"conversation:{id}"]
    whole = await items.read("conversation", str(id), mine, caller(tenant))
    assert (whole.text, whole.at, whole.provenance) == ("Trip", clock.now(), [f"conversation:{id}"])
    with pytest.raises(InvalidRequest):
        await items.read("note", str(id), mine, caller(tenant))


async def test_what_one_may_not_see_is_not_there(
    store: ConversationStore, items: ConversationItems, tenant: str
) -> None:
    id, entry = await said(store, tenant, "The ferry leaves.")
    memory = await remembered(store, tenant, id)
    anyone = Subject(tenant_id=tenant)
    attempts = [
        ("conversation", id, anyone, caller(tenant, "bob")),
        ("entry", entry, anyone, caller(tenant, "bob")),
        ("entry", memory, anyone, caller(tenant, client="other")),
        ("entry", memory, anyone, caller(tenant)),
        ("entry", entry, anyone, caller("another tenant")),
        ("entry", entry, Subject(tenant_id="another tenant"), caller("another tenant")),
        ("entry", entry, Subject(tenant_id=tenant, user="bob"), caller(tenant)),
        ("entry", "no id", anyone, caller(tenant)),
    ]
    for kind, item, subject, who in attempts:
        with pytest.raises(NotFound):
            await items.read(kind, str(item), subject, who)
        with pytest.raises(NotFound):
            await items.forget(kind, str(item), subject, who)
    assert (await items.read("entry", str(memory), anyone, caller(tenant, client="bot"))).kind == "entry"


async def test_it_is_told_which_of_many_conversations_a_user_may_read(
    store: ConversationStore, items: ConversationItems, transcripts: ConversationTranscripts, sharing: TreeSharing,
    tenant: str,
) -> None:  # fmt: skip
    (kept, _), (gone, _), (shared, _) = [await said(store, tenant, "The ferry leaves.") for _ in range(3)]
    mine, bobs = Subject(tenant_id=tenant, user="ana"), Subject(tenant_id=tenant, user="bob")
    await sharing.share(Who(tenant_id=tenant, user="ana"), shared, "bob", "reader")
    await items.forget("conversation", str(gone), mine, caller(tenant))
    named = [str(kept).upper(), str(gone), str(shared), str(uuid4()), "no id"]
    assert set(await transcripts.readable(named, mine, caller(tenant))) == {str(kept).upper(), str(shared)}
    assert await transcripts.readable(named, bobs, caller(tenant, "bob")) == [str(shared)]
    for subject, who in (
        (mine, caller(tenant, "bob")),
        (mine, Caller(bound={"tenant_id": tenant})),
        (replace(mine, tenant_id="another"), caller(tenant)),
        (replace(mine, tenant_id="another"), caller("another")),
    ):
        assert await transcripts.readable(named, subject, who) == []
    assert await transcripts.readable(["no id"], mine, caller(tenant)) == []


async def test_a_conversation_is_forgotten_by_its_owner_and_an_entry_not_alone(
    store: ConversationStore, items: ConversationItems, sharing: TreeSharing, tenant: str
) -> None:
    id, entry = await said(store, tenant, "The ferry leaves.")
    anyone = Subject(tenant_id=tenant)
    await sharing.share(Who(tenant_id=tenant, user="ana"), id, "bob", "manager")
    with pytest.raises(Forbidden):
        await items.forget("conversation", str(id), anyone, caller(tenant, "bob"))
    with pytest.raises(Conflict, match="an entry is not forgotten alone"):
        await items.forget("entry", str(entry), anyone, caller(tenant))
    await items.forget("conversation", str(id), anyone, caller(tenant))
    for kind, item in (("conversation", id), ("entry", entry)):
        with pytest.raises(NotFound):
            await items.read(kind, str(item), anyone, caller(tenant))


async def test_entries_are_recalled_for_who_may_see_them(
    store: ConversationStore, recall: ConversationRecall, sharing: TreeSharing, tenant: str
) -> None:
    id, entry = await said(store, tenant, "The ferry leaves.")
    await said(store, tenant, "The tram is late.")

    def asked(text: str, *, limit: int = 5, subject: Subject | None = None) -> Question:
        whose = subject or Subject(tenant_id=tenant, user="ana")
        return Question(text=text, vector=None, subject=whose, limit=limit)

    (found,) = await recall(asked("ferry"), caller(tenant))
    assert (found.kind, found.id, found.text) == ("entry", str(entry), "The ferry leaves.")
    assert found.provenance == [f"entry:{entry}", f"conversation:{id}"]
    assert found.score == found.terms["retrieval"] > 0
    by_an_agent = Subject(tenant_id=tenant, user="ana", agent_id="bot")
    assert [one.id for one in await recall(asked("ferry", subject=by_an_agent), caller(tenant))] == [found.id]
    for text, who, subject in (
        (" ", caller(tenant), None),
        ("ferry", caller(tenant, "bob"), Subject(tenant_id=tenant)),
        ("ferry", caller(tenant), Subject(tenant_id=tenant, user="bob")),
        ("ferry", caller("another tenant"), Subject(tenant_id=tenant)),
        ("ferry", caller(tenant, client="other"), by_an_agent),
        ("ferry", Caller(bound={"tenant_id": tenant}), None),
    ):
        assert list(await recall(asked(text, subject=subject), who)) == []
    await sharing.share(Who(tenant_id=tenant, user="ana"), id, "bob", "reader")
    (shared,) = await recall(asked("ferry", subject=Subject(tenant_id=tenant)), caller(tenant, "bob"))
    assert shared == found


async def test_while_the_index_is_away_words_find_what_was_in_it(
    store: ConversationStore, recall: ConversationRecall, database: Database, tenant: str
) -> None:
    _, entry = await said(store, tenant, "The ferry leaves.")
    async with database.connection() as connection:
        await connection.execute("DELETE FROM conversations_indexing_outbox WHERE subject_id = $1", entry)
    asked = Question(text="ferry", vector=None, subject=Subject(tenant_id=tenant), limit=5)
    (found,) = await recall(asked, caller(tenant))
    assert (found.id, found.text, found.tokens) == (str(entry), "The ferry leaves.", None)
    assert found.at is not None
    for bounds in ({"since": found.at + timedelta.resolution}, {"until": found.at}):
        assert await recall(replace(asked, **bounds), caller(tenant)) == []
