"""What each family finds by its own search, as the keys of what was kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final, TypeAlias

from ops.eval.keeping import Keeper

Found: TypeAlias = list[frozenset[str]]
"""The keys of each item that was found, best first."""
MOST: Final = 50
"""How many are asked for: some may be of other users, where a search is not of one alone."""


def notes(keeper: Keeper, query: str) -> Found:
    answer = keeper.memory.search(query, top_k=MOST)
    return [keeper.keys.of("notes", one.note_id) for one in answer.items]


def knowledge(keeper: Keeper, query: str) -> Found:
    answer = keeper.memory.knowledge.search(query, limit=2 * MOST)
    return [keeper.keys.of("knowledge", one.memory.id) for one in answer.items]


def conversations(keeper: Keeper, query: str) -> Found:
    found = keeper.memory.conversations.search(query, all_entries=True, without_entry=True, limit=MOST)
    return [keeper.keys.of("conversations", one.entry_id) for one in islice(found, MOST)]


def graph(keeper: Keeper, query: str) -> Found:
    answer = keeper.memory.graph.recall(query, top_n=MOST)
    return [keeper.keys.of("graph", one.memory.memory_id) for one in answer.nodes]


def assistant(keeper: Keeper, query: str) -> Found:
    answer = keeper.memory.assistant.query_full(
        query, agent=keeper.agent, user_id=keeper.user, top_k=MOST, budget_tokens=8192
    )
    return [
        keeper.keys.of("assistant", one.id, (f"turn:{quote.turn_id}" for quote in one.evidence))
        for one in answer.items
    ]


SEARCHES: Final[Mapping[str, Callable[[Keeper, str], Found]]] = MappingProxyType(
    {
        "notes": notes, "knowledge": knowledge, "conversations": conversations, "graph": graph,
        "assistant": assistant,
    }
)  # fmt: skip


def searched(keeper: Keeper, family: str, query: str) -> Found:
    """Return what a family finds of what its user had it keep."""
    return [keys for keys in SEARCHES[family](keeper, query) if keys]
