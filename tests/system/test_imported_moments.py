"""A moment that no database stores, in whatever is imported: the line is rejected, by its number and path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

import pytest

from elf.client import Client
from tests.system.service import RunningService

USER: Final = "ana"
MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*")
TOO_EARLY: Final = "0001-01-01T00:00:00+14:00"
TOO_LATE: Final = "9999-12-31T23:59:59-14:00"
TEXT: Final = "Preference: Ana drinks green tea."
FAMILIES: Final = {"notes", "knowledge", "conversations", "assistant", "store", "graph"}


@pytest.fixture(scope="module")
def lines(service: RunningService) -> list[dict[str, Any]]:
    """A line of each kind that is exported, by family and what it has moments of."""
    with Client(service.url, tenant_id="moments", project_id="p", agent_id="a") as client:
        client.memories.remember([{"content": TEXT}], user_id=USER, wait_ms=30_000)
        client.store.put(["tea"], "kind", {"tea": "green"}, ttl=60, user_id=USER)
        client.knowledge.store_episode(TEXT, "travel")
        client.knowledge.store_fact("Ana", "drink", "green tea")
        client.knowledge.store_rule("Offer tea first.")
        client.assistant.add(TEXT, "preferences", user_id=USER)
        client.assistant.create_file("/memories/tea.md", TEXT, user_id=USER)
        client.graph.remember(TEXT, "Preference")
        begun = client.conversations.create(title="Tea")
        client.conversations.append(begun.id, [{"role": "USER", "text": TEXT}])
    found = {}
    for tenant in (
        "moments",
        "default",
    ):  # conversations of callers whom nobody asks who they are are of the default one
        with (
            Client(service.admin_url, tenant_id=tenant) as operator,
            operator.memories.export() as exported,
        ):
            for one in exported:
                found[one.family, *(path for path, _ in moments((), one.item))] = one
    assert {family for family, *_ in found} >= FAMILIES
    return [{"family": one.family, "item": one.item} for one in found.values()]


def moments(path: tuple[Any, ...], value: Any) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Each moment in JSON, with its path."""
    if isinstance(value, str) and MOMENT.fullmatch(value):
        yield path, value
    elif isinstance(value, dict | list):
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from moments((*path, name), one)


def test_it_is_rejected_by_its_number_and_path(service: RunningService, lines: list[dict[str, Any]]) -> None:
    tried = 0
    for line in lines:
        for path, _ in moments((), line["item"]):
            if {"old_ref", "new_ref"} & {*path}:  # free JSON, which nothing reads a moment from
                continue
            for moment in (TOO_EARLY, TOO_LATE):
                changed = deepcopy(line)
                at = changed["item"]
                for name in path[:-1]:
                    at = at[name]
                at[path[-1]] = moment
                body = {"tenant_id": line["item"]["tenant_id"], "items": [line, changed]}
                answer = service.admin.post("/v1/admin/import", json=body)
                told = f"{line['family']} {path} {moment}: {answer.status_code} {answer.text}"
                assert answer.status_code == 400, told
                assert all(field.startswith("$.items[1]") for field in answer.json()["fields"]), told
                tried += 1
    assert tried > 2 * len(FAMILIES)
