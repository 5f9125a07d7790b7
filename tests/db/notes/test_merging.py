"""Which stored note an incoming one without a key becomes one with, and where the words stay that are not stored."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elf.core.ids import NoteId
from elf.core.slices import at_once
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.api.audit_requests import DecisionsRequest, HistoryRequest
from elf.families.notes.api.requests import AddNoteRequest, NewNote
from elf.families.notes.reading.decision_audit import DecisionAudit
from elf.families.notes.reading.history import NoteHistory
from elf.families.notes.reading.shown import ShownVersions
from elf.web.rendering import rendering
from tests.db.notes.aging import collect
from tests.db.notes.conftest import CONTEXT_FIELDS, House
from tests.notes_kit import CONTEXT, STRICT_RULES, at_cosine, unit

pytestmark = pytest.mark.anyio

STORED = "Fact: the limit is 100."
REWORDED = "The limit is one hundred"
OTHER = "The limit is 500."


@pytest.fixture
def strict(database: Database, queries: Queries) -> House:
    """A house where only notes that state the same fact are merged."""
    return House(database, queries, rules=STRICT_RULES)


async def history_of(house: House, note_id: NoteId, **page: Any) -> ShownVersions:
    history = NoteHistory(
        database=house.database, queries=house.queries, store=house.store, policy=house.policy,
        embedding_version=house.model.version, clock=house.clock, ring=house.ring,
    )  # fmt: skip
    return await history.page(HistoryRequest(note_id=note_id, **page))


async def add_unmerged(house: House, *texts: str) -> list[Any]:
    notes = [NewNote(type="fact", text=text, importance=0.5, confidence=0.9) for text in texts]
    request = AddNoteRequest(**CONTEXT_FIELDS, scope="project_shared", merge_similar=False, notes=notes)
    return (await house.service.add_note(request)).results


@pytest.mark.parametrize("text", [OTHER, "The limit is not 100."])
async def test_another_fact_is_added_however_like_it_is(strict: House, text: str) -> None:
    strict.model.known = {STORED: unit(1.0), text: at_cosine(0.999)}
    stored = await strict.add_one(STORED)
    (added,) = await strict.add({"text": text})
    assert (added.op, added.similar_to) == ("ADD", stored)
    (row,) = await strict.rows("SELECT * FROM memory_ingest_decisions WHERE note_id = $1", added.note_id)
    assert (row["matched_note_id"], row["dropped_text"]) == (stored, None)
    assert row["similarity"] == pytest.approx(0.999, abs=1e-3)
    assert "looks like another" in row["reason"]
    assert text not in row["reason"]


@pytest.mark.parametrize(("cosine", "op"), [(0.95, "NONE"), (0.9, "UPDATE"), (0.8, "ADD")])
async def test_the_same_fact_must_also_be_as_like_as_the_thresholds_say(
    strict: House, cosine: float, op: str
) -> None:
    strict.model.known = {STORED: unit(1.0), REWORDED: at_cosine(cosine)}
    stored = await strict.add_one(STORED)
    (result,) = await strict.add({"text": REWORDED})
    assert (result.op, result.note_id == stored, result.similar_to) == (op, op != "ADD", None)


async def test_the_note_that_says_the_same_is_found_behind_seven_nearer_ones(strict: House) -> None:
    others = [f"The limit is {number}." for number in range(7)]
    strict.model.known = {text: at_cosine(0.99 - place / 1000) for place, text in enumerate(others)}
    strict.model.known |= {STORED: at_cosine(0.93), REWORDED: unit(1.0)}
    stored = await strict.add_one(STORED)
    await add_unmerged(strict, *others)
    (result,) = await strict.add({"text": REWORDED})
    assert (result.op, result.note_id) == ("NONE", stored)


async def test_only_so_many_neighbours_are_looked_at(strict: House) -> None:
    others = [f"The limit is {number}." for number in range(8)]
    strict.model.known = {text: at_cosine(0.99 - place / 1000) for place, text in enumerate(others)}
    strict.model.known |= {STORED: at_cosine(0.93), REWORDED: unit(1.0)}
    await strict.add_one(STORED)
    nearest, *_ = await add_unmerged(strict, *others)
    (result,) = await strict.add({"text": REWORDED})
    assert (result.op, result.similar_to) == ("ADD", nearest.note_id)


async def test_a_note_of_this_very_text_is_found_behind_any_number_of_nearer_ones(strict: House) -> None:
    others = [f"The limit is {number}." for number in range(9)]
    strict.model.known = {text: unit(1.0) for text in others} | {STORED: at_cosine(0.99)}
    stored = await strict.add_one(STORED)
    await add_unmerged(strict, *others)
    strict.model.known[STORED] = unit(1.0)
    (result,) = await strict.add({"text": STORED})
    assert (result.op, result.note_id) == ("NONE", stored)


@pytest.mark.parametrize("is_strict", [True, False])
async def test_without_merging_only_the_very_same_text_is_the_same_note(
    strict: House, house: House, is_strict: bool
) -> None:
    place = strict if is_strict else house
    place.model.known = dict.fromkeys([STORED, REWORDED, OTHER], unit(1.0))
    results = await add_unmerged(place, STORED, REWORDED, OTHER, STORED)
    assert [result.op for result in results] == ["ADD", "ADD", "ADD", "NONE"]
    assert [result.similar_to for result in results] == [None, results[0].note_id, results[0].note_id, None]
    again = await add_unmerged(place, REWORDED, OTHER)
    assert [(result.op, result.note_id) for result in again] == [
        ("NONE", results[1].note_id), ("NONE", results[2].note_id),
    ]  # fmt: skip


async def test_likeness_alone_decides_without_the_comparison(house: House) -> None:
    house.model.known = {STORED: unit(1.0), OTHER: at_cosine(0.93)}
    stored = await house.add_one(STORED)
    (result,) = await house.add({"text": OTHER})
    assert (result.op, result.note_id, result.similar_to) == ("NONE", stored, None)


# The words that were not stored


async def test_dropped_words_are_kept_with_the_decision_and_shown_in_the_history(house: House) -> None:
    house.model.known = {STORED: unit(1.0), REWORDED: at_cosine(0.95), OTHER: at_cosine(0.94)}
    stored = await house.add_one(STORED)
    for text in (REWORDED, STORED, OTHER):
        await house.add({"text": text})
    shown = (await history_of(house, stored)).repetitions
    assert [(one.text, one.actor) for one in shown] == [(OTHER, "add_note"), (REWORDED, "add_note")]
    assert shown[0].similarity == pytest.approx(0.94, abs=1e-3)
    audit = DecisionAudit(database=house.database, queries=house.queries)
    decisions = (await audit.page(DecisionsRequest(tenant_id=CONTEXT.tenant_id))).items
    assert [one.dropped_text for one in decisions] == [OTHER, None, REWORDED, None]


async def test_a_page_of_a_history_shows_as_many_repetitions_as_versions_and_only_the_first_does(
    house: House,
) -> None:
    texts = [f"The limit was {number}." for number in range(3)]
    house.model.known = dict.fromkeys([STORED, *texts], unit(1.0))
    stored = await house.add_one(STORED)
    for text in texts:
        await house.add({"text": text})
    await house.update(stored, importance=0.9)
    first = await history_of(house, stored, limit=1)
    assert [one.text for one in first.repetitions] == [texts[-1]]
    second = await history_of(house, stored, limit=1, cursor=first.next_cursor)
    assert len(second.items) == 1
    assert b"repetitions" not in b"".join(at_once(rendering(second)))


async def test_a_purge_of_the_note_leaves_nothing_of_the_dropped_words(house: House) -> None:
    house.clock.moment = datetime.now(UTC)
    house.model.known = {STORED: unit(1.0), REWORDED: at_cosine(0.95)}
    stored = await house.add_one(STORED)
    await house.add({"text": REWORDED})
    await house.delete(stored)
    house.clock.turn(days=31)
    await collect(house)
    assert await house.value("SELECT count(*) FROM memory_ingest_decisions") == 0
    assert (await history_of(house, stored)).repetitions is msgspec.UNSET


# Evidence


@pytest.mark.parametrize("key", ["k", None])
async def test_an_empty_source_ref_says_nothing_about_what_is_known(strict: House, key: str | None) -> None:
    strict.model.known = {STORED: unit(1.0), REWORDED: at_cosine(0.9)}
    (stored,) = await strict.add({"text": STORED, "key": key, "source_ref": {"ticket": 7}})
    (again,) = await strict.add({"text": STORED, "key": key})
    assert again.op == "NONE"
    (reworded,) = await strict.add({"text": REWORDED, "key": key})
    assert reworded.op == "UPDATE"
    note = await strict.note(stored.note_id)
    assert note is not None
    assert (note.text, note.source_ref) == (REWORDED, {"ticket": 7})


async def test_a_replaced_fact_takes_its_evidence_with_it(house: House) -> None:
    house.model.known = {STORED: unit(1.0), OTHER: at_cosine(0.9)}
    (stored,) = await house.add({"text": STORED, "source_ref": {"ticket": 7}})
    (changed,) = await house.add({"text": OTHER})
    assert (changed.op, changed.note_id) == ("UPDATE", stored.note_id)
    note = await house.note(stored.note_id)
    assert note is not None
    assert note.source_ref == {}
    *_, last = await house.versions(stored.note_id)
    assert last["prev_snapshot"]["source_ref"] == {"ticket": 7}


numbers = st.one_of(
    st.integers(), st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e23, -0.0, 5e-324, 1.7976931348623157e308, 2.0**63, 1e22, 10**400, 0.1, 1e16, 123456789.0]),
)  # fmt: skip
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(source_ref=st.dictionaries(words, values, max_size=4))
async def test_the_same_payload_twice_is_none_whatever_json_it_holds(
    house: House, source_ref: dict[str, Any]
) -> None:
    note = {"text": STORED, "key": "k", "source_ref": source_ref}
    await house.add(note)
    (again,) = await house.add(note)
    assert again.op == "NONE"
    stored = await house.note(again.note_id)
    assert stored is not None
    assert all(math.isfinite(number) for number in stored.source_ref.values() if isinstance(number, float))
