"""The shape of a file of JSON: memories and edges as they are told, of which only times and reasons may be left
out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.alias_generators import to_camel

from elf.api.bodies import WHOLE, Request, no_credential
from elf.api.moment import moments
from elf.families.graph.model import (
    MAX_CONTENT_CHARS,
    MAX_IMPORTANCE,
    MAX_PATH_CHARS,
    MAX_REASON_CHARS,
    MAX_SUMMARY_CHARS,
    CapturedBy,
    EdgeType,
    NodeType,
    SourceType,
    Status,
)
from elf.families.graph.rules.ids import is_id
from elf.families.graph.rules.texts import collapse

_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)")
_MOMENT: Final = "should be a moment of RFC 3339, such as 2026-01-31T12:00:00Z, or seconds since 1970"
_written_moment = moments(_RFC_3339, _MOMENT)


def _moment_of(value: object) -> datetime:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return datetime.fromtimestamp(value, UTC)
        except (ValueError, OverflowError, OSError):
            raise ValueError(_MOMENT) from None
    return _written_moment(value)


def _id(value: str) -> str:
    if not is_id(value):
        raise ValueError("should be 1-128 letters, digits, dots, _, : and -")
    return no_credential(value)


def _plain(value: str) -> str:
    return collapse(value.replace("\0", " "))


def _within(most: int) -> AfterValidator:
    def check(value: str) -> str:
        if len(value) > most:
            raise ValueError(f"should have at most {most} characters")
        return value

    return AfterValidator(check)


Id = Annotated[str, AfterValidator(_id)]
UnitInterval = Annotated[float, Field(ge=0, le=1)]
Moment = Annotated[datetime, BeforeValidator(_moment_of)]
Plain = AfterValidator(_plain)


class _Told(Request, alias_generator=to_camel):
    """What all of the file is made of: its fields have camelCase names."""


class ToldSource(_Told):
    source_type: SourceType
    captured_by: CapturedBy
    source_path: Annotated[str, Field(max_length=MAX_PATH_CHARS)] | None = None
    conversation_id: Id | None = None
    workflow_run_id: Id | None = None
    step_id: Id | None = None


class ToldMemory(_Told):
    memory_id: Id
    orchestrator_id: str | None = None
    type: NodeType
    importance: Annotated[int, Field(ge=0, le=MAX_IMPORTANCE), WHOLE]
    content: Annotated[str, Plain, _within(MAX_CONTENT_CHARS)]
    summary: Annotated[str, Plain, _within(MAX_SUMMARY_CHARS)]
    confidence: UnitInterval
    source: ToldSource
    status: Status
    created_at: Moment | None = None
    updated_at: Moment | None = None


class ToldEdge(_Told):
    edge_id: Id
    from_memory_id: Id
    to_memory_id: Id
    edge_type: EdgeType
    weight: UnitInterval
    created_at: Moment | None = None
    reason: Annotated[str, Plain, _within(MAX_REASON_CHARS)] | None = None


class ToldFile(_Told):
    memories: list[ToldMemory]
    edges: list[ToldEdge]
