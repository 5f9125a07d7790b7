"""Contexts of orchestrators: there for every message, with or without a memory."""

from __future__ import annotations

import pytest

from elf.config.tables.graph import Recall
from elf.core.errors import Unavailable
from elf.families.graph.bulletins import Bulletins
from elf.families.graph.context import MAX_EVIDENCE_CHARS, Contexts, Occasion, Purpose
from elf.families.graph.errors import GraphDisabled, MemoryDbCorrupt
from elf.families.graph.recall.recaller import Recaller
from elf.families.graph.store.file import MemoryFile
from elf.families.graph.store.nodes import change_status
from tests.db.graph.graph_kit import edge, memory, put
from tests.db.graph.recall_kit import FilePlace, QueryModel, put_edges
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio


@pytest.fixture
def model() -> QueryModel:
    return QueryModel()


@pytest.fixture
def contexts(clock: TurnedClock, model: QueryModel) -> Contexts:
    recaller = Recaller(model, clock)
    return Contexts(recaller, Bulletins(recaller, Recall(), clock), Recall())


@pytest.fixture
def place(file: MemoryFile) -> FilePlace:
    return FilePlace(file)


def occasion(purpose: Purpose, prompt: str = "office", message_id: str = "msg-1") -> Occasion:
    return Occasion(purpose=purpose, message_id=message_id, message="office", prompt=prompt, max_chars=4000)


async def supersede(place: FilePlace, memory_id: str) -> None:
    await place.write(
        lambda change: change_status(
            change, memory_id, "superseded", "SUPERSEDE", reason=None, path="$.memory_id"
        )
    )


async def test_a_selector_and_its_steps_get_the_bulletin_of_the_message(
    place: FilePlace, contexts: Contexts
) -> None:
    await put(place.file, memory("m1", content="The office."), memory("m2", content="A cat."))
    selector = await contexts.of(place, occasion("selector"))
    await put(place.file, memory("g1", type="Goal"))
    step = await contexts.of(place, occasion("step", prompt="cat"))
    assert (selector.status, step.status, selector.recall) == ("ok", "ok", None)
    assert step.bulletin == selector.bulletin
    assert step.recall is not None
    assert [one.memory.memory_id for one in step.recall.nodes] == ["m2"]


async def test_every_message_has_a_bulletin_of_its_own(place: FilePlace, contexts: Contexts) -> None:
    made = []
    for number in range(3):
        await put(place.file, memory(f"g{number}", type="Goal"))
        context = await contexts.of(place, occasion("selector", message_id=f"msg-{number}"))
        assert context.bulletin is not None
        made.append([one.memory_id for one in context.bulletin.citations])
    assert made == [["g0"], ["g0", "g1"], ["g0", "g1", "g2"]]


async def test_a_step_without_a_selector_before_it_makes_the_bulletin(
    place: FilePlace, contexts: Contexts
) -> None:
    context = await contexts.of(place, occasion("step"))
    assert context.bulletin is not None
    assert context.bulletin.status == "fresh"


@pytest.mark.parametrize("purpose", ["selector", "step"])
async def test_what_fails_falls_back(place: FilePlace, contexts: Contexts, purpose: Purpose) -> None:
    place.failure = Unavailable("away")
    context = await contexts.of(place, occasion(purpose))
    assert context.bulletin is not None
    assert (context.status, context.bulletin.status, context.recall) == ("fallback", "empty", None)


async def test_a_step_whose_recall_fails_has_the_bulletin(place: FilePlace, contexts: Contexts) -> None:
    await put(place.file, memory("g1", type="Goal"))
    await contexts.of(place, occasion("selector"))
    place.failure = RuntimeError("a fault of our own")
    context = await contexts.of(place, occasion("step"))
    assert context.bulletin is not None
    assert (context.status, context.bulletin.status, context.recall) == ("fallback", "fresh", None)


@pytest.mark.parametrize("failure", [MemoryDbCorrupt("damaged"), GraphDisabled("off")])
async def test_without_a_memory_the_context_is_disabled_and_has_the_last_bulletin(
    place: FilePlace, contexts: Contexts, failure: Exception
) -> None:
    await put(place.file, memory("g1", type="Goal"))
    await contexts.of(place, occasion("selector"))
    place.failure = failure
    context = await contexts.of(place, occasion("selector", message_id="msg-2"))
    assert context.bulletin is not None
    assert (context.status, context.bulletin.status, context.bulletin.message_id) == (
        "disabled",
        "previous",
        "msg-2",
    )
    assert [one.memory_id for one in context.bulletin.citations] == ["g1"]
    assert await contexts.of(place, occasion("diagnostics")) == type(context)(status="disabled")


async def test_a_folder_that_is_not_there_gives_an_empty_bulletin(contexts: Contexts) -> None:
    context = await contexts.without(None, occasion("selector"), GraphDisabled("off"))
    assert context.bulletin is not None
    assert (context.status, context.bulletin.status) == ("disabled", "empty")


async def test_a_memory_that_is_away_for_now_falls_back_and_keeps_what_its_message_has(
    place: FilePlace, contexts: Contexts
) -> None:
    await put(place.file, memory("g1", type="Goal"))
    own = (await contexts.of(place, occasion("selector"))).bulletin
    away = Unavailable("too many memories are open")
    again = await contexts.without(place, occasion("step"), away)
    assert (again.status, again.bulletin) == ("fallback", own)
    other = await contexts.without(place, occasion("selector", message_id="msg-2"), away)
    assert other.bulletin is not None
    assert (other.status, other.bulletin.status) == ("fallback", "previous")
    assert '"memory.bulletin.fallback"' in place.layout.log_file.read_text()


async def test_diagnostics_get_evidence_with_its_provenance_and_contradictions(
    place: FilePlace, contexts: Contexts
) -> None:
    await put(
        place.file,
        memory("old", content="The office is in Porto."),
        memory("m1", content="The office is in Lisbon."),
        memory("m2", content="The office is in Faro."),
    )
    await put_edges(
        place.file,
        edge("e1", edge_type="Contradicts"),
        edge("e2", from_memory_id="m1", to_memory_id="old", edge_type="Updates"),
    )
    await supersede(place, "old")
    context = await contexts.of(place, occasion("diagnostics"))
    assert (context.status, context.bulletin) == ("ok", None)
    findings = context.findings
    assert findings is not None
    assert {(one.memory_id, one.status, one.unresolved_contradiction) for one in findings.evidence} == {
        ("m1", "active", True),
        ("m2", "active", True),
        ("old", "superseded", False),
    }
    assert [one.edge_id for one in findings.contradictions] == ["e1"]
    assert {one.edge_id for one in findings.edges} == {"e1", "e2"}
    assert {one.memory_id for one in findings.citations} == {"m1", "m2", "old"}


async def test_evidence_is_bounded_however_much_there_is(place: FilePlace, contexts: Contexts) -> None:
    await put(place.file, *(memory(f"m{number}", content="office " * 2000) for number in range(25)))
    findings = (await contexts.of(place, occasion("diagnostics"))).findings
    assert findings is not None
    assert len(findings.evidence) == 20
    assert all(one.text for one in findings.evidence)
    assert sum(len(one.text) for one in findings.evidence) <= MAX_EVIDENCE_CHARS


async def test_one_long_memory_has_all_the_room(place: FilePlace, contexts: Contexts) -> None:
    await put(place.file, memory("m1", content="office " + "x" * 16_000))
    findings = (await contexts.of(place, occasion("diagnostics"))).findings
    assert findings is not None
    assert [len(one.text) for one in findings.evidence] == [MAX_EVIDENCE_CHARS]


async def test_diagnostics_that_fail_fall_back_to_nothing(place: FilePlace, contexts: Contexts) -> None:
    place.failure = Unavailable("away")
    context = await contexts.of(place, occasion("diagnostics"))
    assert (context.status, context.findings) == ("fallback", None)


async def test_what_was_away_is_told(place: FilePlace, contexts: Contexts, model: QueryModel) -> None:
    model.is_away = True
    context = await contexts.of(place, occasion("step"))
    assert (context.status, context.degraded) == ("ok", ["embedding"])
