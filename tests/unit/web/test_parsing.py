"""From bytes to a checked request: every fault has a path, and no value comes back in a message."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from elf.api.bodies import FreeJson, NulDropped
from elf.api.json_bounds import JsonBounds
from elf.core.cjk import CJK_MESSAGE, contains_cjk
from elf.core.errors import InvalidRequest, NonEnglishInput, ServiceError
from elf.core.slices import at_once
from elf.families.notes.api.requests import AddNoteRequest, GetNoteRequest, ListRequest, SearchRequest
from elf.web.parsing import parse_body, parse_values, reading_body

CJK = "\u4e2d"
NOTE: dict[str, Any] = {"type": "fact", "text": "x", "importance": 0.5, "confidence": 0.5}
BODY: dict[str, Any] = {
    "tenant_id": "t", "project_id": "p", "agent_id": "a", "scope": "project_shared", "notes": [NOTE],
}  # fmt: skip


def body(**note: Any) -> bytes:
    return json.dumps(BODY | {"notes": [NOTE | note]}).encode()


def raw_note(field: str, value: str) -> bytes:
    """A body whose note has a field with this raw JSON text."""
    return body(**{field: "@"}).replace(b'"@"', value.encode())


def refused(parse: Callable[[], object], kind: type[ServiceError] = InvalidRequest) -> ServiceError:
    with pytest.raises(kind) as caught:
        parse()
    assert type(caught.value) is kind
    return caught.value


def test_a_good_body_is_read() -> None:
    request = parse_body(
        AddNoteRequest, body(text="Fact: caf\u00e9 \U0001f600.", source_ref={"k": [1, None]})
    )
    assert request.notes[0].text == "Fact: caf\u00e9 \U0001f600."
    assert request.notes[0].source_ref == {"k": [1, None]}


@pytest.mark.parametrize(
    "junk",
    [
        b"", b" ", b"{", b"nul", b"{'a': 1}", b'{"a": 1,}', b'{"a": 1} x', b"\xff\xfe", b'"\xff"', b"\xef\xbb\xbf{}",
        b'{"a": NaN}', b'{"a": Infinity}', b'{"a": -Infinity}', b'{"a": 1e999}', b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": "\\ud800"}', b'{"a": "\x01"}', b'{"a": "\x00"}', b"[" * 100_000, b'{"a":' * 100_000,
    ],
)  # fmt: skip
def test_what_is_not_json_is_refused_and_not_quoted(junk: bytes) -> None:
    error = refused(lambda: parse_body(AddNoteRequest, junk))
    assert len(error.message) < 200


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999", "-1e999"])
def test_numbers_that_are_none_are_refused(value: str) -> None:
    for field in ("importance", "ttl_days", "source_ref"):
        refused(lambda field=field: parse_body(AddNoteRequest, raw_note(field, value)))


@pytest.mark.parametrize("value", ["1e300", "1" + "0" * 300])
def test_a_number_out_of_bounds_is_refused_with_its_path(value: str) -> None:
    for field in ("importance", "ttl_days"):
        error = refused(lambda field=field: parse_body(AddNoteRequest, raw_note(field, value)))
        assert error.fields == (f"$.notes[0].{field}",)


@pytest.mark.parametrize("depth", [300, 5000])
def test_deep_nesting_is_refused(depth: int) -> None:
    refused(lambda: parse_body(AddNoteRequest, raw_note("source_ref", '{"a":' * depth + "1" + "}" * depth)))


def test_reasonable_nesting_is_read() -> None:
    parse_body(AddNoteRequest, raw_note("source_ref", '{"a":' * 100 + "1" + "}" * 100))


# NUL


def test_nul_is_refused_with_every_path() -> None:
    raw = body(text="a\x00b", key="\x00", source_ref={"a\x00": 1, "b": ["\x00"]})
    error = refused(lambda: parse_body(AddNoteRequest, raw))
    assert error.fields == (
        "$.notes[0].text", "$.notes[0].key", '$.notes[0].source_ref["a\\u0000"]',
        '$.notes[0].source_ref["b"][0]',
    )  # fmt: skip
    assert "NUL" in error.message


def test_nul_in_a_query_string_is_refused_with_its_path() -> None:
    values = {"tenant_id": "a\x00", "project_id": "p"}
    assert refused(lambda: parse_values(ListRequest, values)).fields == ("$.tenant_id",)


# CJK


def test_cjk_is_refused_with_every_path_in_the_order_of_the_request() -> None:
    notes = [
        NOTE | {"text": CJK},
        NOTE,
        NOTE | {"source_ref": {"k": ["x", CJK], CJK: {"deep": CJK}}, "key": CJK},
    ]
    raw = json.dumps(BODY | {"notes": notes, "scope": CJK}, ensure_ascii=False).encode()
    error = refused(lambda: parse_body(AddNoteRequest, raw), NonEnglishInput)
    assert error.message == CJK_MESSAGE
    assert error.fields == (
        "$.scope",
        "$.notes[0].text",
        '$.notes[2].source_ref["k"][1]',
        f'$.notes[2].source_ref["{CJK}"]',
        f'$.notes[2].source_ref["{CJK}"]["deep"]',
        "$.notes[2].key",
    )


@pytest.mark.parametrize("ascii", [True, False])
def test_cjk_is_seen_whether_escaped_or_not(ascii: bool) -> None:
    raw = json.dumps(BODY | {"notes": [NOTE | {"text": CJK}]}, ensure_ascii=ascii).encode()
    assert refused(lambda: parse_body(AddNoteRequest, raw), NonEnglishInput).fields == ("$.notes[0].text",)


def test_cjk_wins_over_other_faults_and_is_seen_in_unknown_fields_too() -> None:
    raw = body(**{"importance": 7, "extra": [CJK], CJK: 1})
    error = refused(lambda: parse_body(AddNoteRequest, raw), NonEnglishInput)
    assert error.fields == ('$.notes[0]["extra"][0]', f'$.notes[0]["{CJK}"]')


@pytest.mark.parametrize(
    "raw", [f'"{CJK}"', f'["{CJK}"]', f'{{"notes": "{CJK}"}}', f'{{"notes": ["{CJK}"]}}']
)
def test_cjk_where_no_string_belongs_is_still_cjk(raw: str) -> None:
    refused(lambda: parse_body(AddNoteRequest, raw.encode()), NonEnglishInput)


def test_cjk_in_a_query_string_is_refused_with_its_path() -> None:
    values = {"tenant_id": "t", "project_id": CJK}
    error = refused(lambda: parse_values(ListRequest, values), NonEnglishInput)
    assert error.fields == ("$.project_id",)


# The model


@pytest.mark.parametrize(
    ("note", "path"),
    [
        ({"importance": "0.5"}, "$.notes[0].importance"),
        ({"importance": 1.5}, "$.notes[0].importance"),
        ({"text": 5}, "$.notes[0].text"),
        ({"source_ref": []}, "$.notes[0].source_ref"),
        ({"txt": "x"}, "$.notes[0].txt"),
    ],
)
def test_a_fault_of_the_model_has_its_path(note: dict[str, Any], path: str) -> None:
    error = refused(lambda: parse_body(AddNoteRequest, body(**note)))
    assert error.fields == (path,)
    assert error.message.startswith(f"{path}: ")


@pytest.mark.parametrize("raw", ["[]", "5", '"x"', "null", "true"])
def test_a_body_that_is_no_object_is_refused(raw: str) -> None:
    assert refused(lambda: parse_body(AddNoteRequest, raw.encode())).fields == ("$",)


def test_a_blank_name_is_said_to_be_blank() -> None:
    error = refused(lambda: parse_values(ListRequest, {"tenant_id": " ", "project_id": "p"}))
    assert error.message == "$.tenant_id: should not be blank"


def test_what_is_missing_and_what_is_unknown_is_said() -> None:
    error = refused(lambda: parse_body(SearchRequest, b'{"tenant_id": "t", "top_kk": 3}'))
    assert error.fields == ("$.project_id", "$.agent_id", "$.read_profile", "$.query", "$.top_kk")
    assert "$.query: is missing" in error.message
    assert "$.top_kk: is not a known field" in error.message


def test_many_faults_have_all_their_paths_and_a_short_message() -> None:
    raw = json.dumps(BODY | {"notes": [NOTE | {"importance": 2}] * 40}).encode()
    error = refused(lambda: parse_body(AddNoteRequest, raw))
    assert error.fields == tuple(f"$.notes[{number}].importance" for number in range(40))
    assert error.message.endswith("and 35 more")


def test_a_rule_between_fields_is_said_in_its_own_words() -> None:
    raw = {"tenant_id": "t", "project_id": "p", "agent_id": "a", "read_profile": "r", "query": "q"}
    error = refused(
        lambda: parse_body(SearchRequest, json.dumps(raw | {"top_k": 9, "candidate_k": 3}).encode())
    )
    assert error.message == "$: top_k must not be greater than candidate_k"


def test_values_of_a_query_string_are_converted_and_bounded() -> None:
    request = parse_values(ListRequest, {"tenant_id": "t", "project_id": "p", "limit": "7"})
    assert request.limit == 7
    for limit in ("0", "201", "x", "", "1.5", "1e2"):
        values = {"tenant_id": "t", "project_id": "p", "limit": limit}
        assert refused(lambda values=values: parse_values(ListRequest, values)).fields == ("$.limit",)


MARK = "qzvxkw"


@given(
    st.sampled_from(["type", "text", "key", "importance", "confidence", "ttl_days", "source_ref"]),
    st.sampled_from([MARK, [MARK], {MARK: MARK}, MARK * 50, 77_123.5, [[77_123.5]], True]),
)
def test_messages_never_echo_a_value(field: str, value: Any) -> None:
    answer = ""
    try:
        parse_body(AddNoteRequest, body(**{field: value}))
    except InvalidRequest as error:
        answer = f"{error.message} {error.fields}"
    assert MARK not in answer
    assert "77123" not in answer


@pytest.mark.parametrize("value", [MARK, "z", "{}", MARK * 9])
def test_a_bad_id_is_not_echoed_even_in_part(value: str) -> None:
    error = refused(lambda: parse_values(GetNoteRequest, {"note_id": value}))
    assert error.message == "$.note_id: should be a valid UUID"


class Wish(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    note_id: UUID
    limit: int = 1


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: int = 1


ID = "7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11"


@pytest.mark.parametrize(("raw", "limit"), [(b"{}", 1), (b'{"limit": 2}', 2)])
def test_values_of_a_path_complete_a_body(raw: bytes, limit: int) -> None:
    assert parse_body(Wish, raw, {"note_id": ID}) == Wish(note_id=UUID(ID), limit=limit)


def test_a_body_may_not_name_what_the_path_gives() -> None:
    raw = json.dumps({"note_id": ID}).encode()
    assert refused(lambda: parse_body(Wish, raw, {"note_id": ID})).fields == ("$.note_id",)


def test_values_of_a_path_are_checked_like_a_body() -> None:
    assert refused(lambda: parse_body(Wish, b"{}", {"note_id": "x"})).fields == ("$.note_id",)
    fields = refused(lambda: parse_body(Wish, b"{}", {"note_id": CJK}), NonEnglishInput).fields
    assert fields == ("$.note_id",)


@pytest.mark.parametrize("raw", ["[]", "5", '"x"', "null"])
def test_a_body_that_is_no_object_is_refused_beside_a_path_too(raw: str) -> None:
    refused(lambda: parse_body(Wish, raw.encode(), {"note_id": ID}))


def test_a_body_may_be_left_out_only_where_nothing_is_asked_for() -> None:
    assert parse_body(Nothing, b"") == Nothing()
    refused(lambda: parse_body(Wish, b""))
    refused(lambda: parse_body(Nothing, b" "))


# Large requests

ENCODABLE = st.characters(exclude_categories=["Cs"])


def test_free_json_comes_back_as_it_was_sent() -> None:
    reference = {"n": [10**30, -0.0, 1e-7, True, None], "": {"deep": [{}]}, "text": "caf\u00e9 \U0001f600"}
    notes = [NOTE | {"source_ref": reference}, NOTE, NOTE | {"source_ref": {}}]
    request = parse_body(AddNoteRequest, json.dumps(BODY | {"notes": notes}).encode())
    assert [note.source_ref for note in request.notes] == [reference, {}, {}]
    assert "source_ref" not in request.notes[1].model_fields_set


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            ),
            max_leaves=10,
        ),
        max_size=4,
    )
)
def test_any_json_object_is_a_reference(reference: dict[str, Any]) -> None:
    raw = body(source_ref=reference)
    if "\\u0000" in json.dumps(reference):
        assert refused(lambda: parse_body(AddNoteRequest, raw)).fields
    elif contains_cjk(json.dumps(reference, ensure_ascii=False)):
        assert refused(lambda: parse_body(AddNoteRequest, raw), NonEnglishInput).fields
    else:
        assert parse_body(AddNoteRequest, raw).notes[0].source_ref == reference


@pytest.mark.parametrize("reference", ["x", 5, None, True, ["a"], []])
def test_a_reference_that_is_no_object_is_refused(reference: Any) -> None:
    assert refused(lambda: parse_body(AddNoteRequest, body(source_ref=reference))).fields == (
        "$.notes[0].source_ref",
    )


@pytest.mark.parametrize("value", [[{}], {"a": 1}, [], [[[]]]])
def test_a_container_where_none_belongs_is_refused_by_its_path(value: Any) -> None:
    for field in ("text", "key", "importance", "type"):
        assert refused(lambda field=field: parse_body(AddNoteRequest, body(**{field: value}))).fields == (
            f"$.notes[0].{field}",
        )


def test_a_list_that_is_too_long_is_not_judged_item_by_item() -> None:
    raw = json.dumps(BODY | {"notes": [{"x": 1}] * 10_000}).encode()
    error = refused(lambda: parse_body(AddNoteRequest, raw))
    assert (error.fields, error.message) == (
        ("$.notes",), "$.notes: list should have at most 256 items, not 10000"
    )  # fmt: skip


def test_a_flood_of_unknown_fields_is_refused_with_the_first_of_them() -> None:
    raw = json.dumps(BODY | {f"extra{number}": 1 for number in range(5000)}).encode()
    error = refused(lambda: parse_body(AddNoteRequest, raw))
    assert len(error.fields) == 101
    assert error.fields[0] == "$.extra0"
    assert "is not a known field" in error.message


def test_a_flood_of_cjk_is_refused_with_the_first_paths() -> None:
    raw = body(source_ref={"k" * 100: [CJK] * 50_000})
    error = refused(lambda: parse_body(AddNoteRequest, raw), NonEnglishInput)
    assert error.fields[0] == f'$.notes[0].source_ref["{"k" * 100}"][0]'
    assert sum(map(len, error.fields)) < 70_000


def test_the_paths_of_very_long_keys_are_cut() -> None:
    raw = body(**{"q" * 100_000: 1})
    assert refused(lambda: parse_body(AddNoteRequest, raw)).fields == (f"$.notes[0].{'q' * 128}...",)


def test_a_body_of_very_many_values_is_refused() -> None:
    error = refused(lambda: parse_body(AddNoteRequest, body(source_ref={"k": [7] * 100_000})))
    assert error.message == "the body holds more than 100,000 values"
    parse_body(AddNoteRequest, body(source_ref={"k": [7] * 99_000}))
    parse_body(AddNoteRequest, body(source_ref={"k": ["[,{" * 5000] * 10}))


def test_a_body_whose_numbers_are_very_long_written_out_is_refused() -> None:
    for number, most in ((1e-320, 200), (10**300, 210)):
        parse_body(AddNoteRequest, body(source_ref={"k": [number] * most}))
        error = refused(
            lambda number=number: parse_body(AddNoteRequest, body(source_ref={"k": [number] * 300}))
        )
        assert error.message.startswith("the long numbers of the body have more than 65,536 digits in all")


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ({"k": "x" * 16_385}, '$.notes[0].source_ref["k"]'),
        ({"k": [1, {"\u00e9" * 16_385: 2}]}, '$.notes[0].source_ref["k"][1]["' + "\u00e9" * 128 + '..."]'),
    ],
)
def test_a_string_of_a_reference_has_the_length_of_a_message_at_most(reference: Any, path: str) -> None:
    error = refused(lambda: parse_body(AddNoteRequest, body(source_ref=reference)))
    assert error.fields == (path,)
    assert "at most 16384 characters" in error.message


def test_reading_gives_way_now_and_then() -> None:
    raw = body(source_ref={"k": ["\u00e9"] * 20_000})
    assert len(list(reading_body(AddNoteRequest, raw))) > 300


class NotedRequest(BaseModel):
    """Text in which a NUL is dropped, and a name in which it is a fault."""

    content: Annotated[str, NulDropped()]
    more: Annotated[str, NulDropped()] | None = None
    name: str = ""


@pytest.mark.parametrize("body", [rb'{"content": "a\u0000b"}', rb'{"content": "a", "more": "\u0000"}'])
def test_a_nul_may_stand_where_it_is_dropped(body: bytes) -> None:
    request = parse_body(NotedRequest, body)
    assert "\x00" in request.content + (request.more or "")  # the field itself would drop it


def test_a_nul_beside_one_that_is_dropped_is_a_fault() -> None:
    with pytest.raises(InvalidRequest, match="NUL") as error:
        parse_body(NotedRequest, rb'{"content": "a\u0000b", "name": "\u0000"}')
    assert error.value.fields == ("$.name",)


def test_text_in_which_a_nul_is_dropped_is_english_still() -> None:
    with pytest.raises(NonEnglishInput) as error:
        parse_body(NotedRequest, '{"content": "\u4f60\\u0000"}'.encode())
    assert error.value.fields == ("$.content",)


class Scored(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    scores: Annotated[dict[str, float], Field(max_length=3)] | None = None


@pytest.mark.parametrize(
    ("scores", "fields", "said"),
    [
        ('{"a": {}}', ("$.scores.a",), "valid number"),
        ('{"a": [[[]]]}', ("$.scores.a",), "valid number"),
        ('{"a": "1"}', ("$.scores.a",), "valid number"),
        ("[]", ("$.scores",), "object"),
        ('{"a": 1, "b": 2, "c": 3, "d": 4}', ("$.scores",), "at most 3 items"),
    ],
)
def test_an_object_of_numbers_is_judged_as_such(scores: str, fields: tuple[str, ...], said: str) -> None:
    error = refused(lambda: parse_body(Scored, f'{{"scores": {scores}}}'.encode()))
    assert (error.fields, said in error.message) == (fields, True)
    assert parse_body(Scored, b'{"scores": {"a": 1.5}}').scores == {"a": 1.5}


def _at_most_two(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) > 2:
        raise ValueError("has more than two keys")
    return value


Few = Annotated[dict[str, Any], AfterValidator(_at_most_two)]


class Free(BaseModel):
    """Free JSON that is judged, wherever it stands."""

    model_config = ConfigDict(extra="forbid")
    own: Few = Field(default_factory=dict)
    other: Few | None = None
    items: list[Free] = Field(default_factory=list)


THREE = {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ({"own": {"a": {"b": [1, 2, 3]}}, "other": None}, ()),
        ({"own": THREE}, ("$.own",)),
        ({"other": THREE}, ("$.other",)),
        ({"items": [{"own": {}}, {"own": THREE, "items": [{"other": THREE}]}]},
         ("$.items[1].own", "$.items[1].items[0].other")),
    ],
)  # fmt: skip
def test_free_json_is_judged_by_the_validators_of_its_field(value: Any, paths: tuple[str, ...]) -> None:
    content = json.dumps(value).encode()
    if not paths:
        assert parse_body(Free, content).model_dump(exclude_unset=True) == value
        return
    error = refused(lambda: parse_body(Free, content))
    assert error.fields == paths
    assert all(f"{path}: has more than two keys" in error.message for path in paths)


class Kept(BaseModel):
    """Free JSON of any language."""

    model_config = ConfigDict(extra="forbid")

    content: Annotated[list[Any], FreeJson()]


def kept(content: str) -> list[Any]:
    bounds = JsonBounds(values=1000, long_digits=1000, depth=3, string_chars=1000)
    asked = reading_body(Kept, f'{{"content": {content}}}'.encode(), text="any", bounds=bounds)
    return at_once(asked).content


@pytest.mark.parametrize(
    "content", ['["\u4e2d"]', r'["\u4e2d"]', r'["\\u0000"]', "[[[1, 2]]]", f'["{"x" * 1000}"]']
)
def test_free_json_of_any_language_is_kept_as_it_is(content: str) -> None:
    assert kept(content) == json.loads(content)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (r'[{"a": "\u0000"}]', '$.content[0]["a"]'),
        (r'[{"\u0000": 1}]', '$.content[0]["\\u0000"]'),
        ("[1, [[[]]]]", "$.content[1][0][0]"),
        (f'["{"x" * 1001}"]', "$.content[0]"),
    ],
)
def test_free_json_of_any_language_has_bounds_and_no_nul(content: str, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        kept(content)
    assert list(caught.value.fields) == [field]
