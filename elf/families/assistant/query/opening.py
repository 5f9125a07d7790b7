"""Puts the answering of agents to work in a process."""

from __future__ import annotations

from dataclasses import replace

from elf.families.assistant.api import querying as q
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import FAMILY
from elf.families.assistant.query.embedding import QueryEmbedding
from elf.families.assistant.query.hits import HitCounter
from elf.families.assistant.query.offer import AssistantRecall
from elf.families.assistant.query.service import MemoryQuerying
from elf.family import Opened
from elf.ground import Ground
from elf.memory_embedding import MemoryEmbedder


def open_query(ground: Ground, kit: Kit) -> Opened:
    """Return what answers agents, and counts what they were given."""
    if not ground.roles.serves:
        return Opened()
    hits = HitCounter(kit.database, kit.queries)
    deadline_s = None if ground.config.providers.embedding.is_local else kit.config.embed_deadline_ms / 1000
    embedding = QueryEmbedding(_embedder(ground, kit), deadline_s=deadline_s)
    querying = MemoryQuerying(kit, embedding, hits)
    return Opened(
        handlers={q.QUERY.name: querying.query}, owners=[embedding, hits],
        recall=AssistantRecall(kit),
    )  # fmt: skip


def _embedder(ground: Ground, kit: Kit) -> MemoryEmbedder:
    """Return what embeds queries: by the calls that all searches share, where the process has them."""
    if ground.search is None or kit.texts is None:
        return kit.embedder
    return MemoryEmbedder(replace(kit.texts, embedder=ground.search.models.embedder), family=FAMILY)
