"""Random work with the graph: each memory is written, changed, superseded, retracted and made active again."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

from tests.families.graph_world import memory
from tests.families.work import WorkClient

MOST_STEPS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryClaim:
    """What a memory says and what its status is, one of two while a change is on its way, and what is part of it."""

    memory_id: str
    states: frozenset[tuple[str, str]]
    parts: frozenset[str] = frozenset()


class GraphWork:
    """Writes memories of which no two are alike, each with one that is part of it."""

    def do(self, client: WorkClient) -> Iterator[MemoryClaim]:
        _at_home(client)
        whole, part = _word(client), _word(client)
        state = (f"It says {whole}.", "active")
        edge = {"fromMemoryId": part, "toMemoryId": whole, "edgeType": "PartOf", "weight": 0.5}
        memories = [memory(whole, state[0]), memory(part, f"It says {part}.")]
        client.ask("graph_write_memories", memories=memories, edges=[edge])
        claim = MemoryClaim(memory_id=whole, states=frozenset([state]), parts=frozenset([part]))
        yield claim
        for _ in range(client.rng.randrange(MOST_STEPS + 1)):
            name, fields, then = _step(client, state)
            yield replace(claim, states=frozenset([state, then]))
            client.ask(name, memory_id=whole, **fields)
            state = then
            yield replace(claim, states=frozenset([state]))

    def problems(self, client: WorkClient, claims: Sequence[MemoryClaim]) -> list[str]:
        """Return what is lost, changed, or has gaps in its history."""
        _at_home(client)
        return [f"{claim.memory_id}: {one}" for claim in claims for one in _problems(client, claim)]


def _at_home(client: WorkClient) -> None:
    """Be one orchestrator of a tenant whose name a folder may have."""
    if "project_id" in client.place:
        tenant = uuid5(NAMESPACE_OID, client.place["tenant_id"])
        client.place = {"tenant_id": str(tenant), "orchestrator_id": "worker"}


def _word(client: WorkClient) -> str:
    """A new word; numbers as long might be those of cards, which are refused."""
    return "".join(client.rng.choices(string.ascii_lowercase, k=16))


def _step(client: WorkClient, state: tuple[str, str]) -> tuple[str, dict[str, Any], tuple[str, str]]:
    """Return an operation, its fields, and what the memory is then."""
    content, status = state
    if status == "retracted":
        return "graph_restore_memory", {}, (content, "active")
    if client.rng.random() < 0.3:
        return "graph_retract_memory", {"reason": "It is not so."}, (content, "retracted")
    content = f"It says {_word(client)}."
    return "graph_update_memory", {"content": content}, (content, status)


def _problems(client: WorkClient, claim: MemoryClaim) -> Iterator[str]:
    found = client.ask("graph_get_memory", memory_id=claim.memory_id)["memory"]
    if (found["content"], found["status"]) not in claim.states:
        yield f"says {found['content']!r} and is {found['status']}, which is none of {set(claim.states)}"
    history = client.ask("graph_memory_history", memory_id=claim.memory_id, limit=200)["items"]
    versions = [one["version"] for one in history]
    if versions != [*range(1, len(versions) + 1)]:
        yield f"has the versions {versions}"
    edges = client.ask("graph_memory_edges", memory_id=claim.memory_id, direction="incoming")["items"]
    parts = [one["edge"]["fromMemoryId"] for one in edges]
    if sorted(parts) != sorted(claim.parts):
        yield f"has the parts {parts} and not {set(claim.parts)}"
