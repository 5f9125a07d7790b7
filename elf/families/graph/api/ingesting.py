"""Files that were dropped: requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from elf.api.bodies import Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, NotOffered, ScopeDenied, Unavailable
from elf.families.graph.api import fields as f
from elf.families.graph.api.listing import NextCursor, Page
from elf.families.graph.ingest.names import IngestStatus
from elf.families.graph.ingest.rejection import ReasonCode

TAG: Final = "graph: files"

Path = Annotated[
    str, Field(description="Where the file is: in ingest/processed or in ingest/rejected, with its manifest.")
]


class ListIngested(f.InOrchestrator, Page):
    """Which files, those that ended last first; without a status all."""

    status: IngestStatus | None = None


class LookNow(f.InOrchestrator):
    """Whose ingest folder is looked at now, instead of soon."""


class Skipped(Response):
    """A statement that did not become a memory, by where it starts in the text of its file, and why."""

    start: int | None
    reason: str


class IngestError(Response):
    """Why a file was rejected."""

    code: ReasonCode
    message: str
    fields: list[str]


class IngestedFile(Response):
    """What became of a file that was dropped, as its manifest says."""

    status: IngestStatus
    sourcePath: Path
    idempotencyKey: str | None = Field(description="Null where its bytes were not read.")
    memoriesWritten: int
    edgesWritten: int
    memoryIds: list[str]
    extractor: str | None = Field(description="What took the memories out of it: rules, chat or json.")
    skipped: list[Skipped]
    indexedChars: int | None = Field(
        description="How many characters of its text it is found by, from the first on; null where these are all."
    )
    error: IngestError | None


class IngestedFiles(Response):
    """A page of files."""

    items: list[IngestedFile]
    next_cursor: NextCursor


class EndedFile(Response):
    """What became of a file, and where it is now."""

    status: IngestStatus
    sourcePath: Path
    reasonCode: ReasonCode | None


class LookedNow(Response):
    """What became of the files that were waiting."""

    here: bool = Field(
        description="False where another process looks; what it takes in is then found by listing the files."
    )
    files: list[EndedFile]


LIST_INGESTED: Final = Operation(
    "graph_list_ingested", "GET", "/v1/graph/ingest", "List the files that were taken in or rejected",
    ListIngested, IngestedFiles, tag=TAG, text="any", errors=(NotFound, ScopeDenied, Unavailable),
)  # fmt: skip
LOOK_NOW: Final = Operation(
    "graph_ingest_now", "POST", "/v1/graph/ingest/run", "Look at the ingest folder now",
    LookNow, LookedNow, tag=TAG, text="any", is_slow=True, errors=(NotFound, NotOffered, ScopeDenied, Unavailable),
)  # fmt: skip

INGESTING: Final = (LIST_INGESTED, LOOK_NOW)
