"""The client of knowledge: what agents learn, as episodes, facts and rules."""

from __future__ import annotations

from elf.client.families.knowledge.client import KnowledgeClient
from elf.client.families.knowledge.inputs import NewEpisode, NewFact, NewRule
from elf.client.families.knowledge.results import ContextBlock, Entity, Episode, Fact, Found, Memory, Rule

__all__ = [
    "ContextBlock",
    "Entity",
    "Episode",
    "Fact",
    "Found",
    "KnowledgeClient",
    "Memory",
    "NewEpisode",
    "NewFact",
    "NewRule",
    "Rule",
]
