#!/usr/bin/env python3
"""What MCP costs an agent's context: the list of tools, and an answer of twelve notes.

    python -m ops.bench.mcp_sizes

Starts a service of its own on the example config, stores twelve notes as agents write them, and asks for all of them
by the official MCP client. Prints of the tool list, of a search, of a listing and of the explanation of a result how
many bytes of JSON the answer is on the wire, and how many tokens: those of the packaged model's tokenizer (WordPiece),
which counts each brace and quotation mark, and so more than the tokenizers of large models do.
"""

from __future__ import annotations

import json
from typing import Any

import anyio
from mcp import Client
from mcp_types import CallToolResult, Result, TextContent

from elf.config import load
from elf.providers.tokens import HfTokens
from tests.folders import fresh_folder
from tests.system.service import RunningService, wait_for, write_config

CONTEXT = {"tenant_id": "default", "project_id": "default", "agent_id": "default"}
SCOPE = "agent_private"
QUESTION = "How does Ana work, and what has been decided for the billing service?"
NOTES: tuple[dict[str, Any], ...] = (
    {"type": "preference", "key": "preferred_language", "text": "Ana wants answers in English, also to questions in "
     "other languages.", "source_ref": {"ticket": "SUP-1204", "said_by": "Ana"}},
    {"type": "preference", "key": "answer_style", "text": "Ana prefers short answers with the command first and the "
     "explanation after it.", "source_ref": {"session": "2026-11-02", "message": 14}},
    {"type": "preference", "text": "Ana likes to review pull requests on Tuesday mornings, before the stand-up.",
     "source_ref": {"channel": "team-billing"}},
    {"type": "decision", "key": "billing_database", "text": "The billing service moves to PostgreSQL 18 before the end "
     "of March; MySQL stays read-only until May.", "source_ref": {"document": "ADR-0031", "url":
     "https://wiki.example.com/adr/0031"}},
    {"type": "decision", "key": "billing_currency", "text": "The billing service stores every amount in cents of the "
     "customer's currency, as a whole number.", "source_ref": {"document": "ADR-0027"}},
    {"type": "decision", "text": "Ana and Ben decided to keep the old invoice layout for customers in Norway.",
     "source_ref": {"ticket": "BIL-882"}},
    {"type": "constraint", "key": "billing_deploys", "text": "The billing service may not be deployed on the last two "
     "working days of a month.", "source_ref": {"document": "runbook", "section": "4.2"}},
    {"type": "constraint", "text": "Every change of the billing service needs the approval of Ana or Ben.",
     "source_ref": {"file": "CODEOWNERS", "line": 12}},
    {"type": "profile", "key": "role", "text": "Ana leads the billing team and works from Lisbon, one hour behind the "
     "rest of the team.", "source_ref": {"session": "2026-10-19", "message": 3}},
    {"type": "fact", "text": "The billing service sends its invoices through the queue invoices-out, at most 40 a "
     "second.", "source_ref": {"session": "2026-11-09", "message": 41}},
    {"type": "fact", "text": "Ana's test account in the staging cluster is called ana-test-2 and has three invoices."},
    {"type": "plan", "key": "next_release", "text": "Ana plans the next release of the billing service for the second "
     "week of December.", "source_ref": {"ticket": "BIL-901"}},
)  # fmt: skip


def main() -> None:
    with fresh_folder() as folder, RunningService(write_config(folder)) as service:
        store(service)
        anyio.run(measure, service)


def store(service: RunningService) -> None:
    """Store the notes and wait until a search gives them all."""
    notes = [{"importance": 0.5, "confidence": 0.8, **note} for note in NOTES]
    service.client.post(
        "/v1/memory/add_note", json={**CONTEXT, "scope": SCOPE, "notes": notes}
    ).raise_for_status()
    search = {**CONTEXT, "read_profile": "all_scopes", "query": QUESTION}

    def found() -> bool:
        answer = service.client.post("/v1/memory/search", json=search).raise_for_status()
        return len(answer.json()["items"]) == len(NOTES)

    wait_for(found, "all notes are found")


async def measure(service: RunningService) -> None:
    """Ask for everything and print the sizes."""
    config = load(service.config)
    tokens = HfTokens.open("", config.providers.embedding, config.local_model)
    print(f"{'':<28}{'bytes':>8}{'tokens':>8}")
    async with Client(service.mcp_url) as client:
        show("instructions", client.instructions or "", tokens)
        show("tool list", wire(await client.list_tools()), tokens)
        found = await client.call_tool(
            "memory_search", {**CONTEXT, "query": QUESTION, "read_profile": "all_scopes"}
        )
        show(f"search, {len(body(found)['items'])} items", wire(found), tokens)
        listed = await client.call_tool("memory_list", {**CONTEXT, "scope": SCOPE})
        show(f"listing, {len(body(listed)['items'])} items", wire(listed), tokens)
        explained = await explanation(client, body(found)["trace_id"])
        show("explanation", wire(explained), tokens)


async def explanation(client: Client, trace_id: str) -> CallToolResult:
    """Ask for it until the trace is stored, which takes a moment."""
    with anyio.fail_after(60):
        while True:
            result = await client.call_tool("memory_search_explain", {**CONTEXT, "trace_id": trace_id})
            if not result.is_error:
                return result
            await anyio.sleep(0.05)


def show(name: str, text: str, tokens: HfTokens) -> None:
    print(f"{name:<28}{len(text.encode()):>8}{len(tokens.spans(text)):>8}")


def wire(result: Result) -> str:
    """Return a result as it goes over the wire."""
    return result.model_dump_json(by_alias=True, exclude_none=True)


def body(result: CallToolResult) -> dict[str, Any]:
    """Return the body of an answer, which is the text of the result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    found: dict[str, Any] = json.loads(content.text)
    return found


if __name__ == "__main__":
    main()
