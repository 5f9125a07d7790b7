"""The client of the one memory: what is known of somebody, over all families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from elf.client.call import Call, filled, get, post, reader
from elf.client.families.memories_kept import Agent, KeptMemories, User
from elf.client.family import C_co
from elf.client.filters import Moment, written
from elf.client.inputs import listed
from elf.client.method import method

PATIENCE_S = 30.0
"""How long an answer may take beyond what it was asked to wait for."""

Project = Annotated[str | None, "the project whose notes are looked at (default: of the user's name)"]


class Also(Struct, frozen=True, kw_only=True):
    """An item that says the same as another one."""

    family: str
    kind: str
    id: str
    provenance: list[str]


class Item(Struct, frozen=True, kw_only=True):
    """Something that a family keeps. `provenance` names what it rests on, `states` what makes it less than it seems.

    `agent_id` is the agent that it is of, `conversation` names where it was said, and `metadata` is what its writer
    gave with it.
    """

    family: str
    kind: str
    id: str
    text: str
    provenance: list[str]
    at: datetime | None
    states: list[str]
    agent_id: str | None = None
    conversation: str | None = None
    metadata: dict[str, Any] = {}

    @property
    def address(self) -> str:
        """What names it over all families: family/kind/id."""
        return f"{self.family}/{self.kind}/{self.id}"


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


class Citation(Struct, frozen=True, kw_only=True):
    """Which item a line of a context tells, and others that say the same; `marker` is what the line begins with."""

    marker: str
    family: str
    kind: str
    id: str
    also: list[Also] = []


class MemoryContext(Struct, frozen=True, kw_only=True):
    """What is known as a text to put before a model: it is data, and within the budget. Empty when nothing is known."""

    trace_id: UUID
    text: str
    citations: list[Citation]
    tokens: int
    degraded: list[str]
    skipped: dict[str, str]


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
    """What an answer was made of; `milliseconds` is how long each stage and family took.

    `more` counts the items and what was left out that the trace has no room for.
    """

    trace_id: UUID
    query: str
    at: datetime
    families: list[str]
    items: list[TracedItem]
    left_out: list[LeftOut]
    degraded: list[str]
    skipped: dict[str, str]
    milliseconds: dict[str, float]
    more: dict[str, int]


class Said(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that was said; `id` and `at` are kept as where it is from, and when."""

    content: str
    role: Literal["user", "assistant", "tool"] = "user"
    id: str | None = None
    at: datetime | str | None = None


class WrittenItem(Struct, frozen=True, kw_only=True):
    """What became of something that was said: `op` in its family, of the item of this kind and id, if any.

    `indexed_chars` is how many characters of the item it is found by; None where these are all.
    """

    kind: str
    id: str | None
    op: str
    reason: str | None
    indexed_chars: int | None = None


class InFamily(Struct, frozen=True, kw_only=True):
    """What became of it in a family; where that does not take it, `error_code` and `message` say why."""

    family: str
    state: Literal["pending", "done", "refused", "skipped", "failed", "given_up", "shown"]
    written: list[WrittenItem]
    error_code: str | None
    message: str | None


class Skipped(Struct, frozen=True, kw_only=True):
    """What was said and is not stored: `fields` of a message, or (None) all messages, in a family, or (None) in any.

    `reason`: ROLE, NO_TEXT, NOT_TEXT (its text was stored), CONVERSATION_DELETED.
    """

    message: int | None
    family: str | None
    reason: str
    fields: list[str]


class Remembered(Struct, frozen=True, kw_only=True):
    """What became of what was said. It is `done` when no family is at it any more; `skipped` is not stored."""

    id: UUID
    conversation: str
    repeated: bool
    done: bool
    said_at: datetime
    families: list[InFamily]
    skipped: list[Skipped] = msgspec.field(default_factory=list)


class MemoriesClient(KeptMemories[C_co]):
    """What is known of somebody, over all families. docs/recall.md and docs/remembering.md show it."""

    name = "memories"
    about = "recall and remember over all families"
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
    def remember(
        self,
        messages: Annotated[
            Sequence[Said | Mapping[str, object]], "a message with its content and role, as JSON"
        ],
        *,
        user_id: User = None,
        agent_id: Agent = None,
        project_id: Project = None,
        conversation: Annotated[str | None, "the conversation it is of, by any name"] = None,
        request_id: Annotated[str | None, "makes a repeat harmless (default: one of its own)"] = None,
        wait_ms: Annotated[int | None, "how long to wait for what becomes of it, 0 to 30000"] = None,
        dry_run: Annotated[bool | None, "tell what would become of it, and keep nothing"] = None,
        strict: Annotated[bool | None, "refuse messages of which something would be skipped"] = None,
    ) -> Call[Remembered]:
        """Remember what was said. Raises Conflict when the same request_id said something else before."""
        body = {
            **self.owner, "messages": listed("messages", messages), "user_id": user_id, "agent_id": agent_id,
            "project_id": project_id, "conversation": conversation, "request_id": request_id or str(uuid4()),
            "wait_ms": wait_ms, "dry_run": dry_run, "strict": strict,
        }  # fmt: skip
        call = post("/v1/remember", body, reader(Remembered))
        return call if wait_ms is None else replace(call, timeout_s=PATIENCE_S + wait_ms / 1000)

    @method
    def remembered(
        self,
        remembered_id: Annotated[UUID | str, "that of the answer"],
        *,
        user_id: User = None,
        agent_id: Agent = None,
        project_id: Project = None,
    ) -> Call[Remembered]:
        """Tell what became of what was said. Raises NotFound."""
        path = filled("/v1/remember/{id}", {"id": remembered_id})
        whose = {"user_id": user_id, "agent_id": agent_id, "project_id": project_id}
        return get(path, {**self.owner, **whose}, reader(Remembered))

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
        only_agent: Annotated[bool | None, "with an agent, leave out what is of another one"] = None,
        explain: Annotated[bool | None, "tell also what was left out"] = None,
    ) -> Call[Recalled]:
        """Recall what is known that answers a query."""
        return post(
            "/v1/recall",
            {
                **self.owner, "query": query, "user_id": user_id, "agent_id": agent_id, "project_id": project_id,
                "families": families, "kinds": kinds, "since": written(since), "until": written(until), "top_k": top_k,
                "budget_tokens": budget_tokens, "min_relevance": min_relevance, "only_agent": only_agent,
                "explain": explain,
            },
            reader(Recalled),
        )  # fmt: skip

    @method
    def context(
        self,
        query: Annotated[str, "what the model is about to answer or do"],
        *,
        user_id: User = None,
        agent_id: Agent = None,
        project_id: Project = None,
        families: Annotated[Sequence[str] | None, "only these (default: all)"] = None,
        kinds: Annotated[Sequence[str] | None, "only these (default: all)"] = None,
        since: Annotated[Moment | None, "a moment of ISO 8601"] = None,
        until: Annotated[Moment | None, "a moment of ISO 8601"] = None,
        top_k: Annotated[int | None, "most lines, 1 to 100"] = None,
        budget_tokens: Annotated[int | None, "most tokens of the text, all in all"] = None,
        min_relevance: Annotated[float | None, "leave out what is less relevant, 0 to 1"] = None,
        only_agent: Annotated[bool | None, "with an agent, leave out what is of another one"] = None,
    ) -> Call[MemoryContext]:
        """Put what is known into a text for a model."""
        return post(
            "/v1/context",
            {
                **self.owner, "query": query, "user_id": user_id, "agent_id": agent_id, "project_id": project_id,
                "families": families, "kinds": kinds, "since": written(since), "until": written(until), "top_k": top_k,
                "budget_tokens": budget_tokens, "min_relevance": min_relevance, "only_agent": only_agent,
            },
            reader(MemoryContext),
        )  # fmt: skip
