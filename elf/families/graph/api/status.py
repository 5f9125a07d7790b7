"""How the memory of an orchestrator is: request, answer and operation."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from elf.api.bodies import Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied, Unavailable
from elf.families.graph.api import fields as f


class ReadStatus(f.InOrchestrator):
    """Of which orchestrator."""


class MemoryCounts(Response):
    """What a memory holds."""

    memories: dict[str, dict[str, int]] = Field(description="By status, and in it by type.")
    edges: dict[str, int] = Field(description="By type.")
    unresolved_contradictions: int
    vectors_to_make: int = Field(description="Memories that are found by their words only, as yet.")
    file_bytes: int | None = Field(
        description="The size of memory.db and its write-ahead log; null for a call with a user, for whom only "
        "what that user may see is counted."
    )


class Status(Response):
    """ok: it is read and written. disabled: it is not, by the config, or until somebody has seen to its file."""

    orchestrator_id: str
    status: Literal["ok", "disabled"]
    error_code: str | None = Field(description="Why it is not ok, for programs; else null.")
    message: str | None = Field(description="Why it is not ok, for people; else null.")
    counts: MemoryCounts | None = Field(description="Null where nothing can be counted.")


STATUS: Final = Operation(
    "graph_status", "GET", "/v1/graph/status", "Read how the memory of an orchestrator is", ReadStatus, Status,
    tag="graph: keeping", text="any", errors=(NotFound, ScopeDenied, Unavailable),
)  # fmt: skip
