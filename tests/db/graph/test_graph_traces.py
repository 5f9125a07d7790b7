"""Operations on the graph in traces: what they are called, and how many memories they are about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from elf.api.caller import Caller
from elf.api.operation import Operation
from elf.db.database import Database
from elf.families.graph.api.operations import OPERATIONS
from elf.families.graph.api.spans import MEMORY_SPANS
from elf.web.spans import traced
from tests.db.graph.house import FACT, House, fact, house_at, link

pytestmark = pytest.mark.anyio
PLACE = {"tenant_id": "acme", "orchestrator_id": "planner"}
RECORDS = "gen_ai.memory.record.count"
BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS}


@pytest.fixture
async def house(database: Database, tmp_path: Path) -> AsyncIterator[House]:
    async with house_at(database, tmp_path, "[graph.retrieval]\ntop_k_vector = 0\n") as house:
        yield house


def test_each_span_is_of_an_operation_of_the_family() -> None:
    assert set(MEMORY_SPANS) <= set(BY_NAME)


async def test_each_operation_says_how_many_memories_it_is_about_and_nothing_of_them(house: House) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    handlers = traced(house.opened.handlers, MEMORY_SPANS, provider.get_tracer("test"))

    async def told(name: str, **asked: Any) -> dict[str, Any]:
        request = BY_NAME[name].request.model_validate({**PLACE, **asked})
        await handlers[name](request, Caller())
        (span,) = exporter.get_finished_spans()
        exporter.clear()
        assert "Lisbon" not in str(dict(span.attributes or {}))
        return {"name": span.name, **dict(span.attributes or {})}

    both = {"memories": [FACT, fact("m2")], "edges": [link("m1", "m2", "Contradicts", edgeId="e1")]}
    for name, asked, span, records in (
        ("graph_write_memories", both, "upsert_memory", 2),
        ("graph_recall", {"query": "office"}, "search_memory", 2),
        (
            "graph_context",
            {"purpose": "step", "message_id": "m", "message": "office", "prompt": "office"},
            "search_memory",
            4,
        ),
        ("graph_context", {"purpose": "diagnostics", "prompt": "office"}, "search_memory", 2),
        (
            "graph_resolve_contradiction",
            {"edge_id": "e1", "keep": "FROM", "reason": "newer"},
            "update_memory",
            2,
        ),
        ("graph_retract_memory", {"memory_id": "m1"}, "update_memory", 1),
        (
            "graph_write_transcript",
            {"message_id": "m", "conversation_id": "c", "text": "Lisbon."},
            "upsert_memory",
            1,
        ),
    ):
        attributes = await told(name, **asked)
        assert (attributes["name"], attributes[RECORDS]) == (span, records), name
