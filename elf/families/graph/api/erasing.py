"""Erasing memories for good: request, receipt and operation."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from elf.api.bodies import Response
from elf.api.operation import Operation
from elf.core.errors import Conflict, NotFound, ScopeDenied, Unavailable
from elf.families.graph import model as m
from elf.families.graph.api import fields as f


class Erase(f.InOrchestrator):
    """What is erased: exactly one of these four."""

    memory_ids: Annotated[list[f.Id], Field(min_length=1, max_length=1_000)] | None = None
    conversation_id: f.Id | None = None
    source_path: Annotated[str, Field(min_length=1, max_length=m.MAX_PATH_CHARS)] | None = None
    everything: Annotated[Literal[True], Field(description="All memories of the orchestrator.")] | None = None

    @model_validator(mode="after")
    def _has_one_of_all(self) -> Self:
        given = (self.memory_ids, self.conversation_id, self.source_path, self.everything)
        if sum(one is not None for one in given) != 1:
            raise ValueError(
                "exactly one of memory_ids, conversation_id, source_path and everything says what goes"
            )
        return self


class Erased(Response):
    """The receipt: how much went of each kind."""

    erased: dict[str, int] = Field(
        description="memories, edges, spans, vectors, versions, quotes, ingests, files and bulletins."
    )
    log_truncated: bool = Field(
        description="Whether nothing is left in the write-ahead log; while others read it goes later."
    )


ERASE: Final = Operation(
    "graph_erase", "POST", "/v1/admin/graph/erase", "Erase memories for good", Erase, Erased,
    tag="graph: keeping", text="any", errors=(NotFound, ScopeDenied, Conflict, Unavailable), counted=("erased",),
)  # fmt: skip
