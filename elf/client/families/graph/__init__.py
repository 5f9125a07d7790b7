"""The client of the graph: what orchestrators know, as memories and edges between them."""

from __future__ import annotations

from elf.client.families.graph.client import GraphClient
from elf.client.families.graph.inputs import NewEdge, NewMemory, NewSource
from elf.client.families.graph.results import Bulletin, Bundle, Context, Edge, Memory, Source

__all__ = [
    "Bulletin",
    "Bundle",
    "Context",
    "Edge",
    "GraphClient",
    "Memory",
    "NewEdge",
    "NewMemory",
    "NewSource",
    "Source",
]
