"""What files become: memories and edges, or a rejection that names its code and its fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.graph.extraction.candidate import Candidate, Extraction
from elf.families.graph.extraction.rules import extract
from elf.families.graph.ingest import json_files, text_files
from elf.families.graph.ingest.material import Material, Quote, SourceFile
from elf.families.graph.ingest.rejection import Rejection

NOW: Final = datetime(2026, 1, 2, tzinfo=UTC)
MOST = 100_000
FILE: Final = SourceFile(
    key="k", orchestrator_id="o", path="/m/ingest/processed/a", dropped_path="/m/ingest/a", taken_at=NOW
)


def memory(**changes: Any) -> dict[str, Any]:
    told: dict[str, Any] = {
        "memoryId": "m1",
        "type": "Fact",
        "importance": 5,
        "content": "The  sky\nis blue.",
        "summary": "Blue.",
        "confidence": 1,
        "source": {"sourceType": "manual", "capturedBy": "user"},
        "status": "active",
    }
    return told | changes


def edge(**changes: Any) -> dict[str, Any]:
    ends = {"fromMemoryId": "m1", "toMemoryId": "m2"}
    return {"edgeId": "e1", **ends, "edgeType": "RelatedTo", "weight": 0.5, **changes}


def material(*memories: Any, edges: Any = ()) -> Material:
    data = json.dumps({"memories": list(memories), "edges": list(edges)}).encode()
    return json_files.material_of(json_files.told_in(data), FILE)


def rejected(call: Callable[[], object]) -> tuple[str, list[str]]:
    with pytest.raises(Rejection) as caught:
        call()
    return caught.value.code, list(caught.value.fields)


def test_a_file_of_json_tells_its_memories_and_edges() -> None:
    made = material(
        memory(), memory(memoryId="m2", createdAt=0, updatedAt="2026-01-01T01:00:00+01:00"), edges=[edge()]
    )
    assert [(one.memory_id, one.content, one.created_at) for one in made.memories] == [
        ("m1", "The sky is blue.", NOW),
        ("m2", "The sky is blue.", datetime(1970, 1, 1, tzinfo=UTC)),
    ]
    assert made.memories[1].updated_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert [(one.edge_id, one.weight, one.created_at) for one in made.edges] == [("e1", 0.5, NOW)]
    assert made.extractor == "json"


@pytest.mark.parametrize("given_path", [None, "/m/ingest/a"])
def test_a_file_that_names_itself_is_named_where_it_ends(given_path: str | None) -> None:
    source = {"sourceType": "ingest_file", "capturedBy": "extractor"}
    if given_path is not None:
        source["sourcePath"] = given_path
    (made,) = material(memory(source=source)).memories
    assert made.source.source_path == "/m/ingest/processed/a"


@pytest.mark.parametrize(
    ("told", "code", "fields"),
    [
        ({"nope": 1}, "invalid_shape", ["$.memories[0].nope"]),
        ({"memoryId": "a b"}, "invalid_shape", ["$.memories[0].memoryId"]),
        ({"type": "fact", "importance": 101}, "invalid_shape", ["$.memories[0].type", "$.memories[0].importance"]),
        ({"importance": True}, "invalid_shape", ["$.memories[0].importance"]),
        ({"confidence": 1.01}, "invalid_shape", ["$.memories[0].confidence"]),
        ({"status": "gone"}, "invalid_shape", ["$.memories[0].status"]),
        ({"createdAt": "yesterday"}, "invalid_shape", ["$.memories[0].createdAt"]),
        ({"updatedAt": 1e300}, "invalid_shape", ["$.memories[0].updatedAt"]),
        ({"content": "x" * 16_385}, "invalid_shape", ["$.memories[0].content"]),
        ({"summary": "x" * 281}, "invalid_shape", ["$.memories[0].summary"]),
        ({"content": " \u200b\n\u0000"}, "empty_content", ["$.memories[0].content"]),
        ({"summary": ""}, "empty_summary", ["$.memories[0].summary"]),
        ({"orchestratorId": "other"}, "scope_mismatch", ["$.memories[0].orchestratorId"]),
        ({"content": "AKIA" + "Q3EGRV7XWZLK2PHM"}, "secret_detected", ["$.memories[0].content"]),
        (
            {"source": {"sourceType": "manual", "capturedBy": "user", "sourcePath": "/m/../x"}},
            "invalid_source_path",
            ["$.memories[0].source.sourcePath"],
        ),
        (
            {"source": {"sourceType": "workflow_output", "capturedBy": "user", "more": 1}},
            "invalid_shape",
            ["$.memories[0].source.more"],
        ),
        (
            {"source": {"sourceType": "workflow_output", "capturedBy": "user"}},
            "invalid_shape",
            ["$.memories[0].source.workflowRunId", "$.memories[0].source.stepId"],
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_memory_is_told_with_its_path(
    told: dict[str, Any], code: str, fields: list[str]
) -> None:
    assert rejected(lambda: material(memory(**told))) == (code, fields)


def test_a_content_is_measured_with_its_whitespace_collapsed() -> None:
    (made,) = material(memory(content="xxx     " * 4096)).memories
    assert len(made.content) == 16_383


@pytest.mark.parametrize("left_out", [*memory()])
def test_all_else_of_a_memory_is_required(left_out: str) -> None:
    told = memory()
    del told[left_out]
    assert rejected(lambda: material(told)) == ("invalid_shape", [f"$.memories[0].{left_out}"])


def test_what_is_wrong_with_edges_is_told_with_its_path() -> None:
    two = memory(), memory(memoryId="m2")
    assert rejected(lambda: material(*two, edges=[edge(), edge()])) == (
        "invalid_shape",
        ["$.edges[1].edgeId"],
    )
    assert rejected(lambda: material(*two, edges=[edge(toMemoryId="m1")])) == (
        "invalid_shape",
        ["$.edges[0].toMemoryId"],
    )
    assert rejected(lambda: material(*two, edges=[edge(weight=-1, kind="x")])) == (
        "invalid_shape",
        ["$.edges[0].weight", "$.edges[0].kind"],
    )


def test_a_memory_stands_in_a_file_once() -> None:
    assert rejected(lambda: material(memory(), memory())) == ("invalid_shape", ["$.memories[1].memoryId"])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b'{"memories": [], "edges": []} more', "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
        (b'{"memories": "\xff"}', "invalid_utf8"),
        (b'{"a": "\\ud800"}', "invalid_json"),
        (b"[]", "invalid_shape"),
        (b"null", "invalid_shape"),
        (b'{"memories": []}', "invalid_shape"),
    ],
)
def test_what_is_no_such_json_is_rejected(data: bytes, code: str) -> None:
    assert rejected(lambda: json_files.told_in(data))[0] == code


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_rejected(data: bytes) -> None:
    for read in (text_files.text_of, json_files.told_in):
        with suppress(Rejection):
            assert read(data)


def test_a_text_stays_as_an_observation_with_its_statements_as_parts() -> None:
    text = "# Notes\n\nWe decided to use Postgres for the ledger.\n\n- [ ] Rotate the logs\n"
    made = text_files.material_of(
        text, Extraction(extractor="rules", candidates=extract(text)), FILE, indexed_chars=MOST
    )
    observation, *stated = made.memories
    assert (observation.type, observation.importance, observation.confidence) == ("Observation", 50, 0.6)
    assert observation.content == " ".join(text.split())
    assert [(one.type, one.source.source_path) for one in stated] == [
        ("Decision", FILE.path),
        ("Todo", FILE.path),
    ]
    assert {(one.from_memory_id, one.to_memory_id, one.edge_type) for one in made.edges} == {
        (one.memory_id, observation.memory_id, "PartOf") for one in stated
    }
    for one in stated:
        quote = made.quotes[one.memory_id]
        assert text[quote.start : quote.end] == quote.text


def test_a_long_text_is_split_at_its_paragraphs_and_each_statement_is_part_of_its_own() -> None:
    paragraphs = ["a" * 3000, "b" * 900, "c" * 200, "d" * 5000]
    text = "\n\n".join(paragraphs)
    start = text.index("c")
    stated = Candidate(
        type="Fact", text="cc", quote="cc", start=start, end=start + 2, importance=55, confidence=0.7
    )
    made = text_files.material_of(
        text, Extraction(extractor="rules", candidates=[stated]), FILE, indexed_chars=MOST
    )
    contents = [one.content for one in made.memories if one.type == "Observation"]
    assert [content[0] + content[-1] for content in contents] == ["ab", "cc", "dd", "dd"]
    assert [one.to_memory_id for one in made.edges] == [made.memories[1].memory_id]
    assert list(made.quotes.values()) == [Quote(text="cc", start=start, end=start + 2)]


def test_what_is_behind_the_indexed_characters_stays_as_observations_that_are_not_found() -> None:
    text = f"{'a' * 3000} {'b' * 3000} {'c' * 6000}"
    made = text_files.material_of(
        text, Extraction(extractor="rules", candidates=[]), FILE, indexed_chars=7000
    )
    assert "".join(one.content for one in made.memories).replace(" ", "") == text.replace(" ", "")
    found = "".join(one.content for one in made.memories if one.memory_id not in made.unindexed)
    assert found.replace(" ", "") == text[:7000].replace(" ", "")
    assert made.indexed_chars == 7000
    whole = text_files.material_of(
        text, Extraction(extractor="rules", candidates=[]), FILE, indexed_chars=len(text)
    )
    assert (whole.unindexed, whole.indexed_chars) == (set(), None)


def test_the_same_file_gives_the_same_ids_and_another_one_others() -> None:
    text = "We decided to use Postgres for the ledger."
    extraction = Extraction(extractor="rules", candidates=extract(text))
    first, again = (text_files.material_of(text, extraction, FILE, indexed_chars=MOST) for _ in range(2))
    other = text_files.material_of(
        text,
        extraction,
        SourceFile(key="l", orchestrator_id="o", path="/p", dropped_path="/d", taken_at=NOW),
        indexed_chars=MOST,
    )
    ids = {one.memory_id for one in first.memories}
    assert ids == {one.memory_id for one in again.memories}
    assert ids.isdisjoint(one.memory_id for one in other.memories)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_content"),
        (b"\xef\xbb\xbf \n\t", "empty_content"),
        (b"\0\0", "empty_content"),
        (b"caf\xe9", "invalid_utf8"),
        (("x" * 3990 + "\n\nAKIA" + "Q3EGRV7XWZLK2PHM").encode(), "secret_detected"),
    ],
)
def test_a_text_that_says_nothing_or_too_much_is_rejected(data: bytes, code: str) -> None:
    assert rejected(lambda: text_files.text_of(data)) == (code, [])


def test_a_byte_order_mark_is_no_text_and_a_nul_is_a_space() -> None:
    assert text_files.text_of(b"\xef\xbb\xbfa\0b") == "a b"
