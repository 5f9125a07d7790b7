"""The client of the one memory: what is known of somebody, over all families."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from elf.client.call import Call, filled, get, post, reader
from elf.client.family import C_co, FamilyClient
from elf.client.filters import Moment, written
from elf.client.method import method

User = Annotated[str | None, "whom it is about (default: who calls)"]
Agent = Annotated[str | None, "the agent at work"]
Project = Annotated[str | None, "the project whose notes are looked at (default: of the user's name)"]


class Also(Struct, frozen=True, kw_only=True):
    """An item that says the same as another one."""

    family: str
    kind: str
    id: str
    provenance: list[str]


class Item(Struct, frozen=True, kw_only=True):
    """Something that a family keeps. `provenance` names what it rests on, `states` what makes it less than it seems."""

    family: str
    kind: str
    id: str
    text: str
    provenance: list[str]
    at: datetime | None
    states: list[str]


class RecalledItem(Item, frozen=True, kw_only=True):
    """An item of an answer: `score` is the sum of its `terms`; `relevance` is None where it was not compared."""

    score: float
    terms: dict[str, float]
    relevance: float | None
    also: list[Also]


class LeftOut(Struct, frozen=True, kw_only=True):
    """A candidate that is not in an answer, and why."""

    family: str
    kind: str
    id: str
    reason: str
    score: float | None
    relevance: float | None


class Recalled(Struct, frozen=True, kw_only=True):
    """What is known that answers a query, best first. `degraded` says what was away, `skipped` who does not take it."""

    trace_id: UUID
    items: list[RecalledItem]
    tokens: int
    degraded: list[str]
    skipped: dict[str, str]
    left_out: list[LeftOut] | None


class TracedItem(Struct, frozen=True, kw_only=True):
    """An item of an answer, without its text."""

    family: str
    kind: str
    id: str
    score: float
    terms: dict[str, float]
    relevance: float | None
    also: list[Also]


class RecallTrace(Struct, frozen=True, kw_only=True):
    """What an answer was made of; `milliseconds` is how long each stage and family took."""

    trace_id: UUID
    query: str
    at: datetime
    families: list[str]
    items: list[TracedItem]
    left_out: list[LeftOut]
    degraded: list[str]
    skipped: dict[str, str]
    milliseconds: dict[str, float]


class MemoriesClient(FamilyClient[C_co]):
    """What is known of somebody, over all families. docs/recall.md shows it."""

    name = "memories"
    about = "recall over all families"
    owned_by = ("tenant_id",)

    @method
    def item(
        self,
        family: Annotated[str, "the name of a family"],
        kind: Annotated[str, "its kind"],
        item_id: Annotated[str, "its id"],
        *,
        user_id: User = None,
        agent_id: Agent = None,
        project_id: Project = None,
    ) -> Call[Item]:
        """Read an item by its address. Raises NotFound."""
        path = filled("/v1/items/{family}/{kind}/{id}", {"family": family, "kind": kind, "id": item_id})
        whose = {"user_id": user_id, "agent_id": agent_id, "project_id": project_id}
        return get(path, {**self.owner, **whose}, reader(Item))

    @method
    def explain(
        self,
        trace_id: Annotated[UUID | str, "that of the answer"],
        *,
        user_id: User = None,
        agent_id: Agent = None,
        project_id: Project = None,
    ) -> Call[RecallTrace]:
        """Tell what an answer was made of. Raises NotFound."""
        path = filled("/v1/recall/{trace_id}", {"trace_id": trace_id})
        whose = {"user_id": user_id, "agent_id": agent_id, "project_id": project_id}
        return get(path, {**self.owner, **whose}, reader(RecallTrace))

    @method
    def recall(
        self,
        query: Annotated[str, "what to look for"],
        *,
        user_id: User = None,
        agent_id: Agent = None,
        project_id: Project = None,
        families: Annotated[Sequence[str] | None, "only these (default: all)"] = None,
        kinds: Annotated[Sequence[str] | None, "only these (default: all)"] = None,
        since: Annotated[Moment | None, "a moment of ISO 8601"] = None,
        until: Annotated[Moment | None, "a moment of ISO 8601"] = None,
        top_k: Annotated[int | None, "most items, 1 to 100"] = None,
        budget_tokens: Annotated[int | None, "most tokens of all texts"] = None,
        min_relevance: Annotated[float | None, "leave out what is less relevant, 0 to 1"] = None,
        explain: Annotated[bool | None, "tell also what was left out"] = None,
    ) -> Call[Recalled]:
        """Recall what is known that answers a query."""
        return post(
            "/v1/recall",
            {
                **self.owner, "query": query, "user_id": user_id, "agent_id": agent_id, "project_id": project_id,
                "families": families, "kinds": kinds, "since": written(since), "until": written(until), "top_k": top_k,
                "budget_tokens": budget_tokens, "min_relevance": min_relevance, "explain": explain,
            },
            reader(Recalled),
        )  # fmt: skip
