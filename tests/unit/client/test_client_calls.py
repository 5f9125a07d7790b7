"""What the client asks is what the service takes, and what the service answers is what the client reads."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from uuid import UUID

import msgspec
import pytest
from pydantic import BaseModel

import elf.client
from elf.api.operation import Operation
from elf.client import (
    AsyncClient,
    Client,
    InvalidRequest,
    Message,
    NewNote,
    NoteStatus,
    NoteType,
    results,
)
from elf.client.call import Call, Listing
from elf.client.calls import Calls
from elf.config.model import NOTE_TYPES
from elf.families.notes.api import (
    audit_requests,
    fields,
    id_requests,
    operations,
    requests,
    trace_requests,
)
from elf.families.notes.writing import extraction
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
    (operations.SEARCH, CALLS.search("x", top_k=3, candidate_k=9, min_relevance=0.45, record_hits=True)),
    (operations.SEARCH, CALLS.search("x", type="plan", key_prefix="k", scope="s", source={"a.b": 1, "c": None})),
    (operations.SEARCH, CALLS.search("x", type=["plan", "fact"], scope=["s", "t"], updated_since=date(2026, 1, 31),
     updated_before="2026-02-01T00:00:00Z", created_since=datetime(2026, 1, 1, tzinfo=UTC), created_before=DAY)),
    (operations.SEARCH_EXPLAIN, CALLS.explain(NOTE_ID)),
    (operations.FIND_IDS, CALLS.find_ids("0b8ff2a0", kind="result")),
    (operations.SEARCH_TRACES, CALLS.traces(limit=3)),
    (operations.SEARCH_TRACE, CALLS.trace(NOTE_ID)),
    (operations.GET_NOTE, CALLS.get(NOTE_ID)),
    (operations.GET_NOTE, Calls().get(NOTE_ID)),
    (operations.LIST_NOTES, CALLS.list_notes()),
    (operations.LIST_NOTES, CALLS.list_notes(key_prefix="k/", updated_since=DAY, updated_before="2026-03-01")),
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
    (results.RawEvent, requests.AddEventResponse),
    (results.Quote, extraction.CandidateQuote),
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
    (results.FoundId, id_requests.FoundId),
    (results.FoundIds, id_requests.FindIdsResponse),
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


def test_an_event_goes_to_the_scope_of_the_context_or_to_that_of_the_call() -> None:
    def scope_of(calls: Calls, **said: Any) -> str | None:
        request = parsed(operations.ADD_EVENT, calls.add_event([MESSAGE], **said))
        scope: str | None = request.model_dump()["scope"]
        return scope

    assert scope_of(CALLS) == "agent_private"
    assert scope_of(replace(CALLS, scope="project_shared")) == "project_shared"
    assert scope_of(CALLS, scope="org_shared") == "org_shared"


def test_a_listing_reads_what_a_search_reads_unless_it_names_a_scope() -> None:
    def listed(calls: Calls, **said: Any) -> tuple[str | None, str | None]:
        request = parsed(operations.LIST_NOTES, calls.list_notes(**said).at(None)).model_dump()
        return request["read_profile"], request["scope"]

    assert listed(CALLS) == ("all_scopes", None)
    assert listed(CALLS, scope="org_shared") == (None, "org_shared")
    assert listed(replace(CALLS, read_profile=None)) == (None, None)


def test_every_operation_of_the_notes_api_has_a_method_in_both_clients() -> None:
    offered = {value.name for value in vars(operations).values() if isinstance(value, Operation)}
    assert {operation.name for operation, _ in ASKED} == offered
    methods = {name for name in vars(Calls) if not name.startswith("_")}
    for client in (Client, AsyncClient):
        assert {name.removesuffix("_notes") for name in methods if name != "add_notes"} <= set(dir(client))


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


def test_a_search_takes_what_a_request_has_but_for_the_context_and_the_brief_answer() -> None:
    taken = set(inspect.signature(Calls.search).parameters) - {"self"}
    filters = set(requests.SearchFilters.model_fields)
    sent = set(requests.SearchRequest.model_fields) - {"filters", "detail"} | filters
    context = set(requests.InContext.model_fields) | {"read_profile"}
    assert taken == sent - context
    request = parsed(operations.SEARCH, CALLS.search("x", min_relevance=0.45))
    assert request.model_dump(include={"min_relevance"}) == {"min_relevance": 0.45}


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


def test_an_extracted_note_has_what_the_service_reads_of_one() -> None:
    read = {field.name for field in msgspec.structs.fields(results.ExtractedNote)} - {"raw"}
    assert read == extraction.Candidate.model_fields.keys()


def test_every_struct_of_the_client_is_compared_with_the_service() -> None:
    structs = {
        kind for kind in vars(results).values() if inspect.isclass(kind) and issubclass(kind, msgspec.Struct)
    }
    made_of_raw = {results.EventWritten, results.ExtractedNote}
    assert structs - {msgspec.Struct} - made_of_raw == {struct for struct, _ in ANSWERED}


def itself() -> dict[str, object]:
    value: dict[str, object] = {}
    value["me"] = value
    return value


def deep() -> list[object]:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    return value


WRONG: list[tuple[Callable[[], object], str, str]] = [
    (lambda: CALLS.add_note("x", importance=float("nan")), "importance", "a finite number"),
    (lambda: CALLS.add_note("x", importance=float("inf")), "importance", "a finite number"),
    (lambda: CALLS.add_note("x", source_ref={"a": [0, {1}]}), "source_ref.a[1]", "hold a set"),
    (lambda: CALLS.add_note("x", source_ref={"a": {(1,): 2}}), "source_ref.a", "not tuple"),
    (lambda: CALLS.add_note("x", source_ref=itself()), "source_ref" + ".me" * 5, "holds itself"),
    (lambda: CALLS.add_note("x", source_ref={"a": deep()}), "source_ref.a" + "[0]" * 4, "too deeply"),
    (lambda: CALLS.add_notes([NewNote(text="x"), {"text": b"x"}]), "notes[1].text", "hold a bytes"),
    (lambda: CALLS.add_notes("x"), "notes", "a list"),  # type: ignore[arg-type]
    (lambda: CALLS.add_notes(NewNote(text="x")), "notes", "a list"),  # type: ignore[arg-type]
    (lambda: CALLS.add_event({"role": "user"}), "messages", "a list"),  # type: ignore[arg-type]
    (lambda: CALLS.search("x", top_k=1j), "top_k", "hold a complex"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("ask", "argument", "why"), WRONG)
def test_what_cannot_be_sent_is_refused_by_the_name_of_its_argument(
    ask: Callable[[], object], argument: str, why: str
) -> None:
    with pytest.raises(InvalidRequest, match=f"^{re.escape(argument)}: .*{why}$") as caught:
        ask()
    assert caught.value.fields == (argument,)


def test_what_json_writes_as_text_is_sent_as_text() -> None:
    moment = datetime(2026, 11, 21, tzinfo=UTC)
    reference = MappingProxyType({"chat": UUID(NOTE_ID), "at": moment, "on": moment.date()})
    note = parsed(operations.ADD_NOTE, CALLS.add_note("x", source_ref=reference))
    sent = {"chat": NOTE_ID, "at": "2026-11-21T00:00:00+00:00", "on": "2026-11-21"}
    assert note.model_dump()["notes"][0]["source_ref"] == sent


def test_a_mapping_has_the_defaults_of_a_new_note() -> None:
    asked = [CALLS.add_notes([one]).content for one in (NewNote(text="x"), {"text": "x", "source_ref": {}})]
    first, second = (json.loads(content or b"") for content in asked)
    assert first == second


def test_the_types_and_states_of_notes_are_those_of_the_service() -> None:
    assert typing.get_args(NoteType) == NOTE_TYPES
    assert NoteStatus == fields.NoteStatus


def test_all_that_a_client_gives_and_takes_is_found_in_its_package() -> None:
    inner = {results.NotesWritten, results.RawEvent}
    structs = {
        kind for kind in vars(results).values() if inspect.isclass(kind) and issubclass(kind, msgspec.Struct)
    }
    assert {kind.__name__ for kind in structs - inner - {msgspec.Struct}} <= set(elf.client.__all__)
    assert all(hasattr(elf.client, name) for name in elf.client.__all__)


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize(("name", "result"), [("search", "SearchAnswer"), ("list", "Pages[r.Note]")])
def test_help_shows_what_a_method_takes_and_gives(client: type, name: str, result: str) -> None:
    method: Callable[..., Any] = getattr(client, name)
    shown = inspect.signature(method)
    assert next(iter(shown.parameters)) == "self"
    assert result in str(shown.return_annotation)
    assert method.__doc__


def test_the_client_is_imported_without_the_code_of_the_service() -> None:
    heavy = {
        "numpy",
        "asyncpg",
        "onnxruntime",
        "pydantic",
        "werkzeug",
        "qdrant_client",
        "structlog",
        "actors",
    }
    code = "import sys, elf.client; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPO)
    assert heavy & set(done.stdout.split()) == set()
