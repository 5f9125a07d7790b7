"""Reading what is kept: one memory, its history and edges, and listings of everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from elf.client.call import Call, Listing, filled, get, listing, reader
from elf.client.context import Given
from elf.client.families.graph import results as r
from elf.client.families.graph.finding import ROOT
from elf.client.families.graph.inputs import EdgeType, ListedStatus, NodeType, SourceType
from elf.client.families.graph.writing import MEMORY, MemoryId
from elf.client.family import C_co, FamilyClient
from elf.client.method import method
from elf.client.results import Page

PageSize = Annotated[int | None, "how many a page, 1 to 200"]


class Reading(FamilyClient[C_co]):
    """All raise ScopeDenied for another orchestrator's memory."""

    @method
    def show(self, memory_id: MemoryId) -> Call[r.Memory]:
        """Read a memory. Raises NotFound."""
        return get(filled(MEMORY, {"memory_id": memory_id}), self.owner, one_memory())

    @method
    def list(
        self,
        *,
        type: Annotated[NodeType | None, "which kind"] = None,
        status: Annotated[ListedStatus, "(default: active)"] = "active",
        source_type: Annotated[SourceType | None, "where they are from"] = None,
        conversation_id: Annotated[str | None, "their conversation"] = None,
        source_path: Annotated[str | None, "the path of their file"] = None,
        min_importance: Annotated[int | None, "least importance, 0 to 100"] = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Memory]:
        """List memories, those changed last first."""
        params: dict[str, Given] = {
            "type": type, "status": status, "source_type": source_type, "conversation_id": conversation_id,
            "source_path": source_path, "min_importance": min_importance, "limit": limit,
        }  # fmt: skip
        return listing(f"{ROOT}/memories", {**self.owner, **params}, Page[r.Memory], cursor)

    @method
    def history(
        self, memory_id: MemoryId, *, limit: PageSize = None, cursor: str | None = None
    ) -> Listing[r.MemoryVersion]:
        """List what a memory has been, oldest first. Raises NotFound."""
        path = f"{filled(MEMORY, {'memory_id': memory_id})}/history"
        return listing(path, {**self.owner, "limit": limit}, Page[r.MemoryVersion], cursor)

    @method
    def edges(
        self,
        memory_id: MemoryId,
        *,
        direction: Annotated[Literal["outgoing", "incoming", "both"], "(default: both)"] = "both",
        edge_type: EdgeType | None = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.EdgeOf]:
        """List the edges of a memory, by id. Raises NotFound."""
        path = f"{filled(MEMORY, {'memory_id': memory_id})}/edges"
        params: dict[str, Given] = {"direction": direction, "edge_type": edge_type, "limit": limit}
        return listing(path, {**self.owner, **params}, Page[r.EdgeOf], cursor)

    @method
    def contradictions(
        self, *, limit: PageSize = None, cursor: str | None = None
    ) -> Listing[r.Contradiction]:
        """List the unresolved contradictions, oldest first."""
        params = {**self.owner, "limit": limit}
        return listing(f"{ROOT}/contradictions", params, Page[r.Contradiction], cursor)


def one_memory() -> Callable[[bytes], r.Memory]:
    read = reader(r.GotMemory)
    return lambda content: read(content).memory
