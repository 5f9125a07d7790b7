"""A service whose config raises the bounds of conversations: what is at one is kept whole, what is beyond refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import grpc
import pytest

from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.documented_bounds import documented_bounds
from tests.folders import fresh_folder
from tests.system import held_by_requests as held
from tests.system.held_by_requests import OPERATOR, ROOT, House, Refused
from tests.system.service import RunningService, write_config

RAISED: Final = {
    "body_bytes": 2 * 1024 * 1024,
    "entry_body_bytes": 10 * 1024 * 1024,
    "title_chars": 600,
    "user_id_chars": 512,
    "content_type_chars": 200,
    "query_chars": 4000,
    "indexed_content_chars": 150_000,
    "metadata_bytes": 300_000,
    "content_items": 20_000,
    "content_levels": 100,
    "index_batch": 1_500,
    "limit": 300,
    "admin_limit": 1_200,
}
ROLES: Final = f"""
[security.auth.roles.admin]
users = ["{OPERATOR}"]
"""
LARGE: Final = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[RunningService]:
    with fresh_folder() as folder:
        raised = {key: str(value) for key, value in RAISED.items()}
        config = write_config(folder, cache_dir=f'"{model_folder}"', **raised)
        config.write_text(config.read_text(encoding="utf-8") + ROLES, encoding="utf-8")
        with RunningService(config) as service:
            yield service
        assert service.complaints() == []


@pytest.fixture(scope="module")
def channel(service: RunningService) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(service.grpc_address, options=LARGE) as channel:
        yield channel


@pytest.fixture
def house(service: RunningService, channel: grpc.Channel) -> House:
    return House(service, channel)


Ask = Callable[[House, int], bool]
CHARS: Final = "string should have at most {most} characters"
ITEMS: Final = "list should have at most {most} items, not {beyond}"
NUMBER: Final = "should be less than or equal to {most}"
BYTES: Final = "must be at most {most:,} bytes of JSON"
DEEP: Final = "nested deeper than {most} levels"
OVER_HTTP: Final[list[tuple[Ask, str, str, str]]] = [
    (held.title, "title_chars", "title", CHARS),
    (held.member, "user_id_chars", "userId", CHARS),
    (held.content_type, "content_type_chars", "contentType", CHARS),
    (held.query, "query_chars", "query", CHARS),
    (held.title_query, "query_chars", "query", CHARS),
    (held.indexed, "indexed_content_chars", "indexedContent", CHARS),
    (held.metadata, "metadata_bytes", "metadata", BYTES),
    (held.items, "content_items", "content", ITEMS),
    (held.levels, "content_levels", "content" + "[0]" * 100, DEEP),
    (held.batch, "index_batch", "$", ITEMS),
    (held.page, "limit", "limit", NUMBER),
    (held.admin_page, "admin_limit", "limit", NUMBER),
]
OVER_GRPC: Final[list[tuple[Ask, str, str, str]]] = [
    (held.title_rpc, "title_chars", "$.title", CHARS),
    (held.member_rpc, "user_id_chars", "$.userId", CHARS),
    (held.content_type_rpc, "content_type_chars", "$.contentType", CHARS),
    (held.query_rpc, "query_chars", "$.query", CHARS),
    (held.indexed_rpc, "indexed_content_chars", "$[0].indexedContent", CHARS),
    (held.metadata_rpc, "metadata_bytes", "$.metadata", BYTES),
    (held.items_rpc, "content_items", "$.content", ITEMS),
    (held.batch_rpc, "index_batch", "$", ITEMS),
    (held.page_rpc, "limit", "$.limit", NUMBER),
    (held.whole_page_rpc, "limit", "$.page_size", NUMBER),
]


def name_of(value: object) -> str:
    return getattr(value, "__name__", "")


@pytest.mark.parametrize(("ask", "key", "field", "words"), OVER_HTTP, ids=name_of)
def test_what_is_at_a_bound_is_kept_whole_and_what_is_beyond_is_refused(
    house: House, ask: Ask, key: str, field: str, words: str
) -> None:
    most = RAISED[key]
    assert ask(house, most)
    with pytest.raises(Refused) as refusal:
        ask(house, most + 1)
    assert refusal.value.told == (400, field, words.format(most=most, beyond=most + 1))


@pytest.mark.parametrize(("ask", "key", "field", "words"), OVER_GRPC, ids=name_of)
def test_over_grpc_the_bounds_are_the_same(house: House, ask: Ask, key: str, field: str, words: str) -> None:
    most = RAISED[key]
    assert ask(house, most)
    with pytest.raises(Refused) as refusal:
        ask(house, most + 1)
    message = f"{field}: {words.format(most=most, beyond=most + 1)}"
    assert refusal.value.told == ("INVALID_ARGUMENT", None, message)


@pytest.mark.parametrize(
    ("key", "path", "body"),
    [
        ("body_bytes", ROOT, {}),
        (
            "entry_body_bytes",
            f"{ROOT}/{{id}}/entries",
            {"channel": "memory", "contentType": "x", "content": []},
        ),
    ],
)
def test_a_body_of_the_raised_size_is_taken_and_a_larger_one_is_not(
    house: House, key: str, path: str, body: dict[str, Any]
) -> None:
    raw, most = json.dumps(body).encode(), RAISED[key]
    call = f"POST {path.format(id=house.id)}"
    assert "id" in house.http(call, raw=raw.ljust(most))
    with pytest.raises(Refused) as refusal:
        house.http(call, raw=raw.ljust(most + 1))
    assert refusal.value.told == (413, None, f"the body is larger than {most} bytes")


def test_a_message_of_the_raised_size_is_taken_and_read_back_and_a_larger_one_is_not(house: House) -> None:
    most = RAISED["entry_body_bytes"]
    entry = pb.CreateEntryRequest(content_type="x", channel=pb.MEMORY)
    given = "x" * (most - 1000)
    assert "id" in house.rpc("EntriesService.AppendEntry", **house.it, entry=entry, content=[given])
    listed = house.rpc("EntriesService.ListEntries", **house.it, channel=pb.MEMORY)
    assert [one["content"] for one in listed["entries"]] == [[given]]
    with pytest.raises(Refused) as refusal:
        house.rpc("EntriesService.AppendEntry", **house.it, entry=entry, content=[given + "x" * 1000])
    status, _, message = refusal.value.told
    assert (status, str(most) in message) == ("RESOURCE_EXHAUSTED", True)


def test_the_document_tells_the_raised_bounds(service: RunningService) -> None:
    told = documented_bounds(service.client.get("/openapi.json").json())
    assert told == {key: RAISED[key] for key in RAISED if key not in ("metadata_bytes", "content_levels")}


def test_tools_take_and_tell_what_requests_may_hold(service: RunningService, house: House) -> None:
    told = {tool["name"]: tool["inputSchema"]["properties"] for tool in house.mcp("tools/list")["tools"]}
    assert told["conversation_list"]["limit"]["description"] == "How many at most, 1 to 300."
    for arguments, is_error in (({"query": "x" * 4000, "limit": 300}, False), ({"query": "x" * 4001}, True)):
        answer = house.mcp("tools/call", name="conversation_search", arguments=arguments)
        assert answer["isError"] == is_error
    assert "should have at most 4000 characters" in answer["content"][0]["text"]
