"""What is written back becomes of: kinds, weights and ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.graph.model import MAX_CONTENT_CHARS, NodeType, Source
from elf.families.graph.rules.captures import WriteBack, of_finding, of_message, of_outputs
from elf.families.graph.rules.ids import derived_id

SOURCE = Source(source_type="workflow_output", captured_by="system", workflow_run_id="r", step_id="s")
names = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=6)


def outputs(values: dict[str, object], *, attempt: int = 1, run: str = "r", step: str = "s") -> WriteBack:
    return of_outputs(run, step, attempt, values, SOURCE)


def test_a_message_is_an_observation_of_its_own_id() -> None:
    made = of_message("msg-1", " The office\nmoved. ", SOURCE)
    (one,) = made.captured
    assert (one.type, one.importance, one.confidence, one.content) == (
        "Observation",
        45,
        0.7,
        "The office moved.",
    )
    assert (one.memory_id, made.key) == (derived_id("t", "msg-1"), "channel_transcript:msg-1")


def test_a_finding_is_an_observation_with_what_it_follows_from() -> None:
    made = of_finding("f-1", "The disk is full.", ["m1", "m2", "m1"], SOURCE)
    (one,) = made.captured
    assert (one.type, one.importance, one.confidence) == ("Observation", 70, 0.8)
    assert (one.memory_id, made.key, made.related) == (
        derived_id("d", "f-1"),
        "diagnostics:f-1",
        ["m1", "m2"],
    )


@pytest.mark.parametrize(
    ("name", "node_type", "importance"),
    [
        ("decision", "Decision", 75),
        ("final_Decisions", "Decision", 75),
        ("todo_list", "Todo", 65),
        ("GOAL", "Goal", 70),
        ("user_preference", "Preference", 60),
        ("summary", "Fact", 55),
        ("decision_and_todo", "Decision", 75),
    ],
)
def test_the_name_of_an_output_tells_its_kind(name: str, node_type: NodeType, importance: int) -> None:
    (one,) = outputs({name: "text"}).captured
    assert (one.type, one.importance, one.confidence) == (node_type, importance, 0.75)


def test_later_attempts_have_the_same_memories_and_another_key() -> None:
    first, second = outputs({"decision": "a"}), outputs({"decision": "b"}, attempt=2)
    assert (
        first.captured[0].memory_id == second.captured[0].memory_id == derived_id("w", "r", "s", "decision")
    )
    assert first.series == second.series
    assert (first.key, second.key) == ("workflow_output:r:s:1", "workflow_output:r:s:2")


@given(first=st.tuples(names, names), second=st.tuples(names, names))
def test_steps_share_no_series_even_where_their_keys_read_alike(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    one, other = outputs({}, run=first[0], step=first[1]), outputs({}, run=second[0], step=second[1])
    assert (one.series == other.series) is (first == second)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("Use\nPostgres", "Use Postgres"),
        (["Call Ana", "Book it"], "Call Ana; Book it"),
        (7, "score: 7"),
        (True, "score: true"),
        ({"a": [1, "ü"]}, 'score: {"a": [1, "ü"]}'),
        ([1, "a"], 'score: [1, "a"]'),
    ],
)
def test_any_value_becomes_text(value: object, content: str) -> None:
    (one,) = outputs({"score": value}).captured
    assert (one.content, one.refusal, one.at) == (content, None, "$.outputs.score")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "empty_content"),
        (" \n", "empty_content"),
        ([], "empty_content"),
        ("x" * (MAX_CONTENT_CHARS + 1), "content_too_long"),
        ("password: hunter2-Zq81!x", "secret_detected"),
    ],
)
def test_what_cannot_be_a_memory_says_why(value: object, reason: str) -> None:
    (one,) = outputs({"note": value}).captured
    assert one.refusal == reason
