"""Taking all of a user, an agent or a tenant along, and taking it in, over all families."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.api.json_bounds import JsonBounds
from elf.api.operation import Operation, Stream
from elf.core.errors import Conflict, NonEnglishInput, ScopeDenied, Unavailable
from elf.memory.api import fields as f
from elf.memory.api.erasing import TAG, Whose

MOST_LINES: Final = 500
MAX_BODY_BYTES: Final = 16 << 20
BOUNDS: Final = JsonBounds(values=1_000_000, long_digits=MAX_BODY_BYTES, string_chars=MAX_BODY_BYTES)
"""What a family takes of it, the family says."""


class Export(Whose):
    """Who is taken along: a user, an agent, or with neither the whole tenant."""


class ExportedLine(Request):
    """Something of a family: `item` is as the family tells it, and is taken in by it alone."""

    family: f.FamilyName
    item: dict[str, Any]


class Import(Request):
    """Lines in the order of an export; they may come in several requests, and again."""

    tenant_id: Annotated[f.TenantIdGiven, Field(description="Whose they have to be.")]
    items: Annotated[list[ExportedLine], Field(min_length=1, max_length=MOST_LINES)]


class Imported(Response):
    """What became of the lines."""

    new: int = Field(description="How many were not there yet.")
    known: int = Field(description="How many were: they stay as they are.")


EXPORT: Final = Stream(
    "export_memory", "GET", "/v1/admin/export", "Take all of a user, an agent or a tenant along, line by line", Export,
    ExportedLine, tag=TAG, text="any", errors=(ScopeDenied, Unavailable),
)  # fmt: skip
IMPORT: Final = Operation(
    "import_memory", "POST", "/v1/admin/import", "Take lines of an export in", Import, Imported,
    tag=TAG, text="any", max_body_bytes=MAX_BODY_BYTES, json_bounds=BOUNDS,
    errors=(Conflict, NonEnglishInput, ScopeDenied, Unavailable), counted=("new",),
)  # fmt: skip

TRANSFERRING: Final = (EXPORT, IMPORT)
