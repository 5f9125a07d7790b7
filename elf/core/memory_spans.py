"""How operations on memory are called in traces: the names of OpenTelemetry's GenAI conventions for memory.

create_memory   new records         update_memory   records that are known      delete_memory
search_memory                       upsert_memory   new or changed, which the caller leaves open
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

MemoryOperation = Literal["search_memory", "upsert_memory", "update_memory", "delete_memory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySpan:
    """The span of one operation: `gen_ai.operation.name`, and how many records it is about.

    The number is known from the request (records to be written) or from the response (records found).
    """

    operation: MemoryOperation
    asked_for: Callable[[Any], int] | None = None
    answered_with: Callable[[Any], int] | None = None
