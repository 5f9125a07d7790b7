"""The client of the graph family."""

from __future__ import annotations

from elf.client.context import Given
from elf.client.families.graph.finding import Finding
from elf.client.families.graph.keeping import Keeping
from elf.client.families.graph.reading import Reading
from elf.client.families.graph.writing import Writing
from elf.client.families.graph.writing_back import WritingBack
from elf.client.family import C_co


class GraphClient(
    Keeping[C_co], WritingBack[C_co], Reading[C_co], Writing[C_co], Finding[C_co]
):  # help lists what the last of them has first
    """What an orchestrator knows: the agent of the client's context is the orchestrator. docs/graph.md shows it."""

    name = "graph"
    about = "what an orchestrator knows: memories, edges between them, bulletins"
    owned_by = ("tenant_id", "agent_id")

    @property
    def owner(self) -> dict[str, Given]:
        """The tenant, and the agent of the client's context as the orchestrator."""
        given = super().owner
        return {"tenant_id": given["tenant_id"], "orchestrator_id": given["agent_id"]}
