"""Keeping memories one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from elf.client.call import Call, delete, filled, post, reader
from elf.client.families.assistant import results as r
from elf.client.families.assistant.inputs import (
    DEFAULT_IMPORTANCE,
    Id,
    MemoryType,
    Message,
    Quote,
    Role,
    Whose,
    all_plain,
    flag,
)
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

ROOT = "/v1/assistant"
MEMORIES = f"{ROOT}/memories"
MEMORY = f"{MEMORIES}/{{memory_id}}"

MemoryId = Annotated[Id, "the id of the memory"]
Category = Annotated[str, "what it is about, such as preferences"]
Importance = Annotated[int, "1 to 5 (default: 2)"]
Tags = Annotated[Sequence[str], "a word to sort it by; may be repeated"]
Pinned = Annotated[bool, "it stays, however long nobody asks for it"]
Agent = Annotated[str | None, "the agent at work"]
Run = Annotated[str | None, "the run of the agent"]
Thread = Annotated[str | None, "the thread of the conversation"]


class Remembering(FamilyClient[C_co]):
    """All raise ScopeDenied for another user's memory, and for categories that the agent may not reach."""

    @method
    def add(
        self,
        text: Annotated[str, "what to keep, in a sentence or two"],
        category: Category,
        *,
        type: Annotated[MemoryType, "what kind it is (default: semantic)"] = "semantic",
        steps_text: Annotated[str | None, "how it is done, a line for each step"] = None,
        tags: Tags = (),
        importance: Importance = DEFAULT_IMPORTANCE,
        pinned: Pinned = False,
        agent_id: Agent = None,
        run_id: Run = None,
        actor_id: Annotated[str | None, "who said it, among several"] = None,
        thread_id: Thread = None,
        role: Annotated[Role | None, "who said it"] = None,
        evidence: Annotated[
            Sequence[Quote | Mapping[str, object]], "words that it is drawn from, as JSON; may be repeated"
        ] = (),
        user_id: Whose = None,
    ) -> Call[r.AddedMemory]:
        """Keep one thing, unless it is known letter for letter."""
        body = {
            **self.owner, "text": text, "category": category, "type": type, "steps_text": steps_text,
            "tags": list(tags), "importance": importance, "pinned": pinned, "agent_id": agent_id, "run_id": run_id,
            "actor_id": actor_id, "thread_id": thread_id, "role": role, "evidence": all_plain(evidence, "evidence"),
            "user_id": user_id,
        }  # fmt: skip
        return post(MEMORIES, body, reader(r.AddedMemory))

    @method
    def add_procedure(
        self,
        steps: Annotated[Sequence[str] | None, "what to do, in order"] = None,
        *,
        messages: Annotated[
            Sequence[Message | Mapping[str, object]] | None,
            "in the place of steps: what was said, of which the numbered lines are the steps; as JSON",
        ] = None,
        text: Annotated[str | None, "what the steps are for (default: the first one)"] = None,
        tags: Tags = (),
        importance: Importance = DEFAULT_IMPORTANCE,
        pinned: Pinned = False,
        agent_id: Agent = None,
        run_id: Run = None,
        thread_id: Thread = None,
        user_id: Whose = None,
    ) -> Call[r.AddedMemory]:
        """Keep how something is done, in up to 20 steps."""
        body = {
            **self.owner, "steps": None if steps is None else list(steps),
            "messages": None if messages is None else all_plain(messages, "messages"),
            "text": text, "tags": list(tags), "importance": importance,
            "pinned": pinned, "agent_id": agent_id, "run_id": run_id, "thread_id": thread_id, "user_id": user_id,
        }  # fmt: skip
        return post(f"{ROOT}/procedures", body, reader(r.AddedMemory))

    @method
    def update(
        self,
        memory_id: MemoryId,
        *,
        text: str | None = None,
        category: str | None = None,
        steps_text: Annotated[str | None, "how it is done, a line for each step"] = None,
        tags: Annotated[Sequence[str] | None, "a word to sort it by; may be repeated"] = None,
        importance: Annotated[int | None, "1 to 5"] = None,
        pinned: Annotated[bool | None, "whether it stays, however long nobody asks for it"] = None,
        user_id: Whose = None,
    ) -> Call[r.UpdatedMemory]:
        """Change a memory; what is not given stays as it is. Raises NotFound, and Conflict for a deleted one."""
        body = {
            **self.owner, "text": text, "category": category, "steps_text": steps_text,
            "tags": None if tags is None else list(tags), "importance": importance, "pinned": pinned,
            "user_id": user_id,
        }  # fmt: skip
        return post(_path(memory_id), body, reader(r.UpdatedMemory), method="PATCH")

    @method
    def pin(
        self,
        memory_id: MemoryId,
        *,
        pinned: Annotated[bool, "false lets it go again (default: true)"] = True,
        user_id: Whose = None,
    ) -> Call[r.UpdatedMemory]:
        """Have a memory stay. Raises NotFound, and Conflict for a deleted one."""
        body = {**self.owner, "pinned": pinned, "user_id": user_id}
        return post(f"{_path(memory_id)}/pin", body, reader(r.UpdatedMemory))

    @method
    def delete(
        self,
        memory_id: MemoryId,
        *,
        hard: Annotated[bool, "for good, at once"] = False,
        user_id: Whose = None,
    ) -> Call[r.DeletedMemory]:
        """Delete a memory, which can be restored for 30 days. Raises NotFound."""
        params = {**self.owner, "hard": flag(hard), "user_id": user_id}
        return delete(_path(memory_id), params, reader(r.DeletedMemory))

    @method
    def restore(self, memory_id: MemoryId, *, user_id: Whose = None) -> Call[r.RestoredMemory]:
        """Bring a deleted memory back. Raises NotFound."""
        return post(
            f"{_path(memory_id)}/restore", {**self.owner, "user_id": user_id}, reader(r.RestoredMemory)
        )


def _path(memory_id: Id) -> str:
    return filled(MEMORY, {"memory_id": memory_id})
