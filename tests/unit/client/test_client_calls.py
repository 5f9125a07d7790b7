"""What the client asks is what the service takes, and what the service answers is what the client reads."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types
import typing
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import pytest
from pydantic import BaseModel

from elf.client import AsyncClient, Client, Message, NewNote, results
from elf.client.call import Call, Listing
from elf.client.calls import Calls
from elf.core.endpoint import Operation
from elf.families.notes import audit_requests, operations, requests, trace_requests
from elf.web import readiness
from elf.web.parsing import parse_body, parse_values

REPO = Path(__file__).resolve().parents[3]
NOTE_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
NOTE = {"type": "fact", "text": "y", "importance": 0.1, "confidence": 1.0}
MESSAGE = {"role": "tool", "content": "y", "ts": "z"}
DAY = date(2026, 2, 1)
CALLS = Calls("t", "p", "a", "all_scopes")

ASKED: list[tuple[Operation, Call[Any] | Listing[Any]]] = [
    (operations.ADD_NOTE, CALLS.add_note("x")),
    (operations.ADD_NOTE, CALLS.add_note("x", type="plan", key="k", importance=1, ttl_days=2, source_ref={"a": 1})),
    (operations.ADD_NOTE, CALLS.add_notes([NewNote(text="x"), NOTE])),
    (operations.ADD_NOTE, CALLS.add_note("x", merge_similar=False)),
    (operations.ADD_EVENT, CALLS.add_event([Message(role="user", content="x"), MESSAGE])),
    (operations.ADD_EVENT, CALLS.add_event([Message(role="user", content="x", msg_id="1")], scope="s", dry_run=True)),
    (operations.SEARCH, CALLS.search("x")),
    (operations.SEARCH, CALLS.search("x", top_k=3, candidate_k=9, record_hits=True)),
    (operations.SEARCH, CALLS.search("x", type="plan", key_prefix="k", scope="s", source={"a.b": 1, "c": None})),
    (operations.SEARCH, CALLS.search("x", type=["plan", "fact"], scope=["s", "t"], updated_since=date(2026, 1, 31),
     updated_before="2026-02-01T00:00:00Z", created_since=datetime(2026, 1, 1, tzinfo=UTC), created_before=DAY)),
    (operations.SEARCH_EXPLAIN, CALLS.explain(NOTE_ID)),
    (operations.SEARCH_TRACES, CALLS.traces(limit=3)),
    (operations.SEARCH_TRACE, CALLS.trace(NOTE_ID)),
    (operations.GET_NOTE, CALLS.get(NOTE_ID)),
    (operations.GET_NOTE, Calls().get(NOTE_ID)),
    (operations.LIST_NOTES, CALLS.list_notes()),
    (operations.LIST_NOTES, CALLS.list_notes(scope="s", status="deleted", type="plan", limit=3, cursor="c")),
    (operations.UPDATE_NOTE, CALLS.update(NOTE_ID, text="x", importance=0.1, confidence=0.2, ttl_days=0)),
    (operations.UPDATE_NOTE, CALLS.update(NOTE_ID, text="x")),
    (operations.DELETE_NOTE, CALLS.delete(NOTE_ID)),
    (operations.NOTE_HISTORY, CALLS.history(NOTE_ID, limit=3)),
    (operations.RESTORE_NOTE, CALLS.restore(NOTE_ID)),
    (operations.RESTORE_NOTE, CALLS.restore(NOTE_ID, version_id=NOTE_ID)),
]  # fmt: skip

ANSWERED: list[tuple[type[msgspec.Struct], type[BaseModel]]] = [
    (results.WriteResult, requests.WriteResult),
    (results.NotesWritten, requests.AddNoteResponse),
    (results.EventWritten, requests.AddEventResponse),
    (results.Note, requests.NoteResponse),
    (results.Page, requests.ListResponse),
    (results.Updated, requests.UpdateResponse),
    (results.Deleted, requests.DeleteResponse),
    (results.Boost, requests.Boost),
    (results.Explanation, requests.Explanation),
    (results.SearchItem, requests.SearchItem),
    (results.SearchAnswer, requests.SearchResponse),
    (results.NoteVersion, audit_requests.NoteVersion),
    (results.Repetition, audit_requests.Repetition),
    (results.History, audit_requests.HistoryResponse),
    (results.Restored, audit_requests.RestoreResponse),
    (results.StageTime, trace_requests.StageTime),
    (results.Trace, trace_requests.Trace),
    (results.TracedItem, trace_requests.TracedItem),
    (results.DroppedItem, trace_requests.DroppedItem),
    (results.ExplainedItem, trace_requests.ExplainResponse),
    (results.ExplainedSearch, trace_requests.TraceResponse),
    (results.TraceSummary, trace_requests.TraceSummary),
    (results.Page, trace_requests.TracesResponse),
    (results.Part, readiness.Part),
    (results.Readiness, readiness.Readiness),
]


def parsed(operation: Operation, call: Call[Any]) -> BaseModel:
    """Read a call as the web front does."""
    url = urlsplit(call.target)
    wanted, given = operation.path.split("/"), url.path.split("/")
    assert (call.method, len(given)) == (operation.method, len(wanted))
    in_path = {
        name[1:-1]: unquote(part)
        for name, part in zip(wanted, given, strict=True)
        if name.startswith("{") or name != part
    }
    assert tuple(in_path) == operation.path_parameters
    if call.content is not None:
        return parse_body(operation.request, call.content, in_path)
    return parse_values(operation.request, dict(parse_qsl(url.query)) | in_path)


@pytest.mark.parametrize(("operation", "asked"), ASKED, ids=lambda value: getattr(value, "name", ""))
def test_a_call_is_a_request_that_the_service_takes(
    operation: Operation, asked: Call[Any] | Listing[Any]
) -> None:
    call = asked.at(asked.cursor) if isinstance(asked, Listing) else asked
    assert isinstance(parsed(operation, call), operation.request)


def test_every_operation_of_the_notes_api_has_a_method_in_both_clients() -> None:
    offered = {value.name for value in vars(operations).values() if isinstance(value, Operation)}
    assert {operation.name for operation, _ in ASKED} == offered
    methods = {name for name in vars(Calls) if not name.startswith("_")} - set(Calls.__slots__)
    for client in (Client, AsyncClient):
        assert {name.removesuffix("_notes") for name in methods if name != "add_notes"} <= set(vars(client))


def test_a_field_says_the_same_in_a_call_as_to_the_service() -> None:
    note = parsed(operations.ADD_NOTE, CALLS.add_note("x", type="plan", key="k", ttl_days=2, scope="s"))
    assert note.model_dump() == {
        "tenant_id": "t", "project_id": "p", "agent_id": "a", "scope": "s", "merge_similar": True,
        "notes": [{"type": "plan", "key": "k", "text": "x", "importance": 0.5, "confidence": 0.8, "ttl_days": 2.0,
                   "source_ref": {}}],
    }  # fmt: skip
    alone = parsed(operations.ADD_NOTE, CALLS.add_notes([NOTE], merge_similar=False))
    assert alone.model_dump(include={"merge_similar"}) == {"merge_similar": False}
    listed = parsed(operations.LIST_NOTES, CALLS.list_notes(type="plan", limit=3).at("c"))
    assert listed.model_dump(include={"type", "limit", "cursor"}) == {
        "type": "plan",
        "limit": 3,
        "cursor": "c",
    }


def allows_none(hint: Any) -> bool:
    return typing.get_origin(hint) in (types.UnionType, typing.Union) and types.NoneType in typing.get_args(
        hint
    )


@pytest.mark.parametrize(("struct", "model"), ANSWERED, ids=lambda kind: kind.__name__)
def test_a_struct_has_the_fields_of_the_answer_and_null_where_it_has_null(
    struct: type[msgspec.Struct], model: type[BaseModel]
) -> None:
    read = {name: allows_none(hint) for name, hint in typing.get_type_hints(struct).items()}
    sent = {name: allows_none(field.annotation) for name, field in model.model_fields.items()}
    assert sent.items() <= read.items()
    needed = {field.name for field in msgspec.structs.fields(struct) if field.required}
    assert needed <= sent.keys()


def test_every_struct_of_the_client_is_compared_with_the_service() -> None:
    structs = {
        kind for kind in vars(results).values() if inspect.isclass(kind) and issubclass(kind, msgspec.Struct)
    }
    assert structs - {msgspec.Struct} == {struct for struct, _ in ANSWERED}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_lacks_is_refused_before_it_is_sent(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        CALLS.add_note("x", importance=value)


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize(("name", "result"), [("search", "SearchAnswer"), ("list", "Pages[r.Note]")])
def test_help_shows_what_a_method_takes_and_gives(client: type, name: str, result: str) -> None:
    method: Callable[..., Any] = getattr(client, name)
    shown = inspect.signature(method)
    assert next(iter(shown.parameters)) == "self"
    assert result in str(shown.return_annotation)
    assert method.__doc__


def test_the_client_is_imported_without_the_code_of_the_service() -> None:
    heavy = {"numpy", "asyncpg", "onnxruntime", "pydantic", "quart", "qdrant_client", "structlog", "actors"}
    code = "import sys, elf.client; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPO)
    assert heavy & set(done.stdout.split()) == set()
