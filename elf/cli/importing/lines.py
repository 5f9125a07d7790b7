"""The lines of a file of notes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, NamedTuple

MAX_LINE_BYTES = 1024 * 1024  # what the service takes in one request


class Context(NamedTuple):
    """Where notes are written; the notes of one request share it."""

    tenant_id: str | None
    project_id: str | None
    agent_id: str | None
    scope: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line that holds a note; `size` is in bytes."""

    number: int
    context: Context
    note: Mapping[str, Any]
    size: int


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line that was not stored. `field` is the path within the line's object when one is at fault."""

    line: int
    field: str | None
    code: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {f'{self.field}: ' if self.field else ''}{self.code}: {self.reason}"


def read_lines(
    source: BinaryIO, context: Context, defaults: Mapping[str, Any]
) -> Iterator[tuple[int, Line | Rejection | None]]:
    """Yield for each line its size in bytes and what it holds, None for a blank one.

    A line's own tenant_id, project_id, agent_id and scope win over `context`, its other fields over `defaults`.
    """
    number = 0
    while raw := source.readline(MAX_LINE_BYTES + 1):
        number += 1
        size = len(raw)
        if size > MAX_LINE_BYTES:
            size += _skip_rest(source, raw)
            yield size, Rejection(number, None, "NOT_READ", f"is longer than {MAX_LINE_BYTES} bytes")
        else:
            yield size, _parse(number, raw, context, defaults) if raw.strip() else None


def _skip_rest(source: BinaryIO, raw: bytes) -> int:
    skipped = 0
    while raw and not raw.endswith(b"\n"):
        raw = source.readline(MAX_LINE_BYTES)
        skipped += len(raw)
    return skipped


def _parse(number: int, raw: bytes, context: Context, defaults: Mapping[str, Any]) -> Line | Rejection:
    try:
        note = json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        return Rejection(number, None, "NOT_READ", "is not UTF-8 text")
    except (ValueError, RecursionError) as error:
        return Rejection(number, None, "NOT_READ", f"is not JSON: {error}")
    if not isinstance(note, dict):
        return Rejection(number, None, "NOT_READ", "is not a JSON object")
    own: dict[str, str] = {}
    for name in Context._fields:
        value = note.pop(name, None)
        if value is not None and not isinstance(value, str):
            return Rejection(number, name, "NOT_READ", "must be a string")
        if value is not None:
            own[name] = value
    if "expires_at" in note and (fault := _expiry_as_ttl(number, note)):
        return fault
    return Line(number, context._replace(**own), {**defaults, **note}, len(raw))


def _expiry_as_ttl(number: int, note: dict[str, Any]) -> Rejection | None:
    """Say the moment of an export as what the service takes: days from now on."""
    given = note.pop("expires_at")
    if given is None:
        return None
    if note.get("ttl_days") is not None:
        return Rejection(number, "expires_at", "NOT_READ", "must not be given beside ttl_days")
    try:
        left = datetime.fromisoformat(given) - datetime.now(UTC)
    except (TypeError, ValueError):
        return Rejection(
            number,
            "expires_at",
            "NOT_READ",
            "must be a moment with its time zone, as in 2026-03-01T12:00:00Z",
        )
    note["ttl_days"] = left / timedelta(days=1)
    return None if left > timedelta(0) else Rejection(number, "expires_at", "EXPIRED", "is over")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
