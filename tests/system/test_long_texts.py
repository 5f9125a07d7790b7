"""Texts of any length are stored whole, and found by their first 100,000 characters, as the response says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import grpc
import pytest

from elf.client import Client
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc.memory_service_pb2_grpc import EntriesServiceStub
from tests.awkward_requests import call
from tests.system.said import ROOT, Speaker, is_indexed
from tests.system.service import RunningService, wait_for
from tests.system.truth import rows

MOST: Final = 100_000
WORD: Final = "w" * 200  # which is one token, so that a long text is embedded quickly
LARGE: Final = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def long_text(chars: int) -> str:
    """A text with a word at its beginning, one just within the limit, one right behind it, and one at its end."""
    beginning, within, beyond, end = "lighthouse", "ferry", "zeppelin", "submarine"
    start = f"{beginning} {f'{WORD} ' * (MOST // (len(WORD) + 1))}"[: MOST - len(within) - 1]
    text = f"{start.rstrip('w ').ljust(MOST - len(within) - 1)} {within} {beyond} "
    return text + f"{WORD} " * ((chars - len(text)) // (len(WORD) + 1)) + end


FOUND: Final = ("lighthouse", "ferry")
NOT_FOUND: Final = ("zeppelin", "submarine")


@pytest.fixture
def ana(service: RunningService) -> Speaker:
    return Speaker(service)


@pytest.fixture
def tenant() -> str:
    """A tenant whose name a folder may have."""
    return f"t-{uuid4()}"


@pytest.fixture
def client(service: RunningService, tenant: str) -> Iterator[Client]:
    with Client(service.url, tenant_id=tenant, agent_id="planner") as client:
        yield client


def chunks_of(service: RunningService, entry: str) -> int:
    """How far the chunks of an entry reach, of which each has its vector."""
    reach = (
        "SELECT max(c.end_offset) AS reach, bool_and(v.chunk_id IS NOT NULL) AS has_vectors"
        " FROM conversations_chunks AS c LEFT JOIN conversations_chunk_embeddings AS v USING (chunk_id)"
        f" WHERE c.subject_id = '{UUID(entry)}'"
    )
    (row,) = rows(service.config.parent, reach)
    assert row["has_vectors"]
    return int(row["reach"])


def assert_found_by_its_beginning(ana: Speaker, entry: str) -> None:
    for word in FOUND:
        assert ana.found(word, searchType="fulltext") == [entry]
    for word in NOT_FOUND:
        assert ana.found(word, searchType="fulltext") == []
    wait_for(lambda: is_indexed(ana.service), "all is in the index")
    assert ana.found("lighthouse", searchType="semantic") == [entry]
    assert chunks_of(ana.service, entry) <= MOST


def test_an_entry_is_found_by_its_first_characters_and_read_whole(ana: Speaker) -> None:
    trip, text = ana.begin(), long_text(6_800_000)
    said = {"contentType": "history", "content": [{"text": text}]}
    entry = ana.call("POST", f"{ROOT}/{trip}/entries", status=201, **said)
    assert entry["indexedChars"] == MOST
    (read,) = ana.call("GET", f"{ROOT}/{trip}/entries")["data"]
    assert read["content"] == [{"role": "USER", "text": text}]
    assert read == {name: value for name, value in entry.items() if name != "indexedChars"}
    assert_found_by_its_beginning(ana, entry["id"])


def test_an_entry_that_is_indexed_whole_says_nothing_of_it(ana: Speaker) -> None:
    said = {"contentType": "history", "content": [{"text": long_text(MOST)[:MOST]}]}
    entry = ana.call("POST", f"{ROOT}/{ana.begin()}/entries", status=201, **said)
    assert "indexedChars" not in entry


def test_an_entry_over_grpc_is_found_by_its_first_characters_as_its_trailer_says(ana: Speaker) -> None:
    trip, text = ana.begin(), long_text(6_800_000)
    entry = pb.CreateEntryRequest(content_type="history", channel=pb.HISTORY)
    entry.content.add().struct_value.update({"role": "USER", "text": text})
    who = (("authorization", f"Bearer {ana.name}"),)
    with grpc.insecure_channel(ana.service.grpc_address, options=LARGE) as channel:
        append = EntriesServiceStub(channel).AppendEntry
        asked = pb.AppendEntryRequest(conversation_id=UUID(trip).bytes, entry=entry)
        written, done = append.with_call(asked, metadata=who, timeout=60)
    assert dict(done.trailing_metadata())["indexed-chars"] == str(MOST)
    assert written.content[0].struct_value["text"] == text
    assert_found_by_its_beginning(ana, str(UUID(bytes=written.id)))


def test_an_imported_entry_is_found_by_its_first_characters(ana: Speaker) -> None:
    """As one that was exported by a service with another limit."""
    trip = ana.begin()
    ana.say(trip, "lighthouse")
    wait_for(lambda: is_indexed(ana.service), "all is in the index")
    admin = ana.service.admin
    line: dict[str, Any]
    exported = admin.get("/v1/admin/export", params={"tenant_id": "default", "user_id": ana.name})
    lines = [
        json.loads(one.removeprefix("data: "))
        for one in exported.text.splitlines()
        if one.startswith("data: ")
    ]
    of_conversations = [one for one in lines if one["family"] == "conversations"]
    for line in of_conversations:
        if line["item"]["kind"] == "entry":
            line["item"] |= {"text": long_text(300_000)}
    tenant = f"t-{uuid4()}"
    for line in of_conversations:
        line["item"]["tenant_id"] = tenant
    taken = admin.post("/v1/admin/import", json={"tenant_id": tenant, "items": of_conversations})
    assert taken.status_code == 200, taken.text
    kept = "SELECT length(text) AS chars, words @@ 'ferry' AS has_ferry, words @@ 'zeppelin' AS has_zeppelin"
    (row,) = rows(ana.service.config.parent, f"{kept} FROM conversation_texts WHERE tenant_id = '{tenant}'")
    assert (row["chars"], row["has_ferry"], row["has_zeppelin"]) == (MOST, True, False)


def test_an_episode_is_found_by_its_first_characters_and_read_whole(client: Client) -> None:
    text = long_text(260_000)
    stored = client.knowledge.store_episode(text, "travel")
    assert stored.indexed_chars == MOST
    assert client.knowledge.store_episode("short", "travel").indexed_chars is None
    assert client.knowledge.get("episode", stored.id).content == text  # type: ignore[union-attr]
    for word, ids in [*((word, [stored.id]) for word in FOUND), *((word, []) for word in NOT_FOUND)]:
        found = client.knowledge.search(word, mode="keyword", types=["episode"])
        assert [one.memory.id for one in found.items] == ids


def test_an_episode_over_mcp_says_how_much_of_it_is_found(service: RunningService, tenant: str) -> None:
    given = {"tenant_id": tenant, "butler": "travel", "content": long_text(260_000)}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    asked = call("memory_store_episode", given)
    answer = service.client.post(f"{service.mcp_url}/knowledge", content=asked, headers=headers, timeout=60)
    (said,) = answer.json()["result"]["content"]
    assert json.loads(said["text"])["indexed_chars"] == MOST


def test_a_value_is_found_by_the_first_characters_of_its_texts_and_read_whole(client: Client) -> None:
    value = {"a": "the lighthouse keeper", "b": [f"{WORD} " * 160] * 4, "c": "a zeppelin over the lake"}
    stored = client.store.put(["d"], "k", value, index=["a", "b[*]", "c"], user_id="ana")
    assert stored.indexed_chars == MOST
    assert client.store.put(["d"], "short", "a submarine", user_id="ana").indexed_chars is None
    item = client.store.get(["d"], "k", user_id="ana")
    assert item is not None
    assert item.value == value
    scores = {text: scores_of(client, text)["k"] for text in (value["a"], value["c"])}
    assert scores[value["a"]] > 0.99 > scores[value["c"]]


def scores_of(client: Client, query: Any) -> dict[str, float]:
    return {
        one.key: one.score or 0.0 for one in client.store.search(query, namespace=["d"], user_id="ana").items
    }


def test_a_dropped_file_is_found_by_its_first_characters_and_read_whole(
    service: RunningService, client: Client, tenant: str
) -> None:
    client.graph.remember("The office is in Lisbon.", "Fact")
    folder = service.config.parent / ".elf" / "graph" / tenant / "planner" / "memory"
    text = long_text(1_000_000)
    (folder / "ingest" / "log.txt").write_text(text, encoding="utf-8")
    wait_for(lambda: [*client.graph.ingested()] or client.graph.ingest().files, "the file is taken in")
    (file,) = wait_for(lambda: [*client.graph.ingested()], "the file is taken in")
    assert (file.status, file.indexed_chars) == ("processed", MOST)
    assert Path(file.source_path).read_text(encoding="utf-8") == text
    memories = {one.memory_id: one.content for one in client.graph.list(source_type="ingest_file")}
    assert "".join(memories[id] for id in file.memory_ids).replace(" ", "") == text.replace(" ", "")
    for word in FOUND:
        assert [one.snippet for one in client.graph.recall(word, top_k_vector=0).nodes] != []
    for word in NOT_FOUND:
        assert client.graph.recall(word, top_k_vector=0).nodes == []
