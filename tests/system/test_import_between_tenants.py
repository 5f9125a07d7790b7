"""What a tenant exports is taken in by another one of the same service: all of it, once, and no more."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import pytest

from elf.client import Client
from tests.folders import fresh_folder
from tests.keys_kit import with_keys
from tests.system.service import RunningService, wait_for, write_config

USER: Final = "ana"
AGENT: Final = "planner"
TENANTS: Final = ("source", "target", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
KEYS: Final = {name: f"{name:k<43}" for name in (*TENANTS, "admin")}
FAMILIES: Final = {"notes", "knowledge", "conversations", "assistant", "store", "graph"}
PLACES: Final = (
    "Lisbon", "Porto", "Oslo", "Riga", "Malta", "Cadiz", "Genoa", "Hamburg", "Dublin", "Bergen", "Turku", "Split",
    "Varna", "Odessa", "Izmir", "Haifa", "Tunis", "Rabat", "Dakar", "Lagos", "Accra", "Durban", "Perth", "Suva", "Kobe",
)  # fmt: skip
QUERIES: Final = [
    query.format(place)
    for place in PLACES
    for query in ("who went to {}?", "what is good about {}?", "where is the harbour of {}?", "{}")
]
SECRET: Final = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
AT_ONCE: Final = 200

Line = dict[str, Any]


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[RunningService]:
    """A service that asks who calls, with a key of a user in each tenant, and one of an operator."""
    tables: list[dict[str, object]] = [
        {
            "key": KEYS[name],
            "name": name,
            "tenant_id": name,
            "project_id": "p",
            "agent_id": AGENT,
            "user": USER,
        }
        for name in TENANTS
    ]
    tables.append({"key": KEYS["admin"], "name": "admin", "role": "admin"})
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        config.write_text(with_keys(config.read_text(encoding="utf-8"), *tables), encoding="utf-8")
        with RunningService(config) as running:
            yield running


@pytest.fixture(scope="module")
def client_of(service: RunningService) -> Iterator[Callable[[str], Client]]:
    """Gives the client of a tenant's user."""
    clients = {
        name: Client(service.url, tenant_id=name, project_id="p", agent_id=AGENT, api_key=KEYS[name])
        for name in TENANTS
    }
    yield clients.__getitem__
    for client in clients.values():
        client.close()


@pytest.fixture(scope="module")
def lines(service: RunningService, client_of: Callable[[str], Client]) -> list[Line]:
    """All that the first tenant exports: something of each place in every family."""
    client = client_of("source")
    begun = client.conversations.create(title="Journeys")
    for place in PLACES:
        client.add_note(f"Fact: the harbour of {place} is deep.", key=place, scope="project_shared")
        client.assistant.add(f"User wants to see {place} again.", "goals", user_id=USER)
        client.assistant.create_file(f"/memories/{place}.md", f"{place} is warm.\n", user_id=USER)
        client.assistant.replace_in_file(f"/memories/{place}.md", "warm", "cold", user_id=USER)
        episode = client.knowledge.store_episode(f"We met in {place} in spring.", AGENT)
        client.knowledge.store_fact(f"The market of {place}", "sells", "fish", source_episode_id=episode.id)
        client.knowledge.store_rule(f"Book the hotel in {place} early.", source_episode_id=episode.id)
        said = f"I went to {place} by train."
        client.conversations.append(
            begun.id, [{"role": "USER", "text": said}], channel="history", indexed_content=said
        )
        client.store.put(["places"], place, {"says": f"{place} has a good library."}, user_id=USER)
        client.graph.remember(f"Ana drinks coffee in {place}.", "Preference")
    return exported(service, "source")


def exported(service: RunningService, tenant: str) -> list[Line]:
    with (
        Client(service.admin_url, tenant_id=tenant, api_key=KEYS["admin"]) as operator,
        operator.memories.export() as found,
    ):
        return [{"family": one.family, "item": one.item} for one in found]


def of_tenant(value: Any, tenant: str) -> Any:
    """Return what was exported as that of another tenant."""
    if isinstance(value, list):
        return [of_tenant(one, tenant) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: tenant if name == "tenant_id" else of_tenant(one, tenant) for name, one in value.items()}


def take_in(service: RunningService, tenant: str, lines: list[Line]) -> Counter[str]:
    """Have a tenant take lines in; return what became of them."""
    told: Counter[str] = Counter()
    for begin in range(0, len(lines), AT_ONCE):
        items = of_tenant(lines[begin : begin + AT_ONCE], tenant)
        answer = service.admin.post(
            "/v1/admin/import",
            json={"tenant_id": tenant, "items": items},
            headers={"X-API-Key": KEYS["admin"]},
        )
        assert answer.status_code == 200, answer.text
        told.update(answer.json())
    return told


def counted(lines: list[Line]) -> Counter[tuple[str, ...]]:
    """Count lines by family and what they tell of."""
    return Counter(
        (
            line["family"],
            str(line["item"].get("kind")),
            *sorted(k for k, v in line["item"].items() if isinstance(v, dict)),
        )
        for line in lines
    )


def recalled(client: Client, query: str) -> list[tuple[str, str]]:
    """Ask all families together, and those beside it that others crowd out there, or that it does not ask."""
    found = client.memories.recall(query, user_id=USER, agent_id=AGENT, top_k=20, budget_tokens=4000)
    assert found.degraded == []
    items = [(one.family, one.text) for one in found.items]
    entries = islice(client.conversations.search(query, all_entries=True, limit=5), 5)
    items += [("conversations", json.dumps(one.entry.content)) for one in entries if one.entry]
    values = client.store.search(query, user_id=USER, limit=5).items
    return sorted([*items, *(("store", one.value["says"]) for one in values)])


def test_all_of_it_is_taken_in_and_recalled_alike(
    service: RunningService, client_of: Callable[[str], Client], lines: list[Line]
) -> None:
    assert {line["family"] for line in lines} == FAMILIES
    assert take_in(service, "target", lines) == Counter(new=len(lines), known=0)
    assert take_in(service, "target", lines) == Counter(new=0, known=len(lines))
    assert counted(exported(service, "target")) == counted(lines)
    source, target = client_of("source"), client_of("target")
    assert len(QUERIES) == 100
    for query in QUERIES:
        told: dict[str, Any] = {}

        def alike(query: str = query, told: dict[str, Any] = told) -> bool:
            told.update(source=recalled(source, query), target=recalled(target, query))
            return bool(told["source"]) and told["source"] == told["target"]

        wait_for(alike, f"the same answers to {query!r}: {told}")
    families = {family for query in QUERIES[:8] for family, _ in recalled(target, query)}
    assert families == FAMILIES


def test_nothing_is_told_of_what_other_tenants_have(
    service: RunningService, client_of: Callable[[str], Client], lines: list[Line]
) -> None:
    """Lines with ids that another tenant has, and with ids that nobody has, are taken in alike."""
    del client_of
    text = json.dumps(lines)
    ids = {one for line in lines for one in ids_in(line["item"])}
    for one in ids:
        text = text.replace(one, str(uuid4()))
    others, nobodys = lines, json.loads(text)
    for begin in range(0, len(lines), AT_ONCE):
        for tenant, some in (("third", others), ("fourth", nobodys)):
            part = some[begin : begin + AT_ONCE]
            assert take_in(service, tenant, part) == Counter(new=len(part), known=0)
    assert counted(exported(service, "third")) == counted(exported(service, "fourth"))


def test_two_tenants_take_the_same_in_at_once(service: RunningService, lines: list[Line]) -> None:
    """Ids that nobody has yet, so that both may have them first."""
    text = json.dumps(lines)
    for one in {one for line in lines for one in ids_in(line["item"])}:
        text = text.replace(one, str(uuid4()))
    fresh = json.loads(text)
    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda tenant: take_in(service, tenant, fresh), ("fifth", "sixth")))
    assert told == [Counter(new=len(lines), known=0)] * 2
    for tenant in ("fifth", "sixth"):
        assert take_in(service, tenant, fresh) == Counter(new=0, known=len(lines))
        assert counted(exported(service, tenant)) == counted(lines)
        assert texts_of_entries(exported(service, tenant)) == texts_of_entries(lines)


def test_an_entry_in_another_tree_is_found_though_another_tenant_has_its_id(
    service: RunningService, lines: list[Line]
) -> None:
    own = [line for line in lines if line["family"] == "conversations"]
    text = json.dumps(own)
    for one in {line["item"]["tree_id"] for line in own if "tree_id" in line["item"]}:
        text = text.replace(one, str(uuid4()))
    moved = json.loads(text)
    assert take_in(service, "seventh", moved) == Counter(new=len(own), known=0)
    assert texts_of_entries(exported(service, "seventh")) == texts_of_entries(own) != []


def texts_of_entries(lines: list[Line]) -> list[str]:
    """The texts by which entries are found."""
    return sorted(
        str(line["item"]["text"])
        for line in lines
        if line["item"].get("text") and line["family"] == "conversations"
    )


# What becomes of a secret is what becomes of it in each family when it is written.
REFUSED: Final = {"notes", "graph"}
BLANKED: Final = {"knowledge", "assistant"}


def test_of_secrets_becomes_what_becomes_of_those_that_are_written(
    service: RunningService, lines: list[Line]
) -> None:
    spoiled = json.loads(re.sub(r"(?<!market of )Lisbon(?!\.md)", f"Lisbon {SECRET}", json.dumps(lines)))
    status = {}
    for family in sorted(FAMILIES):
        items = of_tenant([line for line in spoiled if line["family"] == family], "eighth")
        assert SECRET in json.dumps(items), family
        answer = service.admin.post(
            "/v1/admin/import",
            json={"tenant_id": "eighth", "items": items},
            headers={"X-API-Key": KEYS["admin"]},
        )
        status[family] = answer.status_code
    assert status == {family: 400 if family in REFUSED else 200 for family in FAMILIES}
    back = exported(service, "eighth")
    kept = {line["family"] for line in back if SECRET in json.dumps(line)}
    assert kept == FAMILIES - REFUSED - BLANKED
    assert {line["family"] for line in back if "Lisbon" in json.dumps(line)} >= BLANKED


def ids_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from ids_in(one)
    elif isinstance(value, str) and len(value) == 36:
        try:
            yield str(UUID(value))
        except ValueError:
            return
