"""Reading what is kept: one memory, listings, and what became of them."""

from __future__ import annotations

from typing import Annotated

from elf.client.call import Call, Listing, filled, get, listing, reader
from elf.client.context import Given
from elf.client.families.assistant import results as r
from elf.client.families.assistant.inputs import (
    MemoryState,
    MemoryType,
    Moment,
    ProposalState,
    Role,
    Whose,
    flag,
)
from elf.client.families.assistant.remembering import MEMORIES, MEMORY, ROOT, MemoryId
from elf.client.family import C_co, FamilyClient
from elf.client.filters import written
from elf.client.method import method
from elf.client.results import Page

PageSize = Annotated[int | None, "how many a page, 1 to 200"]


class Reading(FamilyClient[C_co]):
    """Reading counts as no use of a memory. All raise ScopeDenied for another user's."""

    @method
    def show(self, memory_id: MemoryId, *, user_id: Whose = None) -> Call[r.Memory]:
        """Read a memory in any state. Raises NotFound."""
        path = filled(MEMORY, {"memory_id": memory_id})
        return get(path, {**self.owner, "user_id": user_id}, reader(r.Memory))

    @method
    def list(
        self,
        *,
        state: Annotated[MemoryState, "(default: active)"] = "active",
        category: Annotated[str | None, "what they are about"] = None,
        type: Annotated[MemoryType | None, "which kind"] = None,
        thread_id: Annotated[str | None, "their thread"] = None,
        agent_id: Annotated[str | None, "the agent that was at work"] = None,
        run_id: Annotated[str | None, "the run of the agent"] = None,
        actor_id: Annotated[str | None, "who said it"] = None,
        role: Annotated[Role | None, "who said it"] = None,
        tag: Annotated[str | None, "a word that they are sorted by"] = None,
        pinned: Annotated[bool | None, "only what is pinned, or only what is not"] = None,
        importance_min: Annotated[int | None, "1 to 5"] = None,
        importance_max: Annotated[int | None, "1 to 5"] = None,
        updated_after: Annotated[Moment | None, "a moment of ISO 8601"] = None,
        updated_before: Annotated[Moment | None, "a moment of ISO 8601"] = None,
        user_id: Whose = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Memory]:
        """List memories, those changed last first."""
        params: dict[str, Given] = {
            "state": state, "category": category, "type": type, "thread_id": thread_id, "agent_id": agent_id,
            "run_id": run_id, "actor_id": actor_id, "role": role, "tag": tag, "pinned": flag(pinned),
            "importance_min": importance_min, "importance_max": importance_max,
            "updated_after": written(updated_after), "updated_before": written(updated_before), "user_id": user_id,
            "limit": limit,
        }  # fmt: skip
        return listing(MEMORIES, {**self.owner, **params}, Page[r.Memory], cursor)

    @method
    def history(
        self,
        memory_id: MemoryId,
        *,
        user_id: Whose = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.HistoryRow]:
        """List what became of a memory, newest first. Raises NotFound."""
        path = f"{filled(MEMORY, {'memory_id': memory_id})}/history"
        return listing(path, {**self.owner, "user_id": user_id, "limit": limit}, Page[r.HistoryRow], cursor)

    @method
    def all_history(
        self, *, user_id: Whose = None, limit: PageSize = None, cursor: str | None = None
    ) -> Listing[r.HistoryRow]:
        """List what became of all memories of a user, newest first."""
        params = {**self.owner, "user_id": user_id, "limit": limit}
        return listing(f"{ROOT}/history", params, Page[r.HistoryRow], cursor)

    @method
    def user_context(self, *, user_id: Whose = None) -> Call[r.UserContext]:
        """Read what a user agreed to be known by."""
        return get(f"{ROOT}/user_context", {**self.owner, "user_id": user_id}, reader(r.UserContext))

    @method
    def proposals(
        self,
        *,
        state: Annotated[ProposalState | None, "(default: all)"] = None,
        user_id: Whose = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Proposal]:
        """List what waits for a user's decision, and what was decided, newest first."""
        params = {**self.owner, "state": state, "user_id": user_id, "limit": limit}
        return listing(f"{ROOT}/proposals", params, Page[r.Proposal], cursor)
