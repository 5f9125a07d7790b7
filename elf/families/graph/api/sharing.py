"""Sharing a user's memory with the other users of its tenant: request and operation."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied, Unavailable
from elf.families.graph.api.listing import GotMemory
from elf.families.graph.api.writing import OneMemory


class Share(OneMemory):
    """Which memory. Whose it is stays known."""

    shared: bool = Field(description="Whether other users are told of it; false takes it back.")


SHARE: Final = Operation(
    "graph_share", "POST", "/v1/admin/graph/share", "Say whether other users are told of a memory", Share, GotMemory,
    tag="graph: keeping", text="any", errors=(NotFound, ScopeDenied, Unavailable),
)  # fmt: skip
