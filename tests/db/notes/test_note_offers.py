"""What notes offer to whoever stands above all families: candidates for an answer, and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from elf.api.caller import ANONYMOUS, Caller
from elf.core.errors import (
    IndexUnavailable,
    InvalidRequest,
    NonEnglishInput,
    NotFound,
    ScopeDenied,
    Unavailable,
)
from elf.families.notes.keeping.chunk_tokens import NOTE_CHUNK_TOKENS
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.offers import NoteItems, NoteRecall
from elf.families.notes.reading.exact_search import ExactSearch
from elf.families.notes.reading.finding import NoteFinding
from elf.families.notes.reading.readers import NoteReaders
from elf.index.port import IndexQuery, QueryResult
from elf.offers import Item, Question, Subject
from elf.search.expand import ExpansionRules, QueryExpander
from elf.search.fuse import FusionRules
from elf.search.retrieve import CandidateRetrieval, RetrievalRules
from elf.search.token_store import TokenReader
from tests.db.notes.conftest import House
from tests.db.notes.test_chunk_tokens import Kitchen
from tests.notes_kit import CONTEXT, NOW, scope_rules, vector_of
from tests.search_kit import FakeChat

pytestmark = pytest.mark.anyio

ANNA = Subject(tenant_id=CONTEXT.tenant_id, project_id=CONTEXT.project_id, agent_id=CONTEXT.agent_id)
EVIDENCE = {
    "evidence": [{"message_index": 0, "quote": "tea", "msg_id": "m1", "ts": "2026-02-01T10:00:00Z"}],
    "thread": "t1",
}


def finding_of(house: House) -> NoteFinding:
    expansion = ExpansionRules(
        mode="always", max_queries=4, include_original=True, min_candidates=9, min_top_score=1.0
    )
    material = {"provider_id": "p", "model": "m", "temperature": 0.0, "expansion_version": "1"}
    expander = QueryExpander(
        chat=FakeChat({"queries": ["coffee"]}), rules=expansion, material=material, cache=None, ttl_days=1
    )
    rules = RetrievalRules(expansion="always", fusion=FusionRules("rrf", 60, 1.0, 1.0), prefilter=0)
    exactly = ExactSearch(
        database=house.database, queries=house.queries, embedding_version=house.model.version
    )
    return NoteFinding(
        database=house.database,
        reads=house.database,
        store=NoteStore(house.queries, house.fresh),
        retrieval=CandidateRetrieval(index=house.index, embedder=house.model, expander=expander, rules=rules),
        exactly=exactly.query,
        fresh=house.fresh,
    )


def recall_of(house: House, *, profile: str = "all_scopes", candidate_k: int = 60) -> NoteRecall:
    return NoteRecall(
        finding=finding_of(house),
        readers=NoteReaders(scope_rules(), profile),
        tokens=None if house.tokens is None else TokenReader(house.database, house.tokens, NOTE_CHUNK_TOKENS),
        candidate_k=candidate_k,
        clock=house.clock,
    )


@pytest.fixture
def late_house(house: House) -> House:
    """A house whose notes have token vectors."""
    return Kitchen(house).house


@pytest.fixture
def items(house: House) -> NoteItems:
    return NoteItems(
        database=house.database,
        store=house.store,
        notes=house.service,
        readers=NoteReaders(scope_rules(), "all_scopes"),
        clock=house.clock,
    )


def asked(text: str = "tea", subject: Subject = ANNA, **other: Any) -> Question:
    return Question(**{"text": text, "vector": vector_of(text), "subject": subject, "limit": 5, **other})


async def found(
    house: House, question: Question | None = None, caller: Caller = ANONYMOUS, **options: Any
) -> Sequence[Item]:
    return await recall_of(house, **options)(question or asked(), caller)


async def texts(house: House, *args: Any, **options: Any) -> set[str]:
    return {item.text for item in await found(house, *args, **options)}


async def fill(house: House, *notes: str | Mapping[str, Any], **where: Any) -> list[str]:
    """Store notes, each under a key of its own, and index them; returns their ids."""
    given = [{"text": note} if isinstance(note, str) else dict(note) for note in notes]
    results = await house.add(*({"key": note["text"], **note} for note in given), **where)
    await house.index_all()
    return [str(result.note_id) for result in results]


async def fill_scopes(house: House) -> dict[str, str]:
    """Store a note in each scope, with its name as the text; returns their ids. Nobody may write to org_shared now."""
    (private,) = await fill(house, "private", scope="agent_private")
    (org,) = await house.add({"text": "org", "key": "org"})
    await house.execute("UPDATE memory_notes SET scope = 'org_shared' WHERE note_id = $1", org.note_id)
    (project,) = await fill(house, "project")
    return {"private": private, "project": project, "org": str(org.note_id)}


# Recall


async def test_a_candidate_says_what_it_is_where_it_is_from_and_when_it_was_said(house: House) -> None:
    note_id, other = await fill(house, {"text": "tea is hot", "source_ref": EVIDENCE}, "coffee is hot")
    item, behind = await found(house, asked("tea is hot"))
    assert (item.kind, item.id, item.text, item.states) == ("note", note_id, "tea is hot", ())
    assert item.provenance == ["thread:t1", "message:m1"]
    assert item.at == NOW.replace(month=2, day=1, hour=10, minute=0, second=0, microsecond=0)
    assert (item.terms, item.score) == ({"retrieval": 1.0}, 1.0)
    assert (behind.id, behind.provenance, behind.at) == (other, [], NOW)
    assert item.score > behind.score > 0


async def test_nothing_is_embedded_reworded_traced_or_counted(house: House) -> None:
    await fill(house, "tea is hot", "coffee is hot")
    house.model.texts.clear()
    house.model.away = True
    assert await texts(house, asked("tea", vector=None)) == {"tea is hot"}, "by its words alone"
    assert await texts(house, asked("tea")) == {"tea is hot", "coffee is hot"}
    assert house.model.texts == []
    assert [[query.text for query in queries] for queries in house.index.queries] == [["tea"], ["tea"]]
    for table in ("memory_hits", "search_traces", "search_trace_outbox"):
        assert await house.value(f"SELECT count(*) FROM {table}") == 0
    assert await house.value("SELECT sum(hit_count) FROM memory_notes") == 0


LONG = "Fact: one two three four five. Then tea seven eight nine ten. And so on for ever."


async def test_a_note_is_offered_once_by_its_best_chunk_in_the_order_of_the_fused_score(house: House) -> None:
    long, short = await fill(house, LONG, "tea")
    items = await found(house, asked("tea"))
    assert [item.id for item in items] == [short, long]
    assert "tea" in items[1].text
    assert items[1].text != LONG
    assert [item.id for item in await found(house, asked("tea", limit=1))] == [short]
    scores = [item.score for item in items]
    assert scores == sorted(scores, reverse=True)


async def test_token_vectors_are_kept_where_it_says_of_exactly_the_text(late_house: House) -> None:
    await fill(late_house, "tea is hot", LONG)
    items = await found(late_house, asked("tea"))
    assert len(items) == 2
    for item in items:
        assert item.tokens is not None
        ((chunk_id, vectors),) = (await item.tokens.reader.read({item.tokens.chunk_id: item.text})).items()
        assert (chunk_id, len(vectors)) == (item.tokens.chunk_id, len(item.text.split()))
        assert await item.tokens.reader.read({item.tokens.chunk_id: "another text"}) == {}


async def test_what_changed_since_it_was_indexed_is_not_offered_as_it_was(house: House) -> None:
    deleted, changed, expired, live = await fill(
        house, "deleted tea", "changed tea", {"text": "expired tea", "ttl_days": 1}, "live tea"
    )
    await house.service.delete_one(UUID(deleted), CONTEXT, None)
    await house.update(UUID(changed), text="quite another thing")
    house.clock.turn(days=1)
    assert {str(one) for one in house.index.owners()} == {deleted, changed, expired, live}
    assert [item.id for item in await found(house)] == [live]


async def test_the_truth_stands_in_for_an_index_that_is_away(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(house, "tea is hot")

    async def away(queries: Sequence[IndexQuery]) -> list[QueryResult]:
        raise IndexUnavailable("away")

    monkeypatch.setattr(house.index, "query", away)
    assert await texts(house) == {"tea is hot"}
    recall = recall_of(house)
    await house.database.close()
    with pytest.raises(Unavailable):
        await recall(asked(), ANONYMOUS)


# Who sees what

WHO = [
    (replace(ANNA), {}, {"private", "project", "org"}),
    (replace(ANNA, agent_id="bob"), {}, {"project", "org"}),
    (replace(ANNA, agent_id=None), {}, {"project", "org"}),
    (replace(ANNA, agent_id=None), {"agent_id": "anna"}, {"private", "project", "org"}),
    (ANNA, {"agent_id": "bob"}, set()),
    (ANNA, {"read_profile": "private_only"}, {"private"}),
    (ANNA, {"read_profile": "nothing"}, set()),
    (ANNA, {"project_id": "alpha"}, {"private", "project", "org"}),
    (ANNA, {"project_id": "beta"}, set()),
    (ANNA, {"tenant_id": "rival"}, set()),
    (replace(ANNA, project_id=None), {}, set()),
    (replace(ANNA, project_id=None), {"project_id": "alpha"}, {"private", "project", "org"}),
    (replace(ANNA, project_id=None, user="alpha"), {}, {"private", "project", "org"}),
    (replace(ANNA, project_id=None, user="beta"), {"project_id": "alpha"}, set()),
    (replace(ANNA, project_id=None, user="beta"), {}, set()),
    (replace(ANNA, user="beta"), {}, {"private", "project", "org"}),
    (replace(ANNA, tenant_id="rival"), {}, set()),
]


@pytest.mark.parametrize(("subject", "bound", "seen"), WHO)
async def test_who_sees_what_as_a_candidate_and_as_an_item(
    house: House, items: NoteItems, subject: Subject, bound: dict[str, str], seen: set[str]
) -> None:
    ids = await fill_scopes(house)
    caller = Caller(bound=bound)
    assert await texts(house, asked("private project org", subject), caller) == seen
    for name, note_id in ids.items():
        if name in seen:
            assert (await items.read("note", note_id, subject, caller)).text == name
            continue
        with pytest.raises(NotFound):
            await items.read("note", note_id, subject, caller)
        with pytest.raises(NotFound):
            await items.forget("note", note_id, subject, caller)
    assert await house.value("SELECT count(*) FROM memory_notes WHERE status = 'active'") == 3


async def test_scopes_are_those_of_the_usual_profile(house: House) -> None:
    await fill(house, "private tea", scope="agent_private")
    await fill(house, "shared tea")
    assert await texts(house, profile="private_only") == {"private tea"}
    assert await texts(house, profile="nothing") == set()


async def test_who_may_name_no_project_has_the_one_of_the_own_name(house: House) -> None:
    await fill(house, "tea", project_id="ana")
    ana = Caller(user="ana", denied={"project_id": "no project is yours"})
    own = Subject(tenant_id=CONTEXT.tenant_id, user="ana")
    assert await texts(house, asked(subject=own), ana) == {"tea"}
    assert await texts(house, asked(subject=replace(own, project_id="ana")), ana) == set()
    assert await texts(house, asked(subject=own), replace(ana, user="bob")) == set()


# What is asked


@pytest.mark.parametrize(
    ("question", "seen"),
    [
        ({"kinds": frozenset({"note", "fact"})}, {"early tea", "late tea", "said tea"}),
        ({"kinds": frozenset({"fact"})}, set()),
        ({"kinds": frozenset()}, {"early tea", "late tea", "said tea"}),
        ({"since": NOW}, {"early tea", "late tea"}),
        ({"since": NOW + timedelta(hours=1)}, {"late tea"}),
        ({"until": NOW}, {"said tea"}),
        ({"until": NOW + timedelta(hours=1)}, {"early tea", "said tea"}),
        ({"since": NOW, "until": NOW + timedelta(hours=1)}, {"early tea"}),
        ({"text": " \x00 "}, set()),
        ({"text": "\x00tea"}, {"early tea", "late tea", "said tea"}),
        ({"text": "tea " * 9000}, {"early tea", "late tea", "said tea"}),
    ],
)
async def test_kinds_times_and_odd_texts(house: House, question: dict[str, Any], seen: set[str]) -> None:
    await fill(house, "early tea")
    house.clock.turn(hours=1)
    await fill(house, "late tea", {"text": "said tea", "source_ref": EVIDENCE})
    assert await texts(house, asked(**{"vector": None, **question})) == seen


async def test_a_question_in_another_script_is_not_taken(house: House) -> None:
    with pytest.raises(NonEnglishInput, match="CJK") as refused:
        await found(house, asked("\u8336"))
    assert refused.value.fields == ("$.query",)


async def test_as_many_are_looked_at_as_are_wanted(house: House) -> None:
    await fill(house, *(f"tea {number}" for number in range(5)))
    assert len(await found(house, asked("tea", limit=2), candidate_k=1)) == 2
    assert [query.limit for query in house.index.queries[-1]] == [2]


async def test_a_large_reference_names_what_it_does(house: House) -> None:
    large = {**EVIDENCE, "rest": [str(number) for number in range(5000)]}
    await fill(house, {"text": "tea is hot", "source_ref": large})
    (item,) = await found(house)
    assert item.provenance == ["thread:t1", "message:m1"]


# Items


async def test_a_note_is_read_whole_and_forgotten_as_it_is_deleted(house: House, items: NoteItems) -> None:
    (note_id,) = await fill(house, {"text": LONG, "source_ref": EVIDENCE})
    item = await items.read("note", note_id, ANNA, ANONYMOUS)
    assert (item.kind, item.id, item.text) == ("note", note_id, LONG)
    assert item.provenance == ["thread:t1", "message:m1"]
    assert item.at is not None
    assert item.at < NOW
    await items.forget("note", note_id, ANNA, ANONYMOUS)
    *_, version = await house.versions(UUID(note_id))
    assert (version["op"], version["actor"]) == ("DELETE", "delete")
    assert (await house.jobs())[-1] == (UUID(note_id), "DELETE", "PENDING")
    assert await found(house, asked("tea")) == []
    with pytest.raises(NotFound):
        await items.read("note", note_id, ANNA, ANONYMOUS)
    await items.forget("note", note_id, ANNA, ANONYMOUS)
    assert len(await house.versions(UUID(note_id))) == 2, "it is forgotten once"


async def test_an_expired_note_is_no_item(house: House, items: NoteItems) -> None:
    (note_id,) = await fill(house, {"text": "tea", "ttl_days": 1})
    house.clock.turn(days=1)
    with pytest.raises(NotFound):
        await items.read("note", note_id, ANNA, ANONYMOUS)


async def test_what_may_not_be_written_is_not_forgotten(house: House, items: NoteItems) -> None:
    ids = await fill_scopes(house)
    with pytest.raises(ScopeDenied):
        await items.forget("note", ids["org"], ANNA, ANONYMOUS)


@pytest.mark.parametrize("item_id", ["x", "", "64b695e2-55f1-447e-b2ef-6934e4920f9c"])
async def test_what_is_no_note_is_not_found(house: House, items: NoteItems, item_id: str) -> None:
    for act in (items.read, items.forget):
        with pytest.raises(NotFound):
            await act("note", item_id, ANNA, ANONYMOUS)
        with pytest.raises(InvalidRequest, match="should be note"):
            await act("memory", item_id, ANNA, ANONYMOUS)
