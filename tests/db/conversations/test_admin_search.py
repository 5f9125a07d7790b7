"""What operators find: whatever was said in their tenant. What they look for is told in the log without its words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from elf.api.operation import Handler
from tests.db.conversations.wire_kit import ROOT, Wire, asking

pytestmark = pytest.mark.anyio

SEARCH = "POST /v1/admin/conversations/search"


@pytest.fixture
async def ask(handlers: Mapping[str, Handler]) -> AsyncIterator[Wire]:
    async with asking(handlers) as wire:
        yield wire


async def found(ask: Wire, query: str, **more: Any) -> set[str]:
    answer = await ask(SEARCH, {"query": query, **more}, user="boss", role="auditor")
    assert answer.status_code == 200, answer.text
    return {one["entryId"] for one in answer.json()["data"]}


async def test_operators_find_what_anybody_said_and_deleted_things_where_they_say_so(ask: Wire) -> None:
    hers, his = await ask.new(), (await ask(f"POST {ROOT}", {}, user="bob")).json()["id"]
    first, second = (
        await ask.say(hers, "an old lighthouse"),
        await ask.say(his, "a new lighthouse", user="bob"),
    )
    assert await found(ask, "lighthouse") == {first, second}
    assert await found(ask, "lighthouse", userId="bob") == {second}
    assert (await ask(f"DELETE {ROOT}/{hers}")).status_code == 204
    assert await found(ask, "lighthouse") == {second}
    assert await found(ask, "lighthouse", includeDeleted=True) == {first, second}
    assert await found(ask, "lighthouse", includeDeleted=True, userId="ana") == {first}


async def test_a_page_of_one_owner_is_none_of_all(ask: Wire) -> None:
    for _ in range(3):
        await ask.say(await ask.new(), "an old lighthouse")
    body = {"query": "lighthouse", "limit": 1}
    after = (await ask(SEARCH, body, user="boss", role="auditor")).json()["nextCursor"]
    assert len(await found(ask, "lighthouse", after=after)) == 2
    refused = await ask(SEARCH, {**body, "userId": "ana", "after": after}, user="boss", role="auditor")
    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")


async def test_a_search_is_told_in_the_log_but_not_what_it_looks_for(ask: Wire) -> None:
    with capture_logs() as lines:
        await ask(
            f"{SEARCH}?justification=case+7", {"query": "lighthouse keeper"}, user="boss", role="auditor"
        )
        await ask(SEARCH, {"query": "lighthouse keeper"}, user="ana")
    told = [line for line in lines if line["event"] == "admin_audit"]
    assert [line["action"] for line in told] == ["searchConversations"] * 2
    assert [line["outcome"] for line in told] == ["done", "forbidden"]
    assert told[0]["justification"] == "case 7"
    assert told[0]["parameters"]["query_chars"] == len("lighthouse keeper")
    assert "lighthouse" not in str(lines)
