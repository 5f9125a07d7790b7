"""Recall from a file: both legs, their fusion, filters, edges, and what is left out."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from elf.families.graph.model import MemoryNode, NodeType, Source
from elf.families.graph.recall.bundle import bundle_of
from elf.families.graph.recall.legs import Where
from elf.families.graph.recall.recaller import Recaller
from elf.families.graph.store.file import MemoryFile
from elf.families.graph.store.nodes import change_status
from tests.db.graph.graph_kit import MEMORY, edge, memory, put
from tests.db.graph.recall_kit import FilePlace, QueryModel, ids, put_edges, question, recalled
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[False, True], ids=["embedded before", "embedded meanwhile"])
def model(request: pytest.FixtureRequest) -> QueryModel:
    return QueryModel(is_quick=request.param)


@pytest.fixture
def recaller(model: QueryModel, clock: TurnedClock) -> Recaller:
    return Recaller(model, clock)


@pytest.fixture
def place(file: MemoryFile) -> FilePlace:
    return FilePlace(file)


def said(memory_id: str, content: str, **other: object) -> MemoryNode:
    return memory(memory_id, content=content, **other)


def from_conversation(memory_id: str, conversation_id: str) -> MemoryNode:
    source = Source(source_type="channel_transcript", captured_by="system", conversation_id=conversation_id)
    return said(memory_id, "The office is in Lisbon.", source=source)


def from_file(memory_id: str, path: Path) -> MemoryNode:
    source = Source(source_type="ingest_file", captured_by="extractor", source_path=str(path))
    return said(memory_id, "The office is in Lisbon.", source=source)


async def retract(file: MemoryFile, memory_id: str) -> None:
    await file.write(
        lambda change: change_status(
            change, memory_id, "retracted", "RETRACT", reason=None, path="$.memory_id"
        )
    )


async def supersede(file: MemoryFile, memory_id: str) -> None:
    await file.write(
        lambda change: change_status(
            change, memory_id, "superseded", "SUPERSEDE", reason=None, path="$.memory_id"
        )
    )


async def test_words_find_the_sentence_that_says_it(place: FilePlace, recaller: Recaller) -> None:
    await put(
        place.file, said("m1", "We met on Monday. The offices moved to Lisbon."), said("m2", "Cats sleep.")
    )
    found = await recalled(recaller, place, question("Where is the office?"))
    assert [(one.memory.memory_id, one.snippet) for one in found.found] == [
        ("m1", "The offices moved to Lisbon.")
    ]
    assert found.mode == "hybrid"


async def test_a_hybrid_recall_merges_both_legs_and_cites_what_it_returns(
    place: FilePlace, recaller: Recaller
) -> None:
    await put(
        place.file,
        said("words", "The office is in Lisbon."),
        said("both", "An office."),
        said("near", "Other."),
    )
    place.near = ["both", "near"]
    found = await recalled(recaller, place, question("office"))
    bundle = bundle_of(found, explain=True)
    assert ids(found) == ["both", "near", "words"]
    assert [one.memory_id for one in bundle.citations] == ["both", "near", "words"]
    assert [(one.explain and (one.explain.text_rank, one.explain.vector_rank)) for one in bundle.nodes] == [
        (1, 1),
        (None, 2),
        (2, None),
    ]
    assert [one.snippet for one in bundle.nodes] == ["An office.", None, "The office is in Lisbon."]


async def test_what_explains_a_score_multiplies_to_it(place: FilePlace, recaller: Recaller) -> None:
    await put(
        place.file, said("m1", "An office.", importance=7, confidence=0.3), said("m2", "The office of m2.")
    )
    await put_edges(place.file, edge(edge_type="Contradicts"))
    place.near = ["m2", "m1"]
    for node in bundle_of(await recalled(recaller, place, question("office")), explain=True).nodes:
        terms = node.explain
        assert terms is not None
        assert terms.text_term + terms.vector_term == terms.fused
        factors = terms.importance_factor, terms.confidence_factor, terms.recency_factor
        score = terms.fused * factors[0] * factors[1] * factors[2] * terms.contradiction_factor
        assert score == terms.final_score == node.final_score
        assert terms.contradiction_factor == 0.8


async def test_the_explanation_is_left_out_unless_it_is_asked_for(
    place: FilePlace, recaller: Recaller
) -> None:
    await put(place.file, MEMORY)
    (node,) = bundle_of(await recalled(recaller, place, question("office")), explain=False).nodes
    assert node.explain is None


async def test_without_a_model_the_words_are_enough(
    place: FilePlace, recaller: Recaller, model: QueryModel
) -> None:
    await put(place.file, MEMORY, said("near", "Other."))
    place.near, model.is_away = ["near"], True
    found = await recalled(recaller, place, question("office"))
    assert (ids(found), found.mode, found.degraded) == (["m1"], "full_text_only", ["embedding"])


async def test_a_leg_of_size_zero_is_not_asked(
    place: FilePlace, recaller: Recaller, model: QueryModel
) -> None:
    await put(place.file, MEMORY, said("near", "Other."))
    place.near = ["near"]
    words = await recalled(recaller, place, question("office", top_k_vector=0))
    assert (ids(words), words.mode, words.degraded, model.asked) == (["m1"], "full_text_only", [], [])
    vectors = await recalled(recaller, place, question("office", top_k_text=0))
    assert (ids(vectors), vectors.mode) == (["near"], "hybrid")


async def test_legs_hold_as_many_as_they_are_told_to(place: FilePlace, recaller: Recaller) -> None:
    names = [f"m{number:03}" for number in range(300)]
    await put(place.file, *(said(name, "The office.") for name in names))
    place.near = names[::-1]
    found = await recalled(recaller, place, question("office", top_n=100, top_k_text=3, top_k_vector=2))
    assert sorted(ids(found)) == ["m000", "m001", "m002", "m298", "m299"]


async def test_equal_spans_stand_in_the_order_of_their_place_and_of_ids(
    place: FilePlace, recaller: Recaller
) -> None:
    await put(
        place.file, said("a", "Other things. An office."), said("c", "An office."), said("b", "An office.")
    )
    found = await recalled(recaller, place, question("office", top_k_vector=0))
    assert ids(found) == ["b", "c", "a"]


async def test_a_query_without_words_finds_by_vector_alone(place: FilePlace, recaller: Recaller) -> None:
    await put(place.file, MEMORY)
    place.near = ["m1"]
    assert ids(await recalled(recaller, place, question("?!"))) == ["m1"]


async def test_top_n_cuts_the_answer(place: FilePlace, recaller: Recaller) -> None:
    await put(place.file, *(said(f"m{number}", "The office.") for number in range(5)))
    assert ids(await recalled(recaller, place, question("office", top_n=2))) == ["m0", "m1"]


async def test_superseded_memories_are_recalled_when_they_are_asked_for_and_retracted_ones_never(
    place: FilePlace, recaller: Recaller
) -> None:
    await put(place.file, *(said(name, "The office.") for name in ("active", "old", "gone")))
    place.near = ["gone", "old", "active"]
    await supersede(place.file, "old")
    await retract(place.file, "gone")
    both = Where(statuses=("active", "superseded"))
    assert ids(await recalled(recaller, place, question("office"))) == ["active"]
    assert sorted(ids(await recalled(recaller, place, question("office", where=both)))) == ["active", "old"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Where(types=["Goal"]), ["goal"]),
        (Where(types=["Goal", "Fact"]), ["goal", "fact"]),
        (Where(min_importance=60), ["goal"]),
        (Where(conversation_ids=["c1", "c9"]), ["talk"]),
        (Where(conversation_ids=["c2"]), []),
        (Where(types=[]), []),
    ],
)
async def test_both_legs_keep_to_the_filters(
    place: FilePlace, recaller: Recaller, where: Where, expected: list[str]
) -> None:
    kinds: dict[str, NodeType] = {"goal": "Goal", "fact": "Fact"}
    await put(
        place.file,
        said("goal", "The office.", type=kinds["goal"], importance=60),
        said("fact", "The office.", type=kinds["fact"]),
        msgspec.structs.replace(from_conversation("talk", "c1"), type="Event"),
    )
    place.near = ["fact", "goal", "talk"]
    for legs in ({}, {"top_k_text": 0}, {"top_k_vector": 0}):
        assert set(ids(await recalled(recaller, place, question("office", where=where, **legs)))) == set(
            expected
        )


async def test_conversations_of_one_orchestrator_are_recalled_across_channels(
    place: FilePlace, recaller: Recaller
) -> None:
    await put(place.file, from_conversation("slack", "slack:general"), from_conversation("mail", "mail:7"))
    assert sorted(ids(await recalled(recaller, place, question("office")))) == ["mail", "slack"]


async def test_a_filter_that_few_pass_finds_them_among_very_many_vectors(
    place: FilePlace, recaller: Recaller
) -> None:
    names = [f"m{number:04}" for number in range(1500)]
    for start in range(0, len(names), 500):
        await put(place.file, *(said(name, "x.") for name in names[start : start + 500]))
    await put(place.file, said("last", "y.", importance=99))
    place.near = [*names, "last"]
    assert ids(await recalled(recaller, place, question("?", where=Where(min_importance=99)))) == ["last"]


async def test_a_contradiction_costs_a_fifth_until_it_is_resolved_or_an_end_goes(
    place: FilePlace, recaller: Recaller
) -> None:
    await put(place.file, said("m1", "The office."), said("m2", "Elsewhere."))
    before = await recalled(recaller, place, question("office"))
    await put_edges(place.file, edge(edge_type="Contradicts"))
    contradicted = await recalled(recaller, place, question("office"))
    await retract(place.file, "m2")
    after = await recalled(recaller, place, question("office"))
    scores = [one.found[0].ranked.terms.final for one in (before, contradicted, after)]
    assert scores[1] == pytest.approx(0.8 * scores[0])
    assert scores[2] == scores[0]
    assert [one.found[0].contradicted for one in (before, contradicted, after)] == [False, True, False]


async def test_importance_confidence_and_age_decide_between_equal_finds(
    place: FilePlace, recaller: Recaller, clock: TurnedClock
) -> None:
    now = clock.now()
    await put(
        place.file,
        said("old", "The office.", updated_at=now - timedelta(days=60)),
        said("doubtful", "The office.", confidence=0.5, updated_at=now),
        said("weighty", "The office.", importance=100, updated_at=now),
    )
    assert ids(await recalled(recaller, place, question("office"))) == ["weighty", "doubtful", "old"]


async def test_edges_come_weightiest_first_and_at_most_64(place: FilePlace, recaller: Recaller) -> None:
    others = [f"o{number:02}" for number in range(70)]
    await put(place.file, said("m1", "The office."), *(said(name, "x.") for name in others))
    await put_edges(
        place.file,
        *(
            edge(f"e{number:02}", to_memory_id=name, weight=1.0 if number == 69 else 0.5)
            for number, name in enumerate(others)
        ),
    )
    found = await recalled(recaller, place, question("office"))
    assert [one.edge_id for one in found.beside] == ["e69", *(f"e{number:02}" for number in range(63))]


async def test_no_edge_leads_to_what_is_retracted(place: FilePlace, recaller: Recaller) -> None:
    await put(place.file, said("m1", "The office."), said("m2", "x."), said("m3", "y."))
    await put_edges(place.file, edge("e1"), edge("e2", from_memory_id="m3", to_memory_id="m1"))
    await retract(place.file, "m2")
    assert [one.edge_id for one in (await recalled(recaller, place, question("office"))).beside] == ["e2"]


async def test_a_memory_whose_file_is_no_longer_granted_is_left_out_with_its_edges_and_logged(
    place: FilePlace, recaller: Recaller, tmp_path: Path
) -> None:
    granted, other = tmp_path / "granted", tmp_path / "other"
    granted.mkdir()
    other.mkdir()
    place.folders = [str(granted)]
    await put(
        place.file,
        from_file("kept", granted / "a.md"),
        from_file("gone", other / "b.md"),
        said("beside", "Nothing."),
    )
    await put_edges(
        place.file,
        edge("e1", from_memory_id="kept", to_memory_id="gone"),
        edge("e2", from_memory_id="kept", to_memory_id="beside"),
    )
    found = await recalled(recaller, place, question("office"))
    assert (ids(found), [one.edge_id for one in found.beside]) == (["kept"], ["e2"])
    assert found.degraded == ["source_path"]
    lines = [msgspec.json.decode(line) for line in place.layout.log_file.read_text().splitlines()]
    assert [(line["event"], line["memory_id"], line["source_path"]) for line in lines] == [
        ("memory.recall.source_path_denied", "gone", str(other / "b.md"))
    ]


async def test_a_path_that_became_a_link_out_of_the_workspace_is_denied(
    place: FilePlace, recaller: Recaller, tmp_path: Path
) -> None:
    granted = tmp_path / "granted"
    granted.mkdir()
    place.folders = [str(granted)]
    await put(place.file, from_file("m1", granted / "a.md"))
    assert ids(await recalled(recaller, place, question("office"))) == ["m1"]
    (granted / "a.md").symlink_to("/etc/hostname")
    assert ids(await recalled(recaller, place, question("office"))) == []


async def test_equal_recalls_are_equal(place: FilePlace, recaller: Recaller) -> None:
    await put(place.file, *(said(f"m{number}", f"The office {number}.") for number in range(40)))
    place.near = [f"m{number}" for number in range(39, -1, -1)]
    first = await recalled(recaller, place, question("the office 7"))
    assert await recalled(recaller, place, question("the office 7")) == first
