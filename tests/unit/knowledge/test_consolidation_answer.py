"""What a model answers is read leniently: what is sound stands, what is not is told, and nothing raises."""

from __future__ import annotations

import json
import math
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.knowledge.consolidation.answer import (
    MOST_ITEMS,
    NO_JSON,
    REPORTED,
    UNREADABLE,
    ConsolidationResult,
    NewFact,
    read_answer,
)

ID = "5b0a6c1e-7a4f-4a55-9a0e-2d1f7c3b8e10"
FACT = {"subject": "Ana", "predicate": "seat preference", "content": "prefers window seats"}
EMPTY = {"new_facts": [], "updated_facts": [], "new_rules": [], "confirmations": []}


def read(**lists: Any) -> ConsolidationResult:
    return read_answer(json.dumps(lists))


def subjects(text: str) -> list[str]:
    return [fact.subject for fact in read_answer(text).new_facts]


# Where the object is


@pytest.mark.parametrize(
    "around",
    [
        "```json\n{}\n```",
        "Here you are:\n\n```json\n{}\n```\nAnything else?",
        "```JSON {} ```",
        'I used {{placeholders}} and {nothing}.\n```json\n{}\n```\n```json\n{"new_facts": []}\n```',
        "```json\n{}",
    ],
)
def test_parse_fenced_json_code_block(around: str) -> None:
    block = json.dumps({"new_facts": [FACT | {"content": "a fence ``` in a text, and a } too"}]}, indent=2)
    assert subjects(around.replace("{}", block, 1)) == ["Ana"]


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "The answer is {} as asked.",
        'She said "no {} and left: {"new_facts": []}',
        "See {this} and {that}: {}",
        "An unclosed { here, then {}",
        '{"thoughts": "nothing much"}\n{}',
        "```\n{}\n```",
        "```json\nnothing\n```\n{}",
    ],
)
def test_parse_bare_json_object(around: str) -> None:
    block = json.dumps({"new_facts": [FACT | {"content": 'braces }}{{ and a quote \\" in a text'}]})
    assert subjects(around.replace("{}", block, 1)) == ["Ana"]


@pytest.mark.parametrize(
    "text", ["", "Nothing to do.", "[]", "null", "```json\n```", "}", '"new_facts"', "}{", "{"]
)
def test_no_json_found(text: str) -> None:
    result = read_answer(text)
    assert not result.found
    assert result.parse_errors == ["No JSON block found in consolidation output"]
    assert (result.new_facts, result.updated_facts, result.new_rules, result.confirmations) == (
        [],
        [],
        [],
        [],
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{new_facts: []}", UNREADABLE),
        ('{"new_facts": [}', UNREADABLE),
        ('{"error": "overloaded"}', REPORTED),
        ('{"error": "overloaded"} {x}', REPORTED),
        ('Use {} when there is nothing. {"new_facts": [{"subject": "Ana", ', UNREADABLE),
        ('{} {"new_facts": [}', UNREADABLE),
    ],
)
def test_an_object_that_answers_nothing_is_no_answer(text: str, problem: str) -> None:
    result = read_answer(text)
    assert (result.found, result.parse_errors) == (False, [problem])


@pytest.mark.parametrize(
    "text",
    [
        "In {} braces: {} ",
        "{} " * 40,
        '{"thoughts": "two {} and one {"} ',
        '{"notes": []}\n',
        "```json\n{}\n```\n",
    ],
)
def test_the_object_that_has_the_lists_is_the_answer(text: str) -> None:
    for answer in ({"new_facts": [FACT]}, {"result": {"new_facts": [FACT], "confirmations": None}}):
        result = read_answer(text + json.dumps(answer))
        assert [one.subject for one in result.new_facts] == ["Ana"]
        assert result.parse_errors == []


@pytest.mark.parametrize("name", EMPTY)
def test_null_is_an_empty_list(name: str) -> None:
    result = read(**{"new_facts": [FACT], "confirmations": [ID]} | {name: None})
    assert (result.found, result.parse_errors) == (True, [])
    assert len(result.new_facts) + len(result.confirmations) == (
        1 if name in ("new_facts", "confirmations") else 2
    )


def test_an_empty_object_and_empty_lists_are_an_answer() -> None:
    for text in (
        "{}",
        '{"thoughts": "nothing"}',
        json.dumps(EMPTY),
        json.dumps(EMPTY | {"notes": {"x": [1]}}),
    ):
        result = read_answer(text)
        assert (result.found, result.parse_errors, result.new_facts) == (True, [], [])


# What its items say


def test_new_fact_validation() -> None:
    result = read(
        new_facts=[
            FACT,
            FACT
            | {"permanence": "stable", "importance": 99, "tags": ["travel", "travel", " seats "], "more": 1},
            FACT | {"permanence": "eternal", "importance": -3, "tags": "travel"},
            *({name: value for name, value in FACT.items() if name != missing} for missing in FACT),
            *(FACT | {name: empty} for name in FACT for empty in ("", " \n", None, 5, ["x"])),
        ]
    )
    first, second, third = result.new_facts
    assert first == NewFact(**FACT, permanence="standard", importance=5.0, tags=[])
    assert (second.permanence, second.importance, second.tags) == ("stable", 10.0, ["travel", "seats"])
    assert (third.permanence, third.importance, third.tags) == ("standard", 1.0, [])
    assert len(result.parse_errors) == 3 + 15
    assert result.parse_errors[0] == "new_facts[3].subject: must be text"
    assert result.parse_errors[3] == "new_facts[6].subject: must not be blank"


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("7", 7.0), ("7.5", 7.5), ("0", 1.0), ("10.5", 10.0), ("NaN", 5.0), ("Infinity", 5.0), ("-Infinity", 5.0),
        ("1e999", 5.0), ("true", 5.0), ('"9"', 5.0), ("null", 5.0), ("[9]", 5.0), ("1" + "0" * 400, 10.0),
        ("-1" + "0" * 400, 1.0),
    ],
)  # fmt: skip
def test_importance_is_a_number_from_1_to_10(given: str, taken: float) -> None:
    text = json.dumps({"new_facts": [FACT | {"importance": "here"}]}).replace('"here"', given)
    (fact,) = read_answer(text).new_facts
    assert fact.importance == taken


def test_updated_fact_validation() -> None:
    update = FACT | {"target_id": ID}
    result = read(
        updated_facts=[
            update,
            update | {"permanence": "volatile", "target_id": ID.upper()},
            update | {"permanence": "eternal"},
            *({name: value for name, value in update.items() if name != missing} for missing in update),
            *(
                update | {"target_id": bad}
                for bad in ("", "7", ID + "0", f"{{{ID}}}", 7, None, [ID], ID[:-1] + "\u0660")
            ),
        ]
    )
    assert [(one.target_id, one.permanence) for one in result.updated_facts] == [
        (UUID(ID), None), (UUID(ID), "volatile"), (UUID(ID), None),
    ]  # fmt: skip
    assert len(result.parse_errors) == 4 + 8
    assert result.parse_errors[-1] == "updated_facts[14].target_id: must be a UUID"


def test_new_rule_validation() -> None:
    result = read(
        new_rules=[
            {"content": " Be brief. ", "tags": ["style"]},
            {"content": "Be kind."},
            {"content": ""},
            "Be fast.",
            {},
        ]
    )
    assert [(rule.content, rule.tags) for rule in result.new_rules] == [
        ("Be brief.", ["style"]),
        ("Be kind.", []),
    ]
    assert result.parse_errors == [
        "new_rules[2].content: must not be blank",
        "new_rules[3]: must be an object",
        "new_rules[4].content: must be text",
    ]


def test_confirmation_validation() -> None:
    result = read(confirmations=[ID, "not an id", ID.replace("-", ""), 5, None, f"urn:uuid:{ID}"])
    assert result.confirmations == [UUID(ID)]
    assert result.parse_errors == [f"confirmations[{place}]: must be a UUID" for place in (1, 3, 4, 5)]


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("given", [{}, "x", 5, True])
def test_what_is_no_list_is_told_and_the_other_lists_stand(name: str, given: Any) -> None:
    result = read(**{"new_facts": [FACT], "confirmations": [ID]} | {name: given})
    assert result.found
    assert result.parse_errors == [f"{name}: must be a list"]
    assert (name == "new_facts") == (result.new_facts == [])
    assert (name == "confirmations") == (result.confirmations == [])


def test_200_items_of_a_list_are_read() -> None:
    result = read(new_facts=[FACT] * 201, new_rules=[{"content": "Be brief."}] * 200)
    assert (len(result.new_facts), len(result.new_rules)) == (MOST_ITEMS, 200)
    assert result.parse_errors == ["new_facts: has 201 items, of which the first 200 are read"]


@pytest.mark.parametrize(
    ("field", "longest", "too_long"),
    [
        ("subject", "x" * 512, "x" * 513),
        ("predicate", "x" * 512, "x" * 513),
        ("content", "x" * 16_384, "x" * 16_385),
        ("tags", ["x" * 128], ["x" * 129]),
        ("tags", [str(n) for n in range(64)], [str(n) for n in range(65)]),
        ("tags", ["fine"], ["fine", 5]),
        ("tags", ["fine"], [""]),
        ("subject", "a b", "a\x00b"),
        ("content", "a\x00b", "\ud800"),
        ("subject", "\ud83d\ude00", "\ude00"),
    ],
)
def test_an_item_out_of_bounds_is_its_own_error(field: str, longest: Any, too_long: Any) -> None:
    result = read(new_facts=[FACT | {field: too_long}, FACT | {field: longest}])
    assert len(result.new_facts) == 1
    (error,) = result.parse_errors
    assert error.startswith(f"new_facts[0].{field}: ")
    assert not any("\ud800" <= character <= "\udfff" for character in error)


def test_a_line_end_in_a_text_and_a_key_given_twice_are_taken() -> None:
    text = '{"new_rules": [], "new_rules": [{"content": "one\ntwo", "content": "three\nfour"}]}'
    assert [rule.content for rule in read_answer(text).new_rules] == ["three\nfour"]


# Nothing in it harms

LARGE = 1024 * 1024


@pytest.mark.parametrize(
    "text",
    [
        "{" * LARGE,
        '{"a":' * (LARGE // 5),
        '{"new_facts": ' + "[" * LARGE,
        '{"new_facts": ' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"new_facts": [' + '{"a":' * 5000 + "1" + "}" * 5000 + "]}",
        '"' * LARGE,
        "{" + '"' * LARGE,
        '{"' + '\\"' * (LARGE // 2),
        '{"' + "\\" * LARGE,
        "{}" * (LARGE // 2) + "x",
        "{x}" * (LARGE // 3),
        "{ " * (LARGE // 2),
        "```json" * (LARGE // 7),
        '{"new_facts": [' + "1" * 100_000 + "]}",
        '{"confirmations": [' + ",".join(["1"] * (LARGE // 2)) + "]}",
        '{"new_facts": [{"subject": "' + "x" * LARGE + '"}]}',
    ],
    ids=lambda text: text[:16],
)  # fmt: skip
def test_hostile_megabytes_are_read_at_once(text: str) -> None:
    result = read_answer(text)
    assert len(result.parse_errors) <= 4 * (MOST_ITEMS + 1)
    assert sum(map(len, result.parse_errors)) < 100_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(ID),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["subject", "predicate", "content", "target_id", "tags", "permanence", "importance"]
            ),
            inner,
        )
    ),
    max_leaves=20,
)
ANSWERS = st.dictionaries(st.sampled_from(list(EMPTY)), JSON, max_size=4)


@given(ANSWERS, st.text(max_size=20), st.booleans())
def test_whatever_an_answer_holds_what_is_read_of_it_is_sound(
    answer: dict[str, Any], around: str, fenced: bool
) -> None:
    block = json.dumps(answer)
    text = f"{around}\n```json\n{block}\n```\n{around}" if fenced else block
    check(read_answer(text))


@given(st.text(alphabet='{}[]",:\\`json \n1aé\ud800', max_size=60))
def test_whatever_text_comes_nothing_raises(text: str) -> None:
    check(read_answer(text))


@given(st.lists(st.fixed_dictionaries({name: st.text(min_size=1, max_size=20) for name in FACT}), max_size=5))
def test_sound_facts_come_through_in_their_order(facts: list[dict[str, str]]) -> None:
    result = read(new_facts=facts)
    assert len(result.new_facts) + len(result.parse_errors) == len(facts)
    kept = iter(facts)
    for fact in result.new_facts:
        assert any(
            one["subject"].strip() == fact.subject
            and one["content"].replace("\x00", "").strip() == fact.content
            for one in kept
        )


def check(result: ConsolidationResult) -> None:
    assert result.found or len(result.parse_errors) == 1
    assert (NO_JSON in result.parse_errors) <= (not result.found)
    for fact in result.new_facts:
        assert 0 < len(fact.subject) <= 512
        assert 0 < len(fact.predicate) <= 512
        assert fact.content.encode()
        assert 1.0 <= fact.importance <= 10.0
        assert math.isfinite(fact.importance)
    assert len(set(result.confirmations)) == len(result.confirmations)
