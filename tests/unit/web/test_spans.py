"""Spans of operations on memory: their names and attributes, whose child they are, and what they never hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID, uuid4

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracer, SpanKind, StatusCode
from pydantic import BaseModel, ConfigDict, Field

from elf.api.operation import Operation, for_anyone
from elf.core.errors import NotFound, Unavailable
from elf.families.notes.api.operations import OPERATIONS
from elf.families.notes.api.spans import MEMORY_SPANS
from elf.search.trace import SearchTrace
from elf.web.app import create_app
from elf.web.readiness import Readiness
from elf.web.spans import describing_spans, traced
from tests.traces_kit import a_trace

pytestmark = pytest.mark.anyio

TEXT = "Anna sleeps badly before exams."
PLACE = {"tenant_id": "acme", "project_id": "apollo", "agent_id": "planner"}
CONVENTION = {"search_memory", "upsert_memory", "update_memory", "delete_memory"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Asked(BaseModel):
    """What any of the operations may be asked with."""

    model_config = ConfigDict(extra="forbid")

    tenant_id: str
    project_id: str
    agent_id: str
    notes: list[str] = Field(default_factory=list)
    note_id: UUID | None = None
    query: str | None = None


class Answered(BaseModel):
    """What any of them may answer."""

    items: list[str] = Field(default_factory=list)
    extracted: list[str] = Field(default_factory=list)


@dataclass
class Stage:
    """An application whose operations do what a test says, and the spans that came of it."""

    answer: Answered = field(default_factory=Answered)
    raises: Exception | None = None
    trace: SearchTrace | None = None

    def __post_init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("elf")
        self.sunk: list[SearchTrace] = []
        self.sink = describing_spans(self.sunk.append)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    async def handle(self, _: BaseModel) -> Answered:
        if self.trace is not None:
            self.sink(self.trace)
        if self.raises is not None:
            raise self.raises
        return self.answer

    def app(self) -> Any:
        named = [operation.name for operation in OPERATIONS]
        handlers = dict.fromkeys(named, for_anyone(self.handle))
        return create_app(
            [Operation(name, "POST", f"/{name}", name, Asked, Answered) for name in named],
            traced(handlers, MEMORY_SPANS, self.tracer),
            readiness=lambda: Readiness(ready=True, parts=[]),
        )


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
async def client(stage: Stage) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=stage.app())
    async with httpx.AsyncClient(transport=transport, base_url="http://elf") as client:
        yield client


def attributes(span: ReadableSpan) -> dict[str, Any]:
    assert span.attributes is not None
    return dict(span.attributes)


async def test_a_search_is_a_span_by_the_name_and_attributes_of_the_conventions(
    stage: Stage, client: httpx.AsyncClient
) -> None:
    stage.answer = Answered(items=["one", "two"])
    response = await client.post("/search", json=PLACE | {"query": TEXT})
    (span,) = stage.spans
    assert (span.name, span.kind) == ("search_memory", SpanKind.SERVER)
    assert attributes(span) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "elf",
        "gen_ai.memory.store.id": "acme/apollo",
        "gen_ai.agent.id": "planner",
        "gen_ai.memory.record.count": 2,
        "elf.request_id": response.headers["x-request-id"],
    }
    assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    ("operation", "body", "name", "count"),
    [
        ("add_note", {"notes": [TEXT, TEXT, TEXT]}, "upsert_memory", 3),
        ("add_event", {}, "upsert_memory", 1),
        ("update_note", {"note_id": str(uuid4())}, "update_memory", 1),
        ("restore_note", {"note_id": str(uuid4())}, "update_memory", 1),
        ("delete_note", {"note_id": str(uuid4())}, "delete_memory", 1),
    ],
)
async def test_each_write_has_its_operation_its_record_and_how_many_records_it_is_about(
    stage: Stage, client: httpx.AsyncClient, operation: str, body: dict[str, Any], name: str, count: int
) -> None:
    stage.answer = Answered(extracted=["one"])
    await client.post(f"/{operation}", json=PLACE | body)
    (span,) = stage.spans
    assert span.name == name
    assert attributes(span)["gen_ai.operation.name"] == name
    assert attributes(span)["gen_ai.memory.record.count"] == count
    assert attributes(span).get("gen_ai.memory.record.id") == body.get("note_id")


async def test_a_span_is_the_child_of_the_one_that_the_caller_names(
    stage: Stage, client: httpx.AsyncClient
) -> None:
    header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await client.post("/search", json=PLACE, headers={"traceparent": header})
    await client.post("/search", json=PLACE, headers={"traceparent": "nonsense"})
    child, alone = stage.spans
    assert child.parent is not None
    assert (child.parent.trace_id, child.parent.span_id) == (
        0x0AF7651916CD43DD8448EB211C80319C,
        0xB7AD6B7169203331,
    )
    assert alone.parent is None


async def test_a_caller_in_the_same_program_is_the_parent_without_a_header(
    stage: Stage, client: httpx.AsyncClient
) -> None:
    with stage.tracer.start_as_current_span("agent") as agent:
        await client.post("/search", json=PLACE)
    child = next(span for span in stage.spans if span.name == "search_memory")
    assert child.parent is not None
    assert child.parent.span_id == agent.get_span_context().span_id


@pytest.mark.parametrize(
    ("failure", "kind", "status"),
    [
        (NotFound(TEXT), "NOT_FOUND", StatusCode.UNSET),
        (Unavailable(TEXT), "UNAVAILABLE", StatusCode.ERROR),
        (ZeroDivisionError(TEXT), "ZeroDivisionError", StatusCode.ERROR),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_failure_is_told_by_its_code_and_never_by_its_message(
    stage: Stage, client: httpx.AsyncClient, failure: Exception, kind: str, status: StatusCode
) -> None:
    stage.raises = failure
    await client.post("/search", json=PLACE)
    (span,) = stage.spans
    assert attributes(span)["error.type"] == kind
    assert span.status.status_code is status
    assert span.status.description is None
    assert TEXT not in span.to_json()


async def test_no_span_holds_what_was_written_or_asked(stage: Stage, client: httpx.AsyncClient) -> None:
    stage.answer = Answered(items=[TEXT], extracted=[TEXT])
    stage.trace = a_trace(query=TEXT)
    for operation in MEMORY_SPANS:
        await client.post(f"/{operation}", json=PLACE | {"notes": [TEXT], "query": TEXT})
    assert len(stage.spans) == len(MEMORY_SPANS)
    assert [span.name for span in stage.spans if TEXT in span.to_json()] == []


async def test_the_span_of_a_search_tells_its_trace_and_the_time_of_each_stage(
    stage: Stage, client: httpx.AsyncClient
) -> None:
    stage.trace = a_trace(stages=[("embed", 1.5), ("index", 2.0), ("index", 3.0)], degraded=["rerank"])
    await client.post("/search", json=PLACE)
    (span,) = stage.spans
    told = attributes(span)
    assert told["elf.search.trace_id"] == str(stage.trace.trace_id)
    assert told["elf.search.candidates"] == stage.trace.candidate_count
    assert told["elf.search.degraded"] == ("rerank",)
    assert told["elf.search.stage.embed.seconds"] == pytest.approx(0.0015)
    assert told["elf.search.stage.index.seconds"] == pytest.approx(0.005)
    assert stage.sunk == [stage.trace]


async def test_reading_has_no_span_for_the_conventions_name_none(
    stage: Stage, client: httpx.AsyncClient
) -> None:
    for operation in ("get_note", "list_notes", "search_explain"):
        await client.post(f"/{operation}", json=PLACE)
    assert stage.spans == []


async def test_without_an_exporter_everything_works_as_ever(stage: Stage) -> None:
    stage.tracer = cast("Any", NoOpTracer())
    stage.answer, stage.trace = Answered(items=["one"]), a_trace()
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=stage.app()), base_url="http://elf"
    ) as client:
        assert (await client.post("/search", json=PLACE)).json()["items"] == ["one"]
    assert stage.sunk == [stage.trace]


def test_every_span_belongs_to_an_operation_of_the_api_and_has_a_name_of_the_conventions() -> None:
    assert MEMORY_SPANS.keys() <= {operation.name for operation in OPERATIONS}
    assert {span.operation for span in MEMORY_SPANS.values()} == CONVENTION
