"""Remembering, linking, and saying what is no longer true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from elf.client.call import Call, filled, post, reader
from elf.client.families.graph import results as r
from elf.client.families.graph.finding import ROOT
from elf.client.families.graph.inputs import (
    DEFAULT_CONFIDENCE,
    DEFAULT_IMPORTANCE,
    CapturedBy,
    NewEdge,
    NewMemory,
    NewSource,
    NodeType,
    SourceType,
    Status,
    each,
    memory_to_send,
    plain,
)
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

MEMORY = f"{ROOT}/memories/{{memory_id}}"
CONTRADICTION = f"{ROOT}/contradictions/{{edge_id}}"

MemoryId = Annotated[str, "the id of the memory"]
Reason = Annotated[str | None, "why"]


class Writing(FamilyClient[C_co]):
    """What is written has an id, of the caller's or of the call's own: a repeat writes nothing twice.

    All raise ScopeDenied for another orchestrator's memory, and InvalidRequest for a text with a secret in it.
    """

    @method
    def remember(
        self,
        content: Annotated[str, "what to keep"],
        type: Annotated[NodeType, "what kind it is"],
        *,
        importance: Annotated[int, "0 to 100 (default: 50)"] = DEFAULT_IMPORTANCE,
        confidence: Annotated[float, "how sure it is, 0 to 1 (default: 0.8)"] = DEFAULT_CONFIDENCE,
        summary: Annotated[str | None, "in short (default: its beginning)"] = None,
        memory_id: Annotated[str | None, "of the memory whose place it takes, or its own"] = None,
        status: Annotated[Status, "(default: active)"] = "active",
        source_type: Annotated[SourceType, "where it is from (default: manual)"] = "manual",
        captured_by: Annotated[CapturedBy, "who captured it (default: user)"] = "user",
        source_path: Annotated[str | None, "the path of its file"] = None,
        conversation_id: Annotated[str | None, "its conversation"] = None,
        workflow_run_id: Annotated[str | None, "its run of a workflow"] = None,
        step_id: Annotated[str | None, "its step"] = None,
    ) -> Call[r.Written]:
        """Remember one thing; with the id of a memory, in its place."""
        source = NewSource(
            source_type=source_type, captured_by=captured_by, source_path=source_path,
            conversation_id=conversation_id, workflow_run_id=workflow_run_id, step_id=step_id,
        )  # fmt: skip
        memory = NewMemory(
            content=content, type=type, importance=importance, confidence=confidence, summary=summary,
            memory_id=memory_id, status=status, source=source,
        )  # fmt: skip
        body = {**self.owner, "memories": [memory_to_send(memory)]}
        return post(f"{ROOT}/memories", body, reader(r.Written), only_note="$.memories[0]")

    @method
    def remember_all(
        self,
        memories: Annotated[Sequence[NewMemory | Mapping[str, object]], "the fields of a memory, as JSON"],
        *,
        edges: Annotated[
            Sequence[NewEdge | Mapping[str, object]], "the fields of an edge, as JSON; may be repeated"
        ] = (),
    ) -> Call[r.Written]:
        """Write up to 100 memories and 500 edges: all, or none.

        Raises NotFound for an edge to a memory that there is not, and Conflict for the id of an edge between others.
        """
        body = {
            "memories": [memory_to_send(one) for one in each(memories, "memories")],
            "edges": [plain(one) for one in each(edges, "edges")],
        }
        return post(f"{ROOT}/memories", {**self.owner, **body}, reader(r.Written))

    @method
    def link(
        self,
        edges: Annotated[Sequence[NewEdge | Mapping[str, object]], "the fields of an edge, as JSON"],
    ) -> Call[r.Written]:
        """Write up to 500 edges between memories that there are: all, or none. Raises as `remember_all` does."""
        body = {"edges": [plain(one) for one in each(edges, "edges")]}
        return post(f"{ROOT}/edges", {**self.owner, **body}, reader(r.Written))

    @method
    def update(
        self,
        memory_id: MemoryId,
        *,
        type: NodeType | None = None,
        importance: Annotated[int | None, "0 to 100"] = None,
        content: str | None = None,
        summary: Annotated[str | None, "in short (default: the beginning of a new content)"] = None,
        confidence: Annotated[float | None, "how sure it is, 0 to 1"] = None,
        source: Annotated[NewSource | Mapping[str, object] | None, "where it is from, as JSON"] = None,
        reason: Reason = None,
    ) -> Call[r.Changed]:
        """Change a memory; what is not given stays as it is. Raises NotFound."""
        body = {
            "type": type, "importance": importance, "content": content, "summary": summary,
            "confidence": confidence, "source": plain(source), "reason": reason,
        }  # fmt: skip
        return self._of_memory(memory_id, "update", body)

    @method
    def supersede(
        self,
        memory_id: Annotated[str, "the id of the memory that was true once"],
        *,
        by_memory_id: Annotated[str | None, "the memory that is true now"] = None,
        memory: Annotated[NewMemory | Mapping[str, object] | None, "or a new one, as JSON"] = None,
        reason: Reason = None,
    ) -> Call[r.Changed]:
        """Say that a memory is superseded, by one that there is or by a new one. Raises NotFound."""
        new = None if memory is None else memory_to_send(memory)
        return self._of_memory(
            memory_id, "supersede", {"by_memory_id": by_memory_id, "memory": new, "reason": reason}
        )

    @method
    def retract(self, memory_id: MemoryId, *, reason: Reason = None) -> Call[r.Changed]:
        """Say that a memory is not true. Raises NotFound."""
        return self._of_memory(memory_id, "retract", {"reason": reason})

    @method
    def restore(self, memory_id: MemoryId, *, reason: Reason = None) -> Call[r.Changed]:
        """Make a memory active again. Raises NotFound."""
        return self._of_memory(memory_id, "restore", {"reason": reason})

    @method
    def resolve(
        self,
        edge_id: Annotated[str, "the edge of the type Contradicts"],
        reason: Annotated[str, "how that is known"],
        *,
        keep: Annotated[Literal["FROM", "TO"] | None, "the end that is true now; the other one was"] = None,
        retract: Annotated[Literal["FROM", "TO", "BOTH"] | None, "the end that was never true"] = None,
        both_true: Annotated[bool, "it is no contradiction"] = False,
    ) -> Call[r.Changed]:
        """Resolve a contradiction, by exactly one of keep, retract and both_true.

        Raises NotFound, and Conflict for one that is resolved already; so it is sent again only when the first request
        surely did nothing.
        """
        body = {"keep": keep, "retract": retract, "both_true": both_true or None, "reason": reason}
        path = f"{filled(CONTRADICTION, {'edge_id': edge_id})}/resolve"
        return post(path, {**self.owner, **body}, reader(r.Changed), repeat="undone")

    def _of_memory(self, memory_id: str, verb: str, body: Mapping[str, object]) -> Call[r.Changed]:
        path = f"{filled(MEMORY, {'memory_id': memory_id})}/{verb}"
        return post(path, {**self.owner, **body}, reader(r.Changed))
