"""Recovering a memory whose file is damaged: request, answer and operation."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from elf.api.bodies import Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied, Unavailable
from elf.families.graph.api import fields as f
from elf.families.graph.api.ingesting import IngestError, Path


class Recover(f.InOrchestrator):
    """Whose memory. One that is sound stays as it is, but for processed files that it does not know."""


class RetakenFile(Response):
    """A file of ingest/processed that was taken in again, or could not be."""

    sourcePath: Path
    memoriesWritten: int
    edgesWritten: int
    error: IngestError | None = Field(description="Why it could not be taken in; null where it was.")


class Recovered(Response):
    """What was damaged and is kept under another name, and what the new memory has been made of."""

    put_aside: list[str] = Field(
        description="The damaged memory.db and what belongs to it, by the names that they have in the folder of the "
        "memory from now on; none where it was sound."
    )
    files: list[RetakenFile] = Field(description="Those that the memory did not know.")


RECOVER: Final = Operation(
    "graph_recover", "POST", "/v1/admin/graph/recover", "Put a damaged memory aside and take its files in again",
    Recover, Recovered, tag="graph: keeping", text="any", is_slow=True, errors=(NotFound, ScopeDenied, Unavailable),
)  # fmt: skip
