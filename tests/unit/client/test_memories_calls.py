"""The client of recall over all families can ask for all that is offered, and asking twice is like asking once."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import date
from typing import Any

import httpx
import pytest
from answering import URL, Script
from family_calls import call_of, taken

from elf.client import NO_RETRIES, Client
from elf.client.call import Call
from elf.client.families.memories import MemoriesClient
from elf.client.family import methods_of
from elf.memory.manifest import MEMORY

SAMPLES: Mapping[str, Any] = {
    "query": "tea", "user_id": "ana", "agent_id": "planner", "project_id": "website", "families": ["notes"],
    "kinds": ["note"], "since": date(2026, 1, 2), "until": "2026-01-02T03:04:05Z", "top_k": 3, "budget_tokens": 64,
    "min_relevance": 0.4, "only_agent": True, "explain": True,
    "trace_id": "c7a9e9e4-9d5b-4f39-8a77-1f6a5e3c4d20", "family": "notes",
    "messages": [{"content": "I like tea."}], "conversation": "trip", "request_id": "r-1", "wait_ms": 5,
    "dry_run": True, "strict": True, "cascade": True, "remembered_id": "c7a9e9e4-9d5b-4f39-8a77-1f6a5e3c4d20",
    "kind": "note", "item_id": "0b8ff2a0-5d0c-4f1e-9c3a-7a51d3a7c001",
    "items": ["notes/note/0b8ff2a0-5d0c-4f1e-9c3a-7a51d3a7c001"], "handle": "c7a9e9e4-9d5b-4f39-8a77-1f6a5e3c4d20",
    "everything": True, "receipt_id": "c7a9e9e4-9d5b-4f39-8a77-1f6a5e3c4d20", "texts": ["tea"],
    "lines": [{"family": "notes", "item": {"tenant_id": "acme"}}],
}  # fmt: skip
RECEIPT: Mapping[str, Any] = {
    "receipt_id": "c7a9e9e4-9d5b-4f39-8a77-1f6a5e3c4d20", "kind": "user", "subject": "hmac-sha256:00",
    "began_at": "2026-01-02T03:04:05+00:00", "finished_at": "2026-01-02T03:04:06+00:00", "index": {"notes": 0},
    "erased": {"notes": {"notes": 1}}, "out_of_reach": [], "signature": "hmac-sha256:00",
}  # fmt: skip
OF_A_USER: Mapping[str, Any] = {"agent_id": None, "everything": None}  # one of them is meant
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "forget": {"query": None},  # it comes alone
    "erase": OF_A_USER,
    "prove": OF_A_USER,
    "receipt": OF_A_USER,
    "export": OF_A_USER,
}


def asked_of(name: str) -> Call[Any]:
    """Make the call of a method with a sample for each of its parameters."""
    build = methods_of(MemoriesClient)[name].build
    samples = {**SAMPLES, "receipt": RECEIPT, **OTHERS.get(name, {})}
    given = {one: samples[one] for one in [*inspect.signature(build).parameters][1:]}
    network = Script(httpx.Response(200, json={}))
    client = Client(URL, transport=network, retries=NO_RETRIES, tenant_id="acme").memories
    return call_of(build(client, **given))


def test_every_operation_has_a_method_whose_arguments_it_takes() -> None:
    assert taken(map(asked_of, methods_of(MemoriesClient)), MEMORY) == {
        *MEMORY.operations,
        *MEMORY.admin_operations,
    }


@pytest.mark.parametrize("name", methods_of(MemoriesClient))
def test_only_what_a_repeat_leaves_as_it_is_is_sent_again(name: str) -> None:
    assert asked_of(name).repeat == "safe"
