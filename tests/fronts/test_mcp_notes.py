"""memory_add_note: one note as text, or many as notes, and faults told at the argument."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fronts.mcp_kit import add_note, context, failure, read, within
from tests.system.service import RunningService

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_one_note_is_given_as_text_and_many_as_notes(service: RunningService, tenant: str) -> None:
    async with within(service, **context(tenant)) as client:
        given = {
            "text": "Decision: the office keeps bees.", "type": "decision", "key": "bees", "importance": 0.9,
            "confidence": 1, "ttl_days": 3, "source_ref": {"minutes": [4]}, "scope": "project_shared",
        }  # fmt: skip
        note = read(await client.call_tool("memory_get", {"note_id": await add_note(client, given)}))
        assert note["expires_at"] is not None
        assert {name: note[name] for name in given if name != "ttl_days"} == {
            name: value for name, value in given.items() if name != "ttl_days"
        }
        hives = {"text": "The roof holds four hives."}
        notes = [hives, {"text": "好き"}, {"text": "A hive is inspected in May.", "key": None}]
        body = failure(await client.call_tool("memory_add_note", {"notes": notes}))
        assert (body["error_code"], body["fields"]) == ("NON_ENGLISH_INPUT", ["$.notes[1].text"])
        results = read(await client.call_tool("memory_add_note", {"notes": [notes[0], notes[2]]}))["results"]
        assert [result["op"] for result in results] == ["ADD", "ADD"]
        kept = read(await client.call_tool("memory_get", {"note_id": results[1]["note_id"]}))
        assert (kept["type"], kept["importance"], kept["confidence"]) == ("fact", 0.5, 0.8)
        assert kept["scope"] == "agent_private"


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        ({}, "INVALID_REQUEST", ["$.text"]),
        ({"text": None, "notes": None}, "INVALID_REQUEST", ["$.text"]),
        ({"key": "k"}, "INVALID_REQUEST", ["$.text"]),
        ({"text": "a", "notes": [{"text": "b"}]}, "INVALID_REQUEST", ["$.text", "$.notes"]),
        ({"type": "fact", "notes": [{"text": "b"}]}, "INVALID_REQUEST", ["$.type", "$.notes"]),
        ({"notes": []}, "INVALID_REQUEST", ["$.notes"]),
        ({"notes": "b"}, "INVALID_REQUEST", ["$.notes"]),
        ({"notes": ["b", {"type": "fact"}]}, "INVALID_REQUEST", ["$.notes[0]", "$.notes[1].text"]),
        ({"text": 5}, "INVALID_REQUEST", ["$.text"]),
        ({"text": "a", "importance": 2, "colour": 1}, "INVALID_REQUEST", ["$.importance", "$.colour"]),
        ({"text": "a", "source_ref": {"a\u0000": 1}}, "INVALID_REQUEST", ['$.source_ref["a\\u0000"]']),
        ({"text": "好き", "key": "き"}, "NON_ENGLISH_INPUT", ["$.text", "$.key"]),
    ],
)
async def test_a_faulty_note_is_told_at_the_argument(
    service: RunningService, tenant: str, arguments: dict[str, Any], code: str, fields: list[str]
) -> None:
    async with within(service, **context(tenant)) as client:
        body = failure(await client.call_tool("memory_add_note", arguments))
    assert (body["error_code"], set(body["fields"])) == (code, set(fields))
    assert code == "NON_ENGLISH_INPUT" or fields[0] in body["message"]
