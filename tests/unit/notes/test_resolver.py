"""The update resolver: what an incoming note is to the stored ones, and the history that follows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.ids import NoteId
from elf.core.slices import at_once
from elf.families.notes.model import Note
from elf.families.notes.writing.resolver import (
    SIMILARITY_UNCHECKED,
    Change,
    Incoming,
    Outcome,
    Workspace,
    comparing_with,
    next_moment,
)
from tests.notes_kit import (
    CONTEXT,
    NOW,
    RULES,
    STRICT_RULES,
    a_note,
    an_incoming,
    at_cosine,
    resolve,
    resolve_keyed,
    unit,
)

VERSION = "fake:hash:384"


def workspace(*stored: Note, now: datetime = NOW) -> Workspace:
    made = Workspace(CONTEXT, now, VERSION, RULES)
    made.know_keyed(stored)
    return made


# Keys


def test_a_new_key_makes_a_new_note() -> None:
    work = workspace()
    outcome = resolve_keyed(work, an_incoming(key="lang", ttl_days=2, source_ref={"a": 1}))
    (change,) = work.changes
    note = change.after
    assert (outcome.op, outcome.note_id, outcome.reason_code) == ("ADD", note.note_id, None)
    assert (change.op, change.before) == ("ADD", None)
    assert (note.tenant_id, note.project_id, note.agent_id) == ("acme", "alpha", "anna")
    assert (note.key, note.status, note.source_ref) == ("lang", "active", {"a": 1})
    assert note.created_at == note.updated_at == NOW
    assert note.expires_at == NOW + timedelta(days=2)
    assert note.embedding_version == VERSION


def test_the_holder_of_a_key_is_updated_in_place() -> None:
    stored = a_note(key="lang", created_at=NOW - timedelta(days=9), updated_at=NOW - timedelta(days=3))
    work = workspace(stored)
    outcome = resolve_keyed(work, an_incoming("Fact: new.", key="lang", importance=0.7))
    (change,) = work.changes
    assert outcome == Outcome(stored.note_id, "UPDATE")
    assert change.before == stored
    assert (change.after.text, change.after.importance) == ("Fact: new.", 0.7)
    assert (change.after.created_at, change.after.updated_at) == (stored.created_at, NOW)


@pytest.mark.parametrize(("scope", "type"), [("org_shared", "fact"), ("project_shared", "plan")])
def test_the_same_key_in_another_scope_or_type_is_another_note(scope: str, type: str) -> None:
    work = workspace(a_note(key="lang"))
    assert resolve_keyed(work, an_incoming("x", key="lang", scope=scope, type=type)).op == "ADD"


def test_the_same_note_again_is_none_and_leaves_no_history() -> None:
    stored = a_note(key="lang", importance=0.3, source_ref={"n": [1, {"b": None}]})
    work = workspace(stored)
    again = an_incoming(key="lang", importance=0.3, source_ref={"n": [1, {"b": None}]})
    assert resolve_keyed(work, again) == Outcome(stored.note_id, "NONE")
    assert work.changes == []
    assert work.touched() == set()


@pytest.mark.parametrize(
    "difference",
    [
        {"text": "Fact: other."}, {"importance": 0.51}, {"confidence": 0.0}, {"source_ref": {"a": 1}},
        {"ttl_days": 1.0},
    ],
)  # fmt: skip
def test_any_difference_in_content_is_an_update(difference: dict[str, Any]) -> None:
    work = workspace(a_note(key="lang"))
    assert resolve_keyed(work, an_incoming(**({"key": "lang"} | difference))).op == "UPDATE"


def test_an_expired_holder_of_a_key_is_retired_and_a_new_note_takes_over() -> None:
    old = a_note(key="lang", expires_at=NOW, updated_at=NOW - timedelta(days=1))
    work = workspace(old)
    outcome = resolve_keyed(work, an_incoming(key="lang"))
    retired, added = work.changes
    assert outcome.op == "ADD"
    assert outcome.note_id == added.after.note_id != old.note_id
    assert (retired.op, retired.before, retired.after.status) == ("DELETE", old, "deleted")
    assert retired.after == replace(old, status="deleted", updated_at=NOW)
    assert resolve_keyed(work, an_incoming(key="lang")) == Outcome(added.after.note_id, "NONE")


def test_a_holder_of_a_key_that_expires_a_moment_later_is_still_updated() -> None:
    old = a_note(key="lang", expires_at=NOW + timedelta(microseconds=1))
    assert resolve_keyed(workspace(old), an_incoming("x", key="lang")).op == "UPDATE"


def test_an_update_starts_the_life_of_a_note_anew() -> None:
    stored = a_note(type="plan", key="k", expires_at=NOW + timedelta(days=1))
    work = workspace(stored)
    resolve_keyed(work, an_incoming("Plan: x", type="plan", key="k"))
    assert work.changes[0].after.expires_at == NOW + timedelta(days=14)


# Similarity


@pytest.mark.parametrize(
    ("similarity", "op"),
    [
        (1.0, "NONE"),
        (0.92, "NONE"),
        (math.nextafter(0.92, 0.0), "UPDATE"),
        (0.85, "UPDATE"),
        (math.nextafter(0.85, 0.0), "ADD"),
        (-1.0, "ADD"),
    ],
)
def test_the_thresholds_belong_to_the_stronger_answer(similarity: float, op: str) -> None:
    stored = a_note("Fact: stored.")
    work = workspace()
    outcome = resolve(work, an_incoming(pooled=unit(1.0)), stored, similarity)
    assert outcome.op == op
    assert (outcome.note_id == stored.note_id) == (op != "ADD")
    assert outcome.reason_code is None


def test_a_similar_note_keeps_its_id_key_and_creation_when_updated() -> None:
    stored = a_note(key="lang", created_at=NOW - timedelta(days=5), updated_at=NOW - timedelta(days=5))
    work = workspace()
    resolve(work, an_incoming("Fact: closer.", pooled=unit(1.0)), stored, 0.9)
    (change,) = work.changes
    assert change.before == stored
    assert (change.after.note_id, change.after.key, change.after.created_at) == (
        stored.note_id, "lang", stored.created_at,
    )  # fmt: skip
    assert change.after.text == "Fact: closer."
    assert "0.9" in change.reason
    assert "closer" not in change.reason


def test_nothing_similar_makes_a_new_note() -> None:
    assert resolve(workspace(), an_incoming(pooled=unit(1.0))).op == "ADD"


def test_a_note_added_earlier_in_the_request_is_a_duplicate_of_itself() -> None:
    work = workspace()
    first = resolve(work, an_incoming("Fact: a.", pooled=unit(1.0)))
    second = resolve(work, an_incoming("Fact: b.", pooled=at_cosine(0.93)))
    assert second == Outcome(first.note_id, "NONE")


def test_a_note_added_earlier_in_the_request_is_updated_by_a_similar_one() -> None:
    work = workspace()
    first = resolve(work, an_incoming("Fact: a.", pooled=unit(1.0)))
    second = resolve(work, an_incoming("Fact: b.", pooled=at_cosine(0.88)))
    third = resolve(work, an_incoming("Fact: c.", pooled=at_cosine(0.88)))
    assert second == Outcome(first.note_id, "UPDATE")
    assert third == Outcome(first.note_id, "NONE"), "it is compared with what the second one made of the note"
    assert [change.op for change in work.changes] == ["ADD", "UPDATE"]


@pytest.mark.parametrize("other", [{"scope": "org_shared"}, {"type": "plan"}])
def test_a_note_of_another_group_is_never_compared(other: dict[str, Any]) -> None:
    work = workspace()
    resolve(work, an_incoming("Fact: a.", pooled=unit(1.0)))
    assert resolve(work, an_incoming("Fact: a.", pooled=unit(1.0), **other)).op == "ADD"


def test_the_most_similar_note_wins_whether_stored_or_new() -> None:
    stored = a_note("Fact: stored.")
    work = workspace()
    added = resolve(work, an_incoming("Fact: a.", pooled=unit(1.0)))
    nearer_new = resolve(work, an_incoming("Fact: b.", pooled=at_cosine(0.91)), stored, 0.86)
    assert nearer_new == Outcome(added.note_id, "UPDATE")
    nearer_stored = resolve(work, an_incoming("Fact: c.", pooled=unit(0, 0, 1)), stored, 0.95)
    assert nearer_stored == Outcome(stored.note_id, "NONE")


def test_a_keyed_note_of_the_same_request_without_a_vector_is_matched_by_its_text_alone() -> None:
    work = workspace()
    keyed = resolve_keyed(work, an_incoming("Fact: a.", key="k"))
    assert resolve(work, an_incoming("Fact: a.", pooled=unit(1.0))) == Outcome(keyed.note_id, "NONE")
    assert resolve(work, an_incoming("Fact: b.", pooled=unit(1.0))).op == "ADD"


def test_an_update_of_the_text_forgets_the_vector_of_the_former_text() -> None:
    work = workspace()
    first = resolve(work, an_incoming("Fact: a.", pooled=unit(1.0)))
    (added,) = work.changes
    work.by_key[("project_shared", "fact", "k")] = added.after
    assert resolve_keyed(work, an_incoming("Fact: quite different.", key="k")).note_id == first.note_id
    assert resolve(work, an_incoming("Fact: c.", pooled=unit(1.0))).op == "ADD"


def test_without_a_vector_every_new_note_says_that_it_was_not_compared() -> None:
    work = workspace()
    texts = ["Fact: a.", "Fact: b.", "Fact: a."]
    outcomes = [resolve(work, an_incoming(text)) for text in texts]
    assert [(outcome.op, outcome.reason_code) for outcome in outcomes] == [
        ("ADD", SIMILARITY_UNCHECKED),
        ("ADD", SIMILARITY_UNCHECKED),
        ("NONE", None),
    ]


# Only what states the same fact

LIMIT, AGAIN, OTHER = "The limit is 100.", "Fact: the limit is one hundred", "The limit is 500."


def strict(*stored: Note) -> Workspace:
    made = Workspace(CONTEXT, NOW, VERSION, STRICT_RULES)
    made.know_keyed(stored)
    return made


@pytest.mark.parametrize("similarity", [0.85, 0.999])
def test_another_fact_is_added_beside_the_one_it_looks_like(similarity: float) -> None:
    stored = a_note(LIMIT)
    outcome = resolve(strict(), an_incoming(OTHER, pooled=unit(1.0)), stored, similarity)
    assert (outcome.op, outcome.similar_to) == ("ADD", stored.note_id)
    assert outcome.note_id != stored.note_id
    assert outcome.basis.reason == "new note: it looks like another, but differs in numbers"
    assert (outcome.basis.matched_note_id, outcome.basis.similarity) == (stored.note_id, similarity)


def test_what_does_not_even_look_alike_has_no_neighbour() -> None:
    outcome = resolve(strict(), an_incoming(AGAIN, pooled=unit(1.0)), a_note(LIMIT), 0.84)
    assert (outcome.op, outcome.similar_to, outcome.basis.reason) == ("ADD", None, "new note")


@pytest.mark.parametrize(("similarity", "op"), [(0.92, "NONE"), (0.85, "UPDATE")])
def test_the_same_fact_is_merged_by_the_thresholds(similarity: float, op: str) -> None:
    stored = a_note(LIMIT)
    outcome = resolve(strict(), an_incoming(AGAIN, pooled=unit(1.0)), stored, similarity)
    assert (outcome.op, outcome.note_id, outcome.similar_to) == (op, stored.note_id, None)
    assert outcome.basis.dropped_text == (AGAIN if op == "NONE" else None)


def test_the_very_same_text_drops_no_words() -> None:
    outcome = resolve(strict(), an_incoming(LIMIT, pooled=unit(1.0)), a_note(LIMIT), 1.0)
    assert (outcome.op, outcome.basis.dropped_text) == ("NONE", None)


def test_notes_of_one_request_are_compared_with_each_other_by_the_same_rule() -> None:
    work = strict()
    first, other, again = (
        resolve(work, an_incoming(text, pooled=pooled))
        for text, pooled in ((LIMIT, unit(1.0)), (OTHER, at_cosine(0.99)), (AGAIN, at_cosine(0.98)))
    )
    assert (other.op, other.similar_to) == ("ADD", first.note_id)
    assert (again.op, again.note_id) == ("NONE", first.note_id), "the nearer one is another fact"


def test_of_a_stored_and_a_new_note_that_say_the_same_the_nearer_one_is_it() -> None:
    for similarity in (0.93, 0.97):
        work, stored = strict(), a_note(LIMIT)
        new = resolve(
            work, an_incoming("The limit is one hundred.", merge_similar=False, pooled=at_cosine(0.95))
        )
        outcome = resolve(work, an_incoming(AGAIN, pooled=unit(1.0)), stored, similarity)
        assert outcome.note_id == (stored.note_id if similarity > 0.95 else new.note_id)


@pytest.mark.parametrize("work", [workspace(), strict()], ids=["by likeness", "by the fact"])
def test_a_note_that_is_not_to_be_merged_is_only_the_one_with_its_very_text(work: Workspace) -> None:
    stored = a_note(LIMIT)
    incoming = an_incoming(AGAIN, merge_similar=False, pooled=unit(1.0))
    outcome = resolve(work, incoming, stored, 0.99)
    assert (outcome.op, outcome.similar_to) == ("ADD", stored.note_id)
    assert outcome.basis.reason == "new note: it looks like another, and was not to be merged by likeness"
    assert resolve(work, replace(incoming, text=LIMIT), stored, 1.0) == Outcome(stored.note_id, "NONE")


# Evidence

EVIDENCE = {"ticket": "OPS-7"}


@pytest.mark.parametrize("key", ["k", None])
@pytest.mark.parametrize(
    ("incoming", "op"), [({}, "NONE"), ({"importance": 0.7}, "UPDATE"), ({"text": AGAIN}, "UPDATE")]
)
def test_the_same_fact_without_evidence_leaves_the_evidence(
    key: str | None, incoming: dict[str, Any], op: str
) -> None:
    stored = a_note(LIMIT, key="k", source_ref=EVIDENCE)
    work = workspace(stored)
    sent = an_incoming(**({"text": LIMIT, "key": key, "pooled": unit(1.0)} | incoming))
    outcome = resolve(work, sent, stored, 0.9) if key is None else resolve_keyed(work, sent)
    assert outcome.op == op
    assert [change.after.source_ref for change in work.changes] == [EVIDENCE] * (op == "UPDATE")


def test_another_fact_under_the_key_does_not_inherit_the_evidence() -> None:
    stored = a_note(LIMIT, key="k", source_ref=EVIDENCE)
    work = workspace(stored)
    resolve_keyed(work, an_incoming(OTHER, key="k"))
    (change,) = work.changes
    assert change.before is not None
    assert (change.before.source_ref, change.after.source_ref) == (EVIDENCE, {})


def test_evidence_that_is_given_replaces_the_former() -> None:
    work = workspace(a_note(LIMIT, key="k", source_ref=EVIDENCE))
    resolve_keyed(work, an_incoming(LIMIT, key="k", source_ref={"ticket": "OPS-8"}))
    assert work.changes[0].after.source_ref == {"ticket": "OPS-8"}


@pytest.mark.parametrize(("stored", "sent"), [(10**23, 1e23), (0.0, -0.0), (1, 1.0)])
def test_a_number_that_postgres_reads_back_otherwise_is_no_change(stored: float, sent: float) -> None:
    work = workspace(a_note(key="k", source_ref={"n": [stored]}))
    assert resolve_keyed(work, an_incoming(key="k", source_ref={"n": [sent]})).op == "NONE"


# Whole histories against a model


class Step(NamedTuple):
    key: str | None
    text: str
    importance: float
    ttl_days: float | None


steps = st.builds(
    Step,
    key=st.sampled_from([None, "a", "b"]),
    text=st.sampled_from(["Fact: one.", "Fact: two.", "Fact: three."]),
    importance=st.sampled_from([0.1, 0.8]),
    ttl_days=st.sampled_from([None, 0.0, 3.0]),
)
AXES = {"Fact: one.": unit(1.0), "Fact: two.": unit(0, 1.0), "Fact: three.": at_cosine(0.9)}


def take(work: Workspace, step: Step) -> Outcome:
    incoming = an_incoming(
        step.text,
        key=step.key,
        importance=step.importance,
        ttl_days=step.ttl_days,
        pooled=None if step.key is not None else AXES[step.text],
    )
    return resolve(work, incoming) if step.key is None else resolve_keyed(work, incoming)


def assert_gapless(changes: Sequence[Change]) -> None:
    last: dict[NoteId, Note] = {}
    for change in changes:
        note = change.after
        assert change.before == last.get(note.note_id)
        assert (change.op == "ADD") == (change.before is None)
        if change.before is not None:
            assert note.updated_at > change.before.updated_at
            assert note.created_at == change.before.created_at
            assert note.key == change.before.key
        last[note.note_id] = note


@given(st.lists(steps, max_size=12))
def test_a_request_leaves_one_note_a_key_and_a_gapless_history(sequence: list[Step]) -> None:
    work = workspace()
    content: dict[NoteId, Step] = {}
    holder: dict[str, NoteId] = {}
    for step in sequence:
        changes_before = len(work.changes)
        outcome = take(work, step)
        known = holder.get(step.key) if step.key is not None else None
        if step.key is not None:
            expected = "ADD" if known is None else ("NONE" if content[known][1:] == step[1:] else "UPDATE")
            assert outcome.op == expected
            assert known in (None, outcome.note_id)
            holder[step.key] = outcome.note_id
        assert (len(work.changes) == changes_before) == (outcome.op == "NONE")
        if outcome.op != "NONE":
            content[outcome.note_id] = step
            assert work.current[outcome.note_id].text == step.text
    assert_gapless(work.changes)
    keys = [note.key for note in work.current.values() if note.key is not None]
    assert sorted(keys) == sorted(holder), "one note a key"
    assert {note_id: note.text for note_id, note in work.current.items()} == {
        note_id: step.text for note_id, step in content.items()
    }


@given(st.lists(steps, max_size=12))
def test_a_request_sent_again_changes_nothing_when_it_holds_one_note_a_key(sequence: list[Step]) -> None:
    keyed = list({step.key: step for step in sequence if step.key is not None}.values())
    first = workspace()
    for step in keyed:
        take(first, step)
    second = workspace(*first.current.values(), now=NOW + timedelta(hours=1))
    assert [take(second, step).op for step in keyed] == ["NONE"] * len(keyed)
    assert second.changes == []


@given(st.lists(steps, min_size=1, max_size=12), st.integers(0, 30))
def test_expired_holders_in_any_history_are_retired_once(sequence: list[Step], days: int) -> None:
    first = workspace()
    for step in sequence:
        take(first, step)
    stored = [note for note in first.current.values() if note.key is not None]
    later = workspace(*stored, now=NOW + timedelta(days=days))
    expired = {note.note_id for note in stored if not note.is_live(later.now)}
    asked = {step.key for step in sequence if step.key is not None}
    for step in sequence:
        if step.key is not None:
            assert take(later, step).note_id not in expired
    retired = [change.after.note_id for change in later.changes if change.op == "DELETE"]
    assert len(retired) == len(set(retired))
    assert set(retired) == {note.note_id for note in stored if note.note_id in expired and note.key in asked}


def test_the_moment_of_a_change_grows_even_when_the_clock_goes_back() -> None:
    stored = a_note(updated_at=NOW)
    assert next_moment(stored, NOW - timedelta(hours=1)) == NOW + timedelta(microseconds=1)
    assert next_moment(stored, NOW) == NOW + timedelta(microseconds=1)
    assert next_moment(stored, NOW + timedelta(seconds=1)) == NOW + timedelta(seconds=1)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_note_that_came_back_from_postgres_is_unchanged(importance: float, confidence: float) -> None:
    work = workspace()
    sent: Incoming = an_incoming(key="k", importance=importance, confidence=confidence)
    resolve_keyed(work, sent)
    assert at_once(comparing_with(work.changes[0].after, sent))
