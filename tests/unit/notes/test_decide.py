"""From attempts and outcomes to decisions, and what is kept of a refused note."""

from __future__ import annotations

from dataclasses import astuple

from hypothesis import given
from hypothesis import strategies as st

from elf.config.model import NOTE_TYPES
from elf.families.notes.writing.decisions import Attempt, Refused, decide
from elf.families.notes.writing.resolver import Outcome, Workspace
from tests.notes_kit import (
    CONTEXT,
    NOW,
    RULES,
    SCOPES,
    a_note,
    an_incoming,
    at_cosine,
    resolve,
    resolve_keyed,
    unit,
)


def refused(**fields: str | None) -> Refused:
    values = {
        "type": "fact",
        "scope": "project_shared",
        "key": None,
        "text": "x",
        "reason_code": "C",
        "reason": "why",
    }
    return Refused.of(known_scopes=SCOPES, **(values | fields))  # type: ignore[arg-type]


@given(st.lists(st.booleans(), max_size=12))
def test_each_attempt_has_its_own_decision_in_order(accepted: list[bool]) -> None:
    work = Workspace(CONTEXT, NOW, "v", RULES)
    attempts: list[Attempt] = []
    outcomes: list[Outcome] = []
    for place, is_accepted in enumerate(accepted):
        text = "x" * (place + 1)
        if is_accepted:
            attempts.append(an_incoming(text, key=f"k{place}"))
            outcomes.append(resolve_keyed(work, an_incoming(text, key=f"k{place}")))
        else:
            attempts.append(refused(text=text))
    decisions = decide(attempts, outcomes)
    assert [decision.op == "ADD" for decision in decisions] == accepted
    assert [decision.text_chars for decision in decisions] == [place + 1 for place in range(len(accepted))]
    assert [decision.note_id for decision in decisions if decision.note_id] == [
        one.note_id for one in outcomes
    ]


@given(st.text(min_size=1), st.text(), st.text(), st.text())
def test_nothing_a_refused_note_says_is_kept(type: str, scope: str, key: str, text: str) -> None:
    kept = refused(type=f"<{type}>", scope=f"<{scope}>", key=f"<{key}>", text=f"<{text}>")
    assert astuple(kept) == (None, None, True, len(text) + 2, "C", "why")


def test_a_known_type_and_scope_are_kept() -> None:
    for type in NOTE_TYPES:
        assert refused(type=type).type == type
    assert refused(scope="org_shared").scope == "org_shared"
    assert refused(scope=None).scope is None


def test_the_basis_of_a_keyed_note_is_the_note_that_holds_the_key() -> None:
    stored = a_note(key="k")
    work = Workspace(CONTEXT, NOW, "v", RULES)
    work.know_keyed([stored])
    same = resolve_keyed(work, an_incoming(key="k")).basis
    changed = resolve_keyed(work, an_incoming("Fact: other.", key="k")).basis
    new = resolve_keyed(work, an_incoming(key="l")).basis
    assert astuple(same) == ("unchanged", stored.note_id, None, None)
    assert astuple(changed) == ("same key", stored.note_id, None, None)
    assert astuple(new) == ("new note", None, None, None)


def test_the_basis_of_an_unkeyed_note_is_the_nearest_note_however_far() -> None:
    stored = a_note("Fact: a.")
    work = Workspace(CONTEXT, NOW, "v", RULES)
    for cosine, reason in ((0.95, "duplicate"), (0.1, "new note")):
        incoming = an_incoming("Fact: b.", pooled=at_cosine(cosine))
        basis = resolve(work, incoming, stored, cosine).basis
        dropped = "Fact: b." if reason == "duplicate" else None
        assert astuple(basis) == (reason, stored.note_id, cosine, dropped)
    changed = resolve(work, an_incoming("Fact: c.", pooled=unit(0.0, 0.0, 1.0)), stored, 0.9)
    assert astuple(changed.basis) == ("similarity 0.9000", stored.note_id, 0.9, None)


def test_a_note_that_cannot_be_compared_has_no_match() -> None:
    work = Workspace(CONTEXT, NOW, "v", RULES)
    resolve(work, an_incoming("Fact: a."))
    assert astuple(resolve(work, an_incoming("Fact: b.")).basis) == ("new note", None, None, None)
    assert resolve(work, an_incoming("Fact: a.")).basis.similarity == 1.0
