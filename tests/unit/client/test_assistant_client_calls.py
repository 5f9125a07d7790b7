"""The client of the assistant: it can ask for all that is offered, does nothing twice, and reads what it is told."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import msgspec
import pytest
from answering import URL, Script
from family_calls import call_of, taken

from elf.client import NO_RETRIES, Client, InvalidRequest
from elf.client.call import Call
from elf.client.families.assistant import AssistantClient, Filters, Message, file_results, inputs, results
from elf.client.family import methods_of
from elf.families.assistant import model
from elf.families.assistant.api import (
    checkpoints,
    consent,
    consolidation,
    file_answers,
    history,
    memories,
    querying,
    subjects,
    turn,
)
from elf.families.assistant.manifest import ASSISTANT
from elf.families.assistant.rules import user_context

ID = UUID("5b0a6c1e-7a4f-4a55-9a0e-2d1f7c3b8e10")
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LINE = {
    "user_id": "ana",
    "user_context": {"field": "tone", "value": "brief", "updated_at": "2026-01-02T03:04:05Z"},
}
OF_SAVERS = {checkpoints.PUT, checkpoints.PUT_WRITES, checkpoints.GET, checkpoints.LIST}
"""What `elf.langgraph` asks."""
UNDONE = {
    "delete", "consolidate", "create_file", "replace_in_file", "insert_into_file", "delete_file", "rename_file",
}  # fmt: skip

# Values for every parameter that the methods have; what a method cannot have beside others is below.
SAMPLES: Mapping[str, Any] = {
    "text": "User prefers tea.", "category": "preferences", "type": "semantic", "steps_text": "1. Boil water.",
    "tags": ["food"], "importance": 3, "pinned": True, "agent_id": "planner", "run_id": "r", "actor_id": "a",
    "thread_id": "t", "role": "user", "evidence": [inputs.Quote(quote="I prefer tea"), {"quote": "tea"}],
    "user_id": "ana", "steps": ["Build it."], "memory_id": ID, "hard": True, "state": "active", "tag": "food",
    "importance_min": 1, "importance_max": 5, "updated_after": MOMENT, "updated_before": "2026-01-02T03:04:05Z",
    "limit": 5, "cursor": "c", "turn_id": "1", "messages": [Message(role="user", content="Hi")],
    "acknowledgements": [inputs.Acknowledgement(proposal_id=ID, decision="approve", quote="Hi")],
    "proposal_id": ID, "decision": "reject", "query": "tea", "agent": "planner", "categories": ["goals"],
    "types": ["semantic"], "filters": Filters(pinned=True, updated_after=MOMENT), "top_k": 3, "budget_tokens": 64,
    "threshold": 0.5, "since_rev": 0, "explain": True, "recall": True, "checkpoint_data": {"step": 1},
    "thread_ids": ["t"], "run_ids": ["r"], "source_thread_id": "t", "target_thread_id": "t2", "strategy": "delete",
    "lines": [LINE], "what": "user", "name": "ana", "all_tenants": False, "dry_run": True, "timeout_s": 60.0,
    "path": "/memories/a.md", "view_range": (1, -1), "file_text": "Tea.", "old_str": "Tea", "new_str": "Coffee",
    "expected_version": 1, "insert_line": 0, "insert_text": "Tea.", "old_path": "/memories/a.md",
    "new_path": "/memories/b.md", "version": 1,
}  # fmt: skip
OF_METHODS: Mapping[str, Mapping[str, Any]] = {"proposals": {"state": "pending"}}


def asking(network: Script) -> AssistantClient[Client]:
    return Client(URL, transport=network, retries=NO_RETRIES, tenant_id="acme").assistant


def asked_of(name: str) -> Call[Any]:
    """Make the call of a method with a sample for each of its parameters."""
    build = methods_of(AssistantClient)[name].build
    samples = {**SAMPLES, **OF_METHODS.get(name, {})}
    given = {one: samples[one] for one in [*inspect.signature(build).parameters][1:]}
    return call_of(build(asking(Script(httpx.Response(200, json={}))), **given))


def test_every_operation_has_a_method_whose_arguments_it_takes() -> None:
    assert (
        taken(map(asked_of, methods_of(AssistantClient)), ASSISTANT)
        == {*ASSISTANT.operations, *ASSISTANT.admin_operations} - OF_SAVERS
    )


@pytest.mark.parametrize("name", methods_of(AssistantClient))
def test_only_what_a_repeat_leaves_as_it_is_is_sent_again(name: str) -> None:
    assert asked_of(name).repeat == ("undone" if name in UNDONE else "safe")


@pytest.mark.parametrize(
    ("told", "read"),
    [
        (memories.Memory, results.Memory), (memories.AddedMemory, results.AddedMemory),
        (memories.UpdatedMemory, results.UpdatedMemory), (memories.DeletedMemory, results.DeletedMemory),
        (memories.RestoredMemory, results.RestoredMemory), (memories.Quote, inputs.Quote),
        (history.HistoryRow, results.HistoryRow), (turn.TurnTaken, results.TurnTaken),
        (turn.TurnResult, results.TurnResult), (consent.UserContext, results.UserContext),
        (consent.Proposal, results.Proposal), (querying.QueryAnswer, results.Answer),
        (querying.QueryAnswer, results.FullAnswer), (querying.Bullet, results.Bullet),
        (querying.FullMemory, results.FullMemory), (querying.Related, results.Related),
        (querying.Explanation, results.Explanation), (querying.Tokens, results.Tokens),
        (querying.Delta, results.Delta), (checkpoints.ThreadCheckpoint, results.ThreadCheckpoint),
        (subjects.Imported, results.Imported), (subjects.RejectedLine, results.RejectedLine),
        (subjects.Erased, results.Erased), (consolidation.Consolidated, results.Consolidated),
        *(
            (getattr(file_answers, name), getattr(file_results, name))
            for name in (
                "ViewedFile", "WrittenFile", "MovedFiles", "FileListed", "FileText", "FileVersion", "FileVersions",
                "FoundLine", "FoundFile", "FoundFiles",
            )
        ),
    ],
)  # fmt: skip
def test_answers_are_read_with_all_that_is_told(told: Any, read: Any) -> None:
    assert {field.encode_name for field in msgspec.structs.fields(read)} == told.model_fields.keys()


def test_the_words_of_the_client_are_those_of_the_service() -> None:
    words = {"MemoryType", "MemoryState", "Role", "RelationType", "HistoryEvent"}
    assert {name: getattr(inputs, name) for name in words} == {name: getattr(model, name) for name in words}
    assert inputs.ContextField == user_context.ContextField
    assert (inputs.ProposalState, inputs.Decision) == (consent.ProposalState, consent.Choice)
    assert results.TurnOutcome == turn.Result


def test_whose_memory_a_query_is_about_stands_among_its_filters() -> None:
    network = Script(httpx.Response(500))
    call = methods_of(AssistantClient)["query"].build(
        asking(network), "tea", agent="planner", filters={"pinned": True}, user_id="ana"
    )
    body = msgspec.json.decode(call.content)
    assert body["filters"] == {"pinned": True, "user_id": "ana"}
    assert (body["tenant_id"], body["return"], "user_id" in body) == ("acme", "bullets", False)


@pytest.mark.parametrize("messages", [{"role": "user"}, "Hi", 7])
def test_what_is_no_list_is_refused_before_it_is_sent(messages: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        asking(Script()).turn("t", "1", messages)
    assert caught.value.fields == ("messages",)
