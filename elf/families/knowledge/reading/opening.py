"""Puts the reading of memories to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.families.knowledge.api import listing as a
from elf.families.knowledge.api import searching as s
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.reading.explain import MemoryExplainer
from elf.families.knowledge.reading.listing import MemoryListing
from elf.families.knowledge.reading.search import MemorySearch, query_embedder
from elf.families.knowledge.reading.stats import MemoryStats
from elf.family import Opened
from elf.ground import Ground


def open_reading(ground: Ground, kit: Kit) -> Opened:
    """Return what reads and finds memories."""
    if ground.search is None:
        return Opened()
    embedder = query_embedder(kit, ground.search.models.embedder)
    trace_days = ground.config.search.explain.retention_days
    search = MemorySearch(kit, embedder, ground.search.trace, trace_days=trace_days)
    listing, explainer = MemoryListing(kit), MemoryExplainer(kit, ground.traces)
    done_by: dict[Operation, Handler] = {
        a.GET_MEMORY: listing.get,
        a.MEMORY_HISTORY: listing.history,
        a.MEMORY_LINKS: listing.links,
        a.LIST_EPISODES: listing.episodes,
        a.LIST_FACTS: listing.facts,
        a.LIST_RULES: listing.rules,
        a.LIST_EVENTS: listing.events,
        s.SEARCH: search.search,
        s.RECALL: search.recall,
        s.CONTEXT: search.context,
        s.EXPLAIN: explainer.explain,
        s.TRACES: explainer.page,
        s.STATS: MemoryStats(kit).read,
    }
    return Opened(handlers={operation.name: handle for operation, handle in done_by.items()})
