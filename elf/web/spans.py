"""Spans around operations on memory, by OpenTelemetry's GenAI conventions for memory.

A span never holds a query or a note's text. `gen_ai.memory.store.id` is TENANT/PROJECT, which a note belongs to for
good; `elf.request_id` is how the log knows the request, `elf.search.trace_id` how search/explain knows the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from opentelemetry.context import attach, detach, get_current
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue
from pydantic import BaseModel
from structlog.contextvars import get_contextvars
from werkzeug.datastructures import Headers

from elf.api.caller import Caller
from elf.api.operation import Handler, Outcome
from elf.core.errors import ServiceError
from elf.core.memory_spans import MemorySpan
from elf.search.trace import SearchTrace, TraceSink

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
STORE: Final = "gen_ai.memory.store.id"
RECORD: Final = "gen_ai.memory.record.id"
RECORDS: Final = "gen_ai.memory.record.count"
AGENT: Final = "gen_ai.agent.id"
ERROR: Final = "error.type"
TRACEPARENT: Final = "traceparent"


def traced(
    handlers: Mapping[str, Handler], spans: Mapping[str, MemorySpan], tracer: Tracer
) -> dict[str, Handler]:
    """Return the handlers with a span around each call of those that `spans` names."""
    return {
        name: _traced(handle, span, tracer) if (span := spans.get(name)) else handle
        for name, handle in handlers.items()
    }


@contextmanager
def continued_trace(headers: Headers) -> Iterator[None]:
    """Have the spans within belong to the trace that a client names as `traceparent`, if it does."""
    if TRACEPARENT not in headers:
        yield
        return
    token = attach(TraceContextTextMapPropagator().extract(headers, context=get_current()))
    try:
        yield
    finally:
        detach(token)


def describing_spans(sink: TraceSink) -> TraceSink:
    """Return a sink that tells the span of a search what its trace says, in numbers, and passes the trace on."""

    def described(trace: SearchTrace) -> object:
        span = get_current_span()
        if span.is_recording():
            span.set_attributes(_of_search(trace))
        return sink(trace)

    return described


def _traced(handle: Handler, memory: MemorySpan, tracer: Tracer) -> Handler:
    async def handled(asked: BaseModel, caller: Caller) -> Outcome:
        with (
            tracer.start_as_current_span(
                memory.operation,
                # The conventions describe the caller's side; this one serves.
                kind=SpanKind.SERVER,
                record_exception=False,  # a message may quote what a user wrote
                set_status_on_exception=False,
            ) as span,
            _told_failures(span),
        ):
            if not span.is_recording():
                return await handle(asked, caller)
            span.set_attributes(_of_request(asked, memory))
            answer = await handle(asked, caller)
            if memory.answered_with is not None:
                span.set_attribute(RECORDS, memory.answered_with(answer))
            return answer

    return handled


@contextmanager
def _told_failures(span: Span) -> Iterator[None]:
    try:
        yield
    except ServiceError as error:
        span.set_attribute(ERROR, error.error_code)
        if error.status >= 500:
            span.set_status(StatusCode.ERROR)
        raise
    except Exception as error:
        span.set_attribute(ERROR, type(error).__name__)
        span.set_status(StatusCode.ERROR)
        raise


def _of_request(asked: BaseModel, memory: MemorySpan) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {OPERATION: memory.operation, PROVIDER: "elf"}
    tenant, project = getattr(asked, "tenant_id", None), getattr(asked, "project_id", None)
    if tenant is not None and project is not None:
        attributes[STORE] = f"{tenant}/{project}"
    if (agent := getattr(asked, "agent_id", None)) is not None:
        attributes[AGENT] = agent
    if (note_id := getattr(asked, "note_id", None)) is not None:
        attributes[RECORD] = str(note_id)
    if memory.asked_for is not None:
        attributes[RECORDS] = memory.asked_for(asked)
    if (request_id := get_contextvars().get("request_id")) is not None:
        attributes["elf.request_id"] = request_id
    return attributes


def _of_search(trace: SearchTrace) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {
        "elf.search.trace_id": str(trace.trace_id),
        "elf.search.candidates": trace.candidate_count,
        "elf.search.degraded": list(trace.degraded),
    }
    for name, milliseconds in trace.stages:  # a search that is widened passes some of them twice
        key = f"elf.search.stage.{name}.seconds"
        before = attributes.get(key, 0.0)
        assert isinstance(before, float)
        attributes[key] = before + milliseconds / 1000.0
    return attributes
