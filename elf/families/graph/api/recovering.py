"""Recovering a memory whose file is damaged or lost: request, answer and operation."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from elf.api.bodies import Response
from elf.api.operation import Operation
from elf.core.errors import Conflict, NotFound, ScopeDenied, Unavailable
from elf.families.graph.api import fields as f
from elf.families.graph.api.ingesting import IngestError, Path


class Recover(f.InOrchestrator):
    """Whose memory. One that is sound stays as it is, but for processed files that it does not know."""

    lost_home: str | None = Field(
        default=None,
        min_length=1,
        max_length=300,
        description="The name of a root folder that is lost, or whose host is: if the memory is kept there, it is kept "
        "here from now on. GET /v1/admin/graph/orchestrators tells it as `home`.",
    )


class RetakenFile(Response):
    """A file of ingest/processed that was taken in again, or could not be."""

    sourcePath: Path
    memoriesWritten: int
    edgesWritten: int
    error: IngestError | None = Field(description="Why it could not be taken in; null where it was.")


class Recovered(Response):
    """What was damaged and is kept under another name, and what the new memory has been made of."""

    was_lost: bool = Field(description="Whether memory.db was gone: then an empty one was begun.")
    put_aside: list[str] = Field(
        description="The damaged memory.db and what belongs to it, by the names that they have in the folder of the "
        "memory from now on; none where it was sound."
    )
    kept: dict[str, int] = Field(
        description="How many memories, edges and versions were sound in it, and are in the new memory.db."
    )
    lost: dict[str, int] = Field(
        description="How many of them could be read and are not sound. What stood in damaged pages is not counted."
    )
    files: list[RetakenFile] = Field(description="Those that the memory did not know.")


RECOVER: Final = Operation(
    "graph_recover", "POST", "/v1/admin/graph/recover",
    "Put a damaged memory aside, or give a lost one up, and take its files in again",
    Recover, Recovered, tag="graph: keeping", text="any", is_slow=True,
    errors=(NotFound, Conflict, ScopeDenied, Unavailable), counted=("files",),
)  # fmt: skip
