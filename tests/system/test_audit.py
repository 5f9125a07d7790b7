"""The audit log: each call of the admin server has a row, whoever called and whatever came of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from elf.core.api_key import new_key
from tests.folders import fresh_folder
from tests.keys_kit import with_keys
from tests.system.service import RunningService, write_config

OPERATOR, AUDITOR, BOUND, USER = new_key(), new_key(), new_key(), new_key()
KEYS: list[dict[str, Any]] = [
    {"name": "operator", "key": OPERATOR, "role": "admin", "user": "boss"},
    {"name": "scraper", "key": AUDITOR, "role": "auditor"},
    {"name": "acme-operator", "key": BOUND, "role": "admin", "tenant_id": "acme"},
    {"name": "bot", "key": USER},
]
AUDIT = "/v1/admin/audit"


@pytest.fixture(scope="module")
def guarded(model_folder: Path) -> Iterator[RunningService]:
    """A service that asks who calls."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        config.write_text(with_keys(config.read_text(), *KEYS))
        with RunningService(config) as service:
            yield service


def call(service: RunningService, method: str, path: str, key: str | None = OPERATOR, **more: Any) -> str:
    """Call the admin server; returns the id of the request."""
    id = str(uuid4())
    headers = {"X-Request-Id": id} | ({} if key is None else {"X-API-Key": key})
    service.admin.request(method, path, headers=headers, **more)
    return id


def audited(service: RunningService, key: str = OPERATOR, **query: Any) -> list[dict[str, Any]]:
    answer = service.admin.get(AUDIT, params=query, headers={"X-API-Key": key})
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def row_of(service: RunningService, id: str) -> dict[str, Any]:
    (row,) = [one for one in audited(service, limit=200) if one["request_id"] == id]
    return row


def test_a_call_is_listed_with_its_caller_its_subject_and_its_outcome(guarded: RunningService) -> None:
    query = {"tenant_id": "acme", "user_id": "ana"}
    row = row_of(guarded, call(guarded, "GET", "/v1/admin/export", params=query))
    assert (row["user"], row["client"], row["role"]) == ("boss", "operator", "admin")
    assert (row["operation"], row["tenant_id"], row["subject"]) == (
        "export_memory",
        "acme",
        {"user_id": "ana"},
    )
    assert (row["outcome"], row["status"], row["items"]) == ("done", 200, 0)
    assert row["called_at"] <= row["ended_at"]
