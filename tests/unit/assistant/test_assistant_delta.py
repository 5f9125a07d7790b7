"""What a thread is told has changed: the lines to the letter, and that they tell what came of all changes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.assistant.model import Change, ChangeEvent
from elf.families.assistant.rules.delta import INTO, MARKS, MOST_BULLETS, MOST_CHARS, delta, folded

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVENTS: tuple[ChangeEvent, ...] = get_args(ChangeEvent)
THERE_BEFORE = {
    # by whether the memory is there, what may happen to it
    True: ("updated", "merged", "deleted", "soft_deleted"),
    False: ("restored",),
}


def change(rev: int, memory: int, event: ChangeEvent, **meta: Any) -> Change:
    return Change(rev=rev, memory_id=UUID(int=memory), event=event, meta=meta, ts=NOW)


def told(*events: ChangeEvent) -> str | None:
    changes = [change(rev, 1, event) for rev, event in enumerate(events, start=1)]
    found = folded(changes)
    return found[0].event if found else None


def test_the_lines_are_those_of_the_requirements_to_the_letter() -> None:
    changes = [
        change(5, 3, "merged", category="Food", text="Combined 2 notes about lactose intolerance"),
        change(6, 2, "updated", category="Goals", text="Ship v1 by Sep", importance=4),
        change(7, 1, "created", category="Personal", text="Preferred name is Ana", importance=2),
    ]
    assert delta(4, 7, changes).text.encode() == (
        "Memory updates since rev 4:\n"
        "- +created: [Personal] Preferred name is Ana (imp=2)\n"
        "- ↑updated: [Goals] Ship v1 by Sep\n"
        "- ↔merged: Combined 2 notes about lactose intolerance"
    ).encode()  # fmt: skip


def test_the_other_marks() -> None:
    changes = [
        change(1, 1, "deleted", category="a", text="x"),
        change(2, 2, "soft_deleted", category="a", text=""),
        change(3, 3, "restored", category="a", text="z", importance=2),
    ]
    assert delta(0, 3, changes).text.splitlines()[1:] == [
        "- ↻restored: [a] z",
        "- ~soft_deleted: [a]",
        "- -deleted: [a] x",
    ]


def test_nothing_changed_is_no_text() -> None:
    found = delta(7, 7, [])
    assert (found.since_rev, found.rev, found.total, found.text) == (7, 7, 0, "")


@pytest.mark.parametrize(
    ("events", "net"),
    [
        (("created", "updated"), "created"),
        (("created", "merged"), "created"),
        (("created", "deleted"), None),
        (("created", "soft_deleted"), None),
        (("created", "deleted", "restored"), "created"),
        (("updated", "updated"), "updated"),
        (("updated", "merged"), "merged"),
        (("merged", "updated"), "merged"),
        (("updated", "deleted"), "deleted"),
        (("soft_deleted", "restored"), None),
        (("soft_deleted", "restored", "updated"), "updated"),
        (("restored", "updated"), "restored"),
        (("restored", "soft_deleted"), None),
        (("soft_deleted", "deleted"), "deleted"),
    ],
)
def test_changes_of_one_memory_fold_into_what_came_of_them(
    events: tuple[ChangeEvent, ...], net: ChangeEvent | None
) -> None:
    assert told(*events) == net


def test_what_was_merged_into_another_memory_is_told_of_that_one_alone() -> None:
    old, new = UUID(int=1), UUID(int=2)
    changes = [
        change(1, 2, "merged", recreated=True, text="Combined"),
        Change(rev=2, memory_id=old, event="merged", meta={INTO: str(new)}, ts=NOW),
    ]
    assert [one.memory_id for one in folded(changes)] == [new]
    assert folded([*changes, change(3, 2, "deleted")]) == []


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from(EVENTS), st.text(max_size=200))))
def test_a_header_is_short_and_newest_first(given_changes: list[tuple[int, ChangeEvent, str]]) -> None:
    changes = [
        change(rev, memory, event, category="c", text=text.replace("\n", " ").replace("\r", " "))
        for rev, (memory, event, text) in enumerate(given_changes, start=1)
    ]
    found = delta(0, len(changes), changes)
    shown = folded(changes)
    assert found.total == len(shown) == len({one.memory_id for one in shown})
    assert [one.rev for one in shown] == sorted((one.rev for one in shown), reverse=True)
    lines = found.text.split("\n") if found.text else []
    assert len(lines) == (1 + min(MOST_BULLETS, found.total) if found.total else 0)
    for line, one in zip(lines[1:], shown, strict=False):
        head = f"- {MARKS[one.event]}:" if one.event == "merged" else f"- {MARKS[one.event]}: [c]"
        assert line.startswith(head)
        assert len(line) <= len(head) + 1 + MOST_CHARS


@given(st.booleans(), st.lists(st.integers(0, 3), max_size=12))
def test_what_is_told_is_the_difference_of_before_and_after(was_there: bool, picks: list[int]) -> None:
    """A memory lives any life that it may; the fold tells whether it came, went or changed."""
    there, events = was_there, list[ChangeEvent]()
    if not was_there:
        events.append("created")
        there = True
    for pick in picks:
        possible = THERE_BEFORE[there]
        event: ChangeEvent = possible[pick % len(possible)]  # type: ignore[assignment]
        events.append(event)
        there = event not in ("deleted", "soft_deleted")
    net = told(*events) if events else None
    if was_there and there:
        changed = {"updated", "merged"} & set(events)
        assert (net in ("updated", "merged")) == bool(changed)
    elif was_there:
        assert net in ("deleted", "soft_deleted")
    else:
        assert net == ("created" if there else None)
