"""Operations with the bounds of a config."""

from __future__ import annotations

from dataclasses import replace

from elf.api.bound import raised
from elf.api.operation import Operation
from elf.config.tables.conversations import Bounds
from elf.families.conversations.api import fields as f


def bounded(operation: Operation, bounds: Bounds) -> Operation:
    """Return an operation of the family with these bounds; an equal one where they are the standard."""
    same = replace(operation, request=raised(operation.request, bounds.model_dump()))
    if operation.max_body_bytes is not None:
        return replace(same, max_body_bytes=bounds.entry_body_bytes, json_bounds=f.content_of(bounds))
    if operation.has_body and bounds.body_bytes != f.STANDARD.body_bytes:
        return replace(same, max_body_bytes=bounds.body_bytes, json_bounds=f.metadata_of(bounds))
    return same
