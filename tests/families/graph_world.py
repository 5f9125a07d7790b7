"""What an orchestrator knows, and what of it others must not be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from tests.families.fronts import Fronts
from tests.families.graph_callers import CALLERS
from tests.families.identities import FREE
from tests.families.rows import COLLEAGUE, Caller, Kind

ORCHESTRATOR: Final = Caller("the owner", COLLEAGUE, {}, identity=FREE)
"""An orchestrator that calls for no user: what users write is tried by the users of a tenant."""
LISTED: Final = 200
IDS: Final = ("fact", "other", "third", "past", "spare", "doomed", "lost", "edge", "contradiction", "dispute")
SOURCE: Final = {"sourceType": "manual", "capturedBy": "user"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphWorld:
    """The memory of an orchestrator: each memory holds the `word`, and so do all ids but those of messages.

    `fact` contradicts `other` by the edge `contradiction`, and `third` by the edge `dispute`; the edge `edge` relates
    `past`, which is superseded, to it; `lost` is retracted. `spare` and `doomed` are for those who change
    memories, and who erase them.
    """

    fronts: Fronts
    owner: Caller
    place: Mapping[str, str]
    word: str
    fact: str
    other: str
    third: str
    past: str
    spare: str
    doomed: str
    lost: str
    edge: str
    contradiction: str
    dispute: str

    @property
    def ids(self) -> Mapping[str, str]:
        return {name: getattr(self, name) for name in IDS}

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        return [self.word, *self.ids.values()]

    def unknown(self, kind: Kind) -> GraphWorld:
        return replace(self, **{name: f"none-{uuid4()}" for name in IDS})

    def of(self, caller: Caller) -> GraphWorld:
        return self

    def ask(self, name: str, **arguments: Any) -> Any:
        """Return what the owner is answered."""
        headers = self.owner.headers(self.fronts.identities, self.place)
        reply = self.fronts.public.ask(name, {**self.place, **arguments}, headers=headers)
        assert reply.ok, f"{name}: {reply.text}"
        return reply.body

    def state(self) -> object:
        """Every memory with its history and its edges, and every contradiction."""
        listed = self.ask("graph_list_memories", status="all", limit=LISTED)["items"]
        of_each = [
            [self.ask(name, memory_id=one["memoryId"], limit=LISTED) for name in OF_A_MEMORY]
            for one in listed
        ]
        return [listed, of_each, self.ask("graph_list_contradictions", limit=LISTED)]


OF_A_MEMORY: Final = ("graph_memory_history", "graph_memory_edges")


def memory(memory_id: str, content: str, **other: Any) -> dict[str, Any]:
    """Return a memory to write."""
    return {
        "memoryId": memory_id, "type": "Fact", "importance": 50, "content": content, "confidence": 0.8,
        "source": SOURCE, **other,
    }  # fmt: skip


def settle(
    fronts: Fronts, callers: Sequence[Caller] = CALLERS, *, owner: Caller = ORCHESTRATOR
) -> GraphWorld:
    """Have a new orchestrator know something, which the owner tells it."""
    mark = uuid4().hex[:12]
    place = {
        "tenant_id": f"owner-{mark}",
        "orchestrator_id": "planner",
        "requesting_orchestrator_id": "planner",
    }
    ids = {name: f"{name}-{mark}" for name in IDS}
    world = GraphWorld(fronts=fronts, owner=owner, place=place, word=f"w{mark}", **ids)
    memories = [
        memory(world.fact, f"The office of {world.word} is in Lisbon."),
        memory(world.other, f"The office of {world.word} is in Porto."),
        memory(world.third, f"The office of {world.word} is in Braga."),
        memory(world.past, f"The office of {world.word} was in Faro.", status="superseded"),
        memory(world.spare, f"Order disks for {world.word}.", type="Todo"),
        memory(world.doomed, f"Open a shop for {world.word}.", type="Goal"),
        memory(world.lost, f"There is no {world.word}.", status="retracted"),
    ]
    edges = [
        _edge(world.contradiction, world.fact, world.other, "Contradicts"),
        _edge(world.dispute, world.fact, world.third, "Contradicts"),
        _edge(world.edge, world.past, world.fact, "RelatedTo"),
    ]
    world.ask("graph_write_memories", memories=memories, edges=edges)
    return world


def _edge(edge_id: str, start: str, end: str, edge_type: str) -> dict[str, Any]:
    return {"edgeId": edge_id, "fromMemoryId": start, "toMemoryId": end, "edgeType": edge_type, "weight": 0.5}
