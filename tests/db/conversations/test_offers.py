"""What the family offers to whoever stands above all families: candidates, and items."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from elf.api.caller import Caller
from elf.core.errors import Forbidden, InvalidRequest, NotFound
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.errors import RuleBroken
from elf.families.conversations.finding.search import ConversationSearch
from elf.families.conversations.model import NewEntry
from elf.families.conversations.offers import ConversationItems, ConversationRecall
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.trees import Who
from elf.offers import Question, Subject

pytestmark = pytest.mark.anyio


@pytest.fixture
def tenant() -> str:
    return f"offers-{uuid4()}"


@pytest.fixture
def items(store: ConversationStore, database: Database, queries: Queries) -> ConversationItems:
    return ConversationItems(store, database, queries)


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
    store: ConversationStore, items: ConversationItems, tenant: str
) -> None:
    id, entry = await said(store, tenant, "The  ferry leaves.")
    mine = Subject(tenant_id=tenant, user="ana")
    read = await items.read("entry", str(entry), mine, caller(tenant))
    assert (read.text, read.provenance) == ("The ferry leaves.", [f"conversation:{id}"])
    assert (await items.read("conversation", str(id), mine, caller(tenant))).text == "Trip"
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


async def test_a_conversation_is_forgotten_by_its_owner_and_an_entry_not_alone(
    store: ConversationStore, items: ConversationItems, sharing: TreeSharing, tenant: str
) -> None:
    id, entry = await said(store, tenant, "The ferry leaves.")
    anyone = Subject(tenant_id=tenant)
    await sharing.share(Who(tenant_id=tenant, user="ana"), id, "bob", "manager")
    with pytest.raises(Forbidden):
        await items.forget("conversation", str(id), anyone, caller(tenant, "bob"))
    with pytest.raises(RuleBroken, match="an entry is not forgotten alone"):
        await items.forget("entry", str(entry), anyone, caller(tenant))
    await items.forget("conversation", str(id), anyone, caller(tenant))
    for kind, item in (("conversation", id), ("entry", entry)):
        with pytest.raises(NotFound):
            await items.read(kind, str(item), anyone, caller(tenant))


async def test_entries_are_recalled_with_their_score_for_who_may_see_them(
    store: ConversationStore, search: ConversationSearch, tenant: str
) -> None:
    recall = ConversationRecall(search)
    id, entry = await said(store, tenant, "The ferry leaves.")
    await said(store, tenant, "The tram is late.")

    def asked(text: str, *, limit: int = 5, subject: Subject | None = None) -> Question:
        whose = subject or Subject(tenant_id=tenant, user="ana")
        return Question(text=text, vector=None, subject=whose, limit=limit)

    (found,) = await recall(asked("ferry"), caller(tenant))
    assert (found.kind, found.id, found.text) == ("entry", str(entry), "The **ferry** leaves.")
    assert found.provenance == [f"conversation:{id}"]
    assert found.score == found.terms["relevance"] > 0
    assert len(await recall(asked("the", limit=1), caller(tenant))) == 1
    for text, who, subject in (
        (" ", caller(tenant), None),
        ("ferry", caller(tenant, "bob"), Subject(tenant_id=tenant)),
        ("ferry", caller(tenant), Subject(tenant_id=tenant, user="bob")),
        ("ferry", caller("another tenant"), Subject(tenant_id=tenant)),
        ("ferry", Caller(bound={"tenant_id": tenant}), None),
    ):
        assert list(await recall(asked(text, subject=subject), who)) == []
