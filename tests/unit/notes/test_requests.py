"""The bounds of request bodies, each at its edge."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from pydantic import BaseModel, ValidationError

from elf.families.notes.api.requests import (
    AddNoteRequest,
    DeleteRequest,
    GetNoteRequest,
    ListRequest,
    NewNote,
    SearchRequest,
    UpdateRequest,
)

CONTEXT = {"tenant_id": "t", "project_id": "p", "agent_id": "a"}
NOTE = {"type": "fact", "text": "x", "importance": 0.5, "confidence": 0.5}
SEARCH = CONTEXT | {"read_profile": "all_scopes", "query": "q"}
UPDATE = CONTEXT | {"note_id": str(uuid4()), "text": "x"}

MINIMAL: dict[type[BaseModel], dict[str, Any]] = {
    NewNote: NOTE,
    AddNoteRequest: CONTEXT | {"scope": "s", "notes": [NOTE]},
    SearchRequest: SEARCH,
    UpdateRequest: UPDATE,
    DeleteRequest: CONTEXT | {"note_id": str(uuid4())},
    ListRequest: {"tenant_id": "t", "project_id": "p"},
    GetNoteRequest: {"note_id": str(uuid4())},
}


def read(model: type[BaseModel], **changes: Any) -> BaseModel:
    import json

    return model.model_validate_json(json.dumps(MINIMAL[model] | changes))


@pytest.mark.parametrize("model", MINIMAL)
def test_a_minimal_request_is_taken(model: type[BaseModel]) -> None:
    read(model)


@pytest.mark.parametrize("model", MINIMAL)
def test_an_unknown_field_is_refused(model: type[BaseModel]) -> None:
    with pytest.raises(ValidationError, match="surprise"):
        read(model, surprise=1)


@pytest.mark.parametrize(
    ("model", "field", "good"),
    [
        (AddNoteRequest, "tenant_id", ["a", "x" * 128, " a "]),
        (AddNoteRequest, "scope", ["", "x" * 128]),
        (AddNoteRequest, "notes", [[NOTE] * 256]),
        (NewNote, "type", ["", "unheard of"]),
        (NewNote, "text", ["", "x" * 100_000]),
        (NewNote, "key", [None, "x", "x" * 128]),
        (NewNote, "importance", [0, 0.0, 1, 1.0, -0.0]),
        (NewNote, "confidence", [0, 1]),
        (NewNote, "ttl_days", [None, 0, -1, 36_500, 0.5, -36_500]),
        (NewNote, "source_ref", [{}, {"a": [1, None, {"b": 1.5}]}]),
        (SearchRequest, "query", ["x", "x" * 2048]),
        (SearchRequest, "top_k", [None, 1, 100, 5.0]),
        (SearchRequest, "candidate_k", [None, 1, 1000]),
        (SearchRequest, "record_hits", [True, False]),
        (UpdateRequest, "importance", [None, 0, 1]),
        (ListRequest, "limit", [1, 200]),
        (ListRequest, "status", ["active", "deleted", "deprecated", "expired"]),
        (ListRequest, "agent_id", [None, "a"]),
    ],
)
def test_values_up_to_the_bound_are_taken(model: type[BaseModel], field: str, good: list[Any]) -> None:
    for value in good:
        assert getattr(read(model, **{field: value}), field) is not ...


@pytest.mark.parametrize(
    ("model", "field", "bad"),
    [
        (AddNoteRequest, "tenant_id", ["", " ", "x" * 129, 1, None, ["a"]]),
        (AddNoteRequest, "project_id", ["", "\t"]),
        (AddNoteRequest, "agent_id", ["", "x" * 129]),
        (AddNoteRequest, "scope", ["x" * 129, None, 1]),
        (AddNoteRequest, "notes", [[], [NOTE] * 257, None, NOTE]),
        (NewNote, "type", ["x" * 129, None, 1]),
        (NewNote, "text", [None, 1, ["x"]]),
        (NewNote, "key", ["", " ", "x" * 129, 1]),
        (NewNote, "importance", [-0.01, 1.01, "0.5", True, None, 10**400]),
        (NewNote, "confidence", [-1, 2, "1"]),
        (NewNote, "ttl_days", [36_501, -36_501, "1", True]),
        (NewNote, "source_ref", [None, [], "x"]),
        (SearchRequest, "query", ["", "  \n", "x" * 2049, None]),
        (SearchRequest, "top_k", [0, 101, 1.5, "5", True, 1e300]),
        (SearchRequest, "candidate_k", [0, 1001]),
        (SearchRequest, "record_hits", [1, "true", None]),
        (SearchRequest, "read_profile", ["", None]),
        (UpdateRequest, "note_id", ["x", "", 5]),
        (ListRequest, "limit", [0, 201]),
        (ListRequest, "status", ["", "ACTIVE", "gone"]),
        (ListRequest, "type", ["", "unheard of"]),
    ],
)
def test_values_beyond_the_bound_are_refused(model: type[BaseModel], field: str, bad: list[Any]) -> None:
    for value in bad:
        with pytest.raises(ValidationError) as caught:
            read(model, **{field: value})
        assert {error["loc"][0] for error in caught.value.errors()} == {field}, value


def test_a_required_field_is_missed_by_name() -> None:
    for field in ("type", "text", "importance", "confidence"):
        left = {name: value for name, value in NOTE.items() if name != field}
        with pytest.raises(ValidationError, match=field):
            NewNote.model_validate(left)


def test_more_results_than_candidates_cannot_be_asked_for() -> None:
    read(SearchRequest, top_k=5, candidate_k=5)
    with pytest.raises(ValidationError, match="top_k must not be greater than candidate_k"):
        read(SearchRequest, top_k=6, candidate_k=5)


def test_an_update_that_changes_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least one of"):
        UpdateRequest.model_validate(CONTEXT | {"note_id": uuid4()})


def test_leaving_ttl_out_of_an_update_and_giving_null_can_be_told_apart() -> None:
    assert "ttl_days" not in read(UpdateRequest).model_fields_set
    assert "ttl_days" in read(UpdateRequest, ttl_days=None).model_fields_set
