"""What is asked of the rules of a memory, each by its own name; the files beside this one try each of them further."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest

from elf.core.errors import InvalidRequest, ScopeDenied
from elf.families.graph.api.writing import WriteEdges, WriteMemories
from elf.families.graph.model import EDGE_TYPES, NODE_TYPES, EdgeType, NodeType, Source
from elf.families.graph.rules.bulletin_lines import SECTIONS, Entry, compose, cut
from elf.families.graph.rules.provenance import check_fields, check_path
from elf.families.graph.rules.ranking import Weight, rank
from elf.web.parsing import parse_body

MEMORY: dict[str, Any] = {
    "type": "Fact", "importance": 50, "content": "The office is in Lisbon.", "confidence": 0.8,
    "source": {"sourceType": "manual", "capturedBy": "user"},
}  # fmt: skip
EDGE: dict[str, Any] = {"fromMemoryId": "a", "toMemoryId": "b", "edgeType": "RelatedTo", "weight": 0.5}
PLACE = {"tenant_id": "acme", "orchestrator_id": "planner"}
NOW = datetime(2026, 11, 24, tzinfo=UTC)


def written(**changes: object) -> Any:
    """Read a request to write a memory that is like the usual one but for what is said."""
    body = {**PLACE, "memories": [{**MEMORY, **changes}]}
    return parse_body(WriteMemories, json.dumps(body).encode()).memories[0]


def linked(**changes: object) -> Any:
    """Read a request to write an edge that is like the usual one but for what is said."""
    body = {**PLACE, "edges": [{**EDGE, **changes}]}
    return parse_body(WriteEdges, json.dumps(body).encode()).edges[0]


def refused(read: Any, **changes: object) -> tuple[str, ...]:
    """Return the paths of the fields that a request is refused for."""
    with pytest.raises(InvalidRequest) as caught:
        read(**changes)
    return tuple(caught.value.fields or ())


def test_memory_type_enum_validation_of_all_8() -> None:
    assert get_args(NodeType) == NODE_TYPES
    assert {written(type=one).type for one in NODE_TYPES} == {
        "Fact", "Preference", "Decision", "Identity", "Event", "Observation", "Goal", "Todo",
    }  # fmt: skip
    for wrong in ("fact", "FACT", "Rumour", "", None, 1, ["Fact"]):
        assert refused(written, type=wrong) == ("$.memories[0].type",)


def test_edge_type_enum_validation_of_all_5() -> None:
    assert get_args(EdgeType) == EDGE_TYPES
    assert {linked(edgeType=one).edgeType for one in EDGE_TYPES} == {
        "RelatedTo", "Updates", "Contradicts", "CausedBy", "PartOf",
    }  # fmt: skip
    for wrong in ("relatedto", "Knows", "", None, 1):
        assert refused(linked, edgeType=wrong) == ("$.edges[0].edgeType",)


def test_importance_and_confidence_bounds_validation() -> None:
    assert [written(importance=one).importance for one in (0, 100)] == [0, 100]
    assert [written(confidence=one).confidence for one in (0, 0.0, 1, 1.0)] == [0.0, 0.0, 1.0, 1.0]
    for wrong in (-1, 101, 50.5, "50", None, True):
        assert refused(written, importance=wrong) == ("$.memories[0].importance",), wrong
    for wrong in (-0.001, 1.001, "0.5", None, True):
        assert refused(written, confidence=wrong) == ("$.memories[0].confidence",), wrong
    assert refused(linked, weight=1.001) == ("$.edges[0].weight",)


def test_provenance_and_source_path_validation_and_canonicalization() -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_fields(Source(source_type="workflow_output", captured_by="system"), at="$.source")
    assert caught.value.fields == ("$.source.workflowRunId", "$.source.stepId")
    check_path("/ws/notes.md", real="/ws/notes.md", folders=["/ws"], at="$.p")
    for path, real in (
        ("notes.md", "/ws/notes.md"),
        ("/ws/../ws/notes.md", "/ws/notes.md"),
        ("/ws//notes.md", "/ws/notes.md"),
        ("/ws/link.md", "/etc/passwd"),
        ("/ws/none.md", None),
    ):
        with pytest.raises(InvalidRequest) as not_canonical:
            check_path(path, real=real, folders=["/ws"], at="$.p")
        assert not_canonical.value.fields == ("$.p",)
    with pytest.raises(ScopeDenied):
        check_path("/other/notes.md", real="/other/notes.md", folders=["/ws"], at="$.p")


def test_deterministic_rrf_merge_behavior() -> None:
    same = Weight(importance=0, confidence=1.0, updated_at=NOW, contradicted=False)
    text, vector = ["a", "b", "c"], ["c", "d", "a"]
    weights = dict.fromkeys("abcd", same)
    merged = rank(text=text, vector=vector, weights=weights, rrf_k=60, now=NOW)
    assert [(one.memory_id, one.terms.fused) for one in merged] == [
        ("a", 1 / 61 + 1 / 63), ("c", 1 / 63 + 1 / 61), ("b", 1 / 62), ("d", 1 / 62),
    ]  # fmt: skip
    backwards = dict(reversed(weights.items()))
    assert rank(text=text, vector=vector, weights=backwards, rrf_k=60, now=NOW) == merged
    old = {
        **weights,
        "a": Weight(importance=0, confidence=1.0, updated_at=NOW - timedelta(days=30), contradicted=False),
    }
    assert [one.memory_id for one in rank(text=text, vector=vector, weights=old, rrf_k=60, now=NOW)] == [
        "c", "a", "b", "d",
    ]  # fmt: skip


def test_deterministic_bulletin_truncation_and_prioritization() -> None:
    types: list[NodeType] = [*NODE_TYPES] * 3
    shown = [
        Entry(
            memory_id=f"m-{number}",
            type=one,
            text=f"what is said in {number}",
            confidence=1.0,
            contradicted=False,
        )
        for number, one in enumerate(types)
    ]
    needed = {one.memory_id for one in shown if one.type in ("Goal", "Todo", "Decision")}
    whole = compose(shown, max_chars=20_000)
    assert list(whole.sections) == list(SECTIONS)
    for max_chars in range(1, len(whole.rendered) + 1):
        bulletin = compose(shown, max_chars=max_chars)
        assert bulletin == compose(list(shown), max_chars=max_chars)
        assert bulletin == cut(whole.sections, max_chars=max_chars)
        assert len(bulletin.rendered) <= max_chars
        told = {line.memory_id for lines in bulletin.sections.values() for line in lines}
        assert needed <= told or not told - needed, "another kind is told where a needed one is not"
