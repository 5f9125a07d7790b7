"""What an assistant does turn by turn: it tells what was said, asks what is known, and keeps its thread's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from elf.client.call import Call, filled, get, nothing, post, reader
from elf.client.families.assistant import results as r
from elf.client.families.assistant.inputs import (
    Acknowledgement,
    Decision,
    Filters,
    Form,
    Id,
    MemoryType,
    Message,
    Strategy,
    Whose,
    all_plain,
    plain,
)
from elf.client.families.assistant.remembering import ROOT, Agent, Run
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

CHECKPOINTS = f"{ROOT}/checkpoints"
THREAD = f"{ROOT}/threads/{{thread_id}}/checkpoint"

ThreadId = Annotated[str, "the thread of the conversation"]
_FULL = reader(r.FullAnswer)


class Conversing(FamilyClient[C_co]):
    """All raise ScopeDenied for another user's memory."""

    @method
    def turn(
        self,
        thread_id: ThreadId,
        turn_id: Annotated[str, "makes a repeat harmless"],
        messages: Annotated[
            Sequence[Message | Mapping[str, object]], "a message with its role and content, as JSON"
        ],
        *,
        acknowledgements: Annotated[
            Sequence[Acknowledgement | Mapping[str, object]],
            "what the user decided about a proposal, as JSON; may be repeated",
        ] = (),
        agent_id: Agent = None,
        run_id: Run = None,
        user_id: Whose = None,
    ) -> Call[r.TurnTaken]:
        """Take in what was said since the turn before; the same turn again has the same answer.

        Raises Conflict when the turn came with other words before, and NotFound for a proposal that there is not.
        """
        body = {
            **self.owner, "thread_id": thread_id, "turn_id": turn_id, "messages": all_plain(messages, "messages"),
            "acknowledgements": all_plain(acknowledgements, "acknowledgements"), "agent_id": agent_id,
            "run_id": run_id, "user_id": user_id,
        }  # fmt: skip
        return post(f"{ROOT}/turn", body, reader(r.TurnTaken))

    @method
    def decide(
        self,
        proposal_id: Annotated[Id, "the id of the proposal"],
        decision: Annotated[Decision, "what the user decided: approve or reject"],
        *,
        user_id: Whose = None,
    ) -> Call[r.Proposal]:
        """Decide about a proposal as the user did. Raises NotFound, and Conflict where it was decided otherwise."""
        path = filled(f"{ROOT}/proposals/{{proposal_id}}/decision", {"proposal_id": proposal_id})
        return post(path, {**self.owner, "decision": decision, "user_id": user_id}, reader(r.Proposal))

    @method
    def query(
        self,
        query: Annotated[str, "what to look for, in words of any language"],
        *,
        agent: Annotated[str | None, "the agent that asks (default: that of the key)"] = None,
        categories: Annotated[
            Sequence[str] | None, "only this one; may be repeated (default: all but procedural)"
        ] = None,
        types: Annotated[Sequence[MemoryType] | None, "only this kind; may be repeated"] = None,
        filters: Annotated[Filters | Mapping[str, object] | None, "only such memories, as JSON"] = None,
        top_k: Annotated[int | None, "how many items at most, 1 to 50 (default: 3)"] = None,
        budget_tokens: Annotated[int | None, "how many tokens at most, 16 to 8192 (default: 512)"] = None,
        threshold: Annotated[float | None, "the least cosine of an item"] = None,
        thread_id: Annotated[str | None, "the thread, which is told what changed"] = None,
        since_rev: Annotated[int | None, "tell what changed since this revision of the thread"] = None,
        explain: Annotated[bool, "with the terms of each score"] = False,
        recall: Annotated[bool, "the agent is not sure: at most 3 bullets of 512 tokens"] = False,
        user_id: Whose = None,
    ) -> Call[r.Answer]:
        """Ask what is known of a user, in lines. Raises ScopeDenied for a category that the agent may not read."""
        return self._asked(
            "bullets", reader(r.Answer), query=query, agent=agent, categories=categories, types=types,
            filters=filters, top_k=top_k, budget_tokens=budget_tokens, threshold=threshold, thread_id=thread_id,
            since_rev=since_rev, explain=explain, reason="recall" if recall else None, user_id=user_id,
        )  # fmt: skip

    @method
    def query_full(
        self,
        query: Annotated[str, "what to look for, in words of any language"],
        *,
        agent: Annotated[str | None, "the agent that asks (default: that of the key)"] = None,
        categories: Annotated[
            Sequence[str] | None, "only this one; may be repeated (default: all but procedural)"
        ] = None,
        types: Annotated[Sequence[MemoryType] | None, "only this kind; may be repeated"] = None,
        filters: Annotated[Filters | Mapping[str, object] | None, "only such memories, as JSON"] = None,
        top_k: Annotated[int | None, "how many items at most, 1 to 50 (default: 3)"] = None,
        budget_tokens: Annotated[int | None, "how many tokens at most, 16 to 8192 (default: 512)"] = None,
        threshold: Annotated[float | None, "the least cosine of an item"] = None,
        thread_id: Annotated[str | None, "the thread, which is told what changed"] = None,
        since_rev: Annotated[int | None, "tell what changed since this revision of the thread"] = None,
        explain: Annotated[bool, "with the terms of each score"] = False,
        user_id: Whose = None,
    ) -> Call[r.FullAnswer]:
        """Ask what is known of a user, with all that is kept of each memory. Raises as `query` does."""
        return self._asked(
            "full", reader(r.FullAnswer), query=query, agent=agent, categories=categories, types=types,
            filters=filters, top_k=top_k, budget_tokens=budget_tokens, threshold=threshold, thread_id=thread_id,
            since_rev=since_rev, explain=explain, user_id=user_id,
        )  # fmt: skip

    def _asked(self, form: Form, read: Callable[[bytes], Any], **asked: Any) -> Call[Any]:
        """Make a query. Whose memory it is stands among its filters."""
        given, user_id = asked.pop("filters"), asked.pop("user_id")
        filters = {} if given is None else plain(given)
        if user_id is not None and isinstance(filters, dict):
            filters = {**filters, "user_id": user_id}
        return post(f"{ROOT}/memory/query", {**self.owner, **asked, "filters": filters, "return": form}, read)

    @method
    def thread_checkpoint(self, thread_id: ThreadId, *, user_id: Whose = None) -> Call[r.ThreadCheckpoint]:
        """Read what the newest checkpoint of a thread says. Raises NotFound."""
        path = filled(THREAD, {"thread_id": thread_id}, slashed="thread_id")
        return get(path, {**self.owner, "user_id": user_id}, reader(r.ThreadCheckpoint))

    @method
    def save_thread_checkpoint(
        self,
        thread_id: ThreadId,
        checkpoint_data: Annotated[Mapping[str, object], "a JSON object, kept as it is"],
        *,
        user_id: Whose = None,
    ) -> Call[r.ThreadCheckpoint]:
        """Keep the state of a thread that no graph keeps. Raises Conflict where one does."""
        body = {**self.owner, "checkpoint_data": checkpoint_data, "user_id": user_id}
        return post(
            filled(THREAD, {"thread_id": thread_id}, slashed="thread_id"), body, reader(r.ThreadCheckpoint)
        )

    @method
    def delete_checkpoints(
        self,
        *,
        thread_ids: Annotated[Sequence[str], "this thread; may be repeated"] = (),
        run_ids: Annotated[Sequence[str], "what this run made; may be repeated"] = (),
        user_id: Whose = None,
    ) -> Call[None]:
        """Delete checkpoints of graphs: whole threads, and what runs made."""
        body = {**self.owner, "thread_ids": list(thread_ids), "run_ids": list(run_ids), "user_id": user_id}
        return post(f"{CHECKPOINTS}/delete", body, nothing)

    @method
    def copy_thread(
        self,
        source_thread_id: Annotated[str, "the thread that is copied"],
        target_thread_id: Annotated[str, "the thread that it is copied to"],
        *,
        user_id: Whose = None,
    ) -> Call[None]:
        """Copy the checkpoints of a thread; what is there already stays."""
        threads = {"source_thread_id": source_thread_id, "target_thread_id": target_thread_id}
        return post(f"{CHECKPOINTS}/copy", {**self.owner, **threads, "user_id": user_id}, nothing)

    @method
    def prune(
        self,
        thread_ids: Annotated[Sequence[str], "a thread; may be repeated"],
        *,
        strategy: Annotated[Strategy, "keep_latest, or delete all (default: keep_latest)"] = "keep_latest",
        user_id: Whose = None,
    ) -> Call[None]:
        """Delete all checkpoints of threads but the newest of each namespace."""
        body = {**self.owner, "thread_ids": list(thread_ids), "strategy": strategy, "user_id": user_id}
        return post(f"{CHECKPOINTS}/prune", body, nothing)
