"""No request is paid for by the product of two of its sizes: it is refused, or done as far as is told."""

from __future__ import annotations

from collections.abc import Iterable

import httpx
import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, SearchItem, SearchOp

from elf.client import Client, InvalidRequest
from elf.client.families.store import StoreClient
from elf.langgraph import ElfStore
from ops.chaos import hostile_requests as h
from tests.families.command_line import CommandLine
from tests.system.service import RunningService, wait_for
from tests.system.truth import rows

PLACE = ["n"]


def ask(service: RunningService, requests: Iterable[h.HostileRequest]) -> dict[str, httpx.Response]:
    """Send requests, and return what was answered by their names."""
    clients = {"public": service.client, "admin": service.admin}
    answers = {}
    for one in requests:
        answers[one.name] = answer = h.send(one, clients)
        assert answer.status_code == one.status, f"{one.name}: {answer.text[:500]}"
    return answers


def test_paths_values_and_searches_of_a_store_do_not_multiply(
    service: RunningService, context: dict[str, str]
) -> None:
    answers = ask(service, h.store_requests(context["tenant_id"]))
    fields = {name: answer.json()["fields"] for name, answer in answers.items() if answer.status_code == 400}
    assert fields.pop("store put: 400,000 values") is None
    assert fields.pop("import of the store: one path 40,000 times") == ["$.items[0].item.index"]
    assert fields.pop("import of the store: a moment before the year 1") == ["$.items[0].item.created_at"]
    assert fields.pop("store batch: 500 texts of each of 11 values") == ["$.ops[10].put.index"]
    assert [fields.pop(name) for name in [*fields] if "batch" in name] == [["$.ops"]] * 2
    assert {*map(tuple, fields.values())} == {("$.index",)}
    busy = "SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE '-- %store_items%'"
    wait_for(
        lambda: not rows(service.config.parent, busy), "the database reads no more for whom it took too long"
    )


def test_channels_and_writes_of_a_checkpoint_do_not_multiply(
    service: RunningService, context: dict[str, str]
) -> None:
    tenant = context["tenant_id"]
    answers = ask(service, h.checkpoint_requests(tenant))
    refused = [answer.json()["fields"] for answer in answers.values() if answer.status_code == 400]
    assert refused == [["$.values"], ["$.writes"], ["$.facts"]]
    asked = {"tenant_id": tenant, "user_id": "mallory", "thread_id": "channels"}
    found = service.client.post("/v1/assistant/checkpoints/get", json=asked).json()["checkpoint"]
    assert [value["channel"] for value in found["values"]] == ["c0", "c1"]


def test_a_page_of_large_entries_ends_early_and_the_next_goes_on_from_there(
    service: RunningService, context: dict[str, str]
) -> None:
    requests = [*h.conversation_requests(context["tenant_id"])]
    answers = ask(service, requests)
    listing = requests[-1]
    page = answers[listing.name].json()
    assert len(page["data"]) == 2
    headers = dict(listing.headers)
    rest = service.client.get(f"{listing.path}&after={page['nextCursor']}", headers=headers).json()
    assert (len(rest["data"]), rest["nextCursor"]) == (1, None)
    tree = service.client.get(f"{listing.path}&forks=all", headers=headers).json()
    assert [one["id"] for one in tree["data"]] == [one["id"] for one in page["data"]]
    wanted = {"query": "number three", "searchType": "fulltext", "groupByConversation": False, "limit": 200}
    found: list[str] = []
    cursor = None
    sizes = []
    while cursor is not None or not sizes:
        asked = wanted | ({"after": cursor} if cursor else {})
        result = service.client.post("/v1/conversations/search", json=asked, headers=headers).json()
        found += [one["entryId"] for one in result["data"]]
        sizes.append(len(result["data"]))
        cursor = result["nextCursor"]
    assert sizes == [2, 1]
    assert {*found} == {one["id"] for one in [*page["data"], *rest["data"]]}


def test_names_of_an_entity_are_bounded_together(service: RunningService, context: dict[str, str]) -> None:
    tenant = context["tenant_id"]
    ask(service, h.knowledge_requests(tenant))
    entities = "/v1/knowledge/entities"
    made = []
    for name in ("Mallory", "Ana"):
        body = {
            "tenant_id": tenant, "canonical_name": name, "entity_type": "person",
            "aliases": [f"{name} {number:03} {'x' * 80}" for number in range(150)],
            "metadata": {"k": "x" * 16_000, f"of {name}": ["y" * 16_000] * 2},
        }  # fmt: skip
        made.append(service.client.post(entities, json=body).json()["entity_id"])
    source, target = made
    merged = {"tenant_id": tenant, "source_entity_id": source, "target_entity_id": target}
    answer = service.client.post(f"{entities}/merge", json=merged)
    assert (answer.status_code, answer.json()["fields"]) == (400, ["$.target_entity_id"])
    grown = {"tenant_id": tenant, "metadata": {"other": ["z" * 16_000] * 2}}
    answer = service.client.post(f"{entities}/{target}/update", json=grown)
    assert (answer.status_code, answer.json()["fields"]) == (400, ["$.metadata"])


def test_every_way_to_the_store_takes_so_many_paths(client: Client, elf: CommandLine) -> None:
    paths = [f"p{number}" for number in range(33)]
    with pytest.raises(InvalidRequest, match="at most 32 paths"):
        client.store.put(PLACE, "k", {"p": "text"}, index=paths, user_id="ana")
    put = {"namespace": PLACE, "key": "k", "value": {}, "index": paths}
    with pytest.raises(InvalidRequest, match="at most 32 paths"):
        client.store.batch([{"put": put}], user_id="ana")
    told = elf(StoreClient, "put", *PLACE, "k", "{}", *(part for path in paths for part in ("--index", path)))
    assert "at most 32 paths" in told.err
    store = ElfStore(client, user_id="ana")
    with pytest.raises(ValueError, match="at most 32 paths"):
        store.put(tuple(PLACE), "k", {}, index=paths)
    with pytest.raises(ValueError, match="at most 32 paths"):
        ElfStore(client, user_id="ana", fields=paths).put(tuple(PLACE), "k", {})
    assert client.store.search(user_id="ana").items == []


def test_more_searches_than_one_request_takes_are_several_requests_of_langgraph(client: Client) -> None:
    store = ElfStore(client, user_id="ana", fields=None)
    store.put(tuple(PLACE), "k", {"a": 1})
    found = store.batch([SearchOp(tuple(PLACE)), GetOp(tuple(PLACE), "k"), ListNamespacesOp()] * 40)
    items = [one for one in found if isinstance(one, list) and one and isinstance(one[0], SearchItem)]
    assert (len(items), len(found)) == (40, 120)
    assert found[-1] == [tuple(PLACE)]
