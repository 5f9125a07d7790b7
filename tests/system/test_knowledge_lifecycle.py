"""The life of memories over HTTP: confirmed, forgotten, judged, inverted, swept and cleaned up."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.system.service import RunningService, wait_for

ROOT = "/v1/knowledge"
ADMIN = "/v1/admin/knowledge"


class Tenant:
    """Asks in one tenant."""

    def __init__(self, service: RunningService, tenant_id: str) -> None:
        self.service = service
        self.tenant_id = tenant_id

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.service.client.post(f"{ROOT}/{path}", json={"tenant_id": self.tenant_id, **body})

    def store(self, path: str, **body: Any) -> str:
        answer = self.post(path, **body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    def read(self, kind: str, id: str) -> dict[str, Any]:
        answer = self.service.client.get(f"{ROOT}/memories/{kind}/{id}", params={"tenant_id": self.tenant_id})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def admin(self, name: str) -> dict[str, Any]:
        answer = self.service.admin.post(f"{ADMIN}/{name}", json={"tenant_id": self.tenant_id})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def mine(service: RunningService, tenant: str) -> Tenant:
    return Tenant(service, tenant)


def refused(answer: httpx.Response, status: int, path: str) -> bool:
    assert answer.status_code == status, answer.text
    return path in answer.json()["fields"]


def test_a_fact_is_confirmed_until_it_is_forgotten(mine: Tenant) -> None:
    fact = mine.store("facts", subject="Ana", predicate="seat", content="by the window")
    before = mine.read("fact", fact)["last_confirmed_at"]
    assert mine.post(f"memories/fact/{fact}/confirm").json() == {"confirmed": True}
    assert mine.read("fact", fact)["last_confirmed_at"] > before
    for _ in range(2):
        assert mine.post(f"memories/fact/{fact}/forget").json() == {"forgotten": True}
    assert mine.read("fact", fact)["validity"] == "retracted"
    assert refused(mine.post(f"memories/fact/{fact}/confirm"), 400, "$.memory_id")


def test_an_episode_is_not_confirmed_and_what_is_unknown_is_not_found(mine: Tenant) -> None:
    episode = mine.store("episodes", butler="travel", content="Ana asked for a window seat.")
    assert refused(mine.post(f"memories/episode/{episode}/confirm"), 400, "$.memory_type")
    assert mine.post(f"memories/fact/{uuid4()}/confirm").status_code == 404
    assert mine.post(f"memories/rule/{uuid4()}/forget").status_code == 404
    assert mine.post(f"rules/{uuid4()}/helpful").status_code == 404


def test_a_rule_that_harms_is_inverted(mine: Tenant) -> None:
    rule = mine.store("rules", content="Book at once")
    helped = mine.post(f"rules/{rule}/helpful", context="a flight").json()
    assert (helped["applied_count"], helped["success_count"], helped["effectiveness_score"]) == (1, 1, 1.0)
    for _ in range(3):
        harmed = mine.post(f"rules/{rule}/harmful", reason="it was the wrong day").json()
    assert (harmed["applied_count"], harmed["harmful_count"], harmed["maturity"]) == (4, 3, "candidate")
    wait_for(lambda: mine.read("rule", rule)["maturity"] == "anti_pattern", "the rule is inverted")
    found = mine.read("rule", rule)
    assert found["content"].startswith(
        "ANTI-PATTERN: Do NOT Book at once. This caused problems because: it was"
    )
    assert found["metadata"]["original_content"] == "Book at once"
    assert found["metadata"]["needs_inversion"] is False
    assert found["embedding_version"] == harmed["embedding_version"]
    assert mine.post(f"memories/rule/{rule}/forget").json() == {"forgotten": True}
    assert refused(mine.post(f"rules/{rule}/harmful"), 400, "$.rule_id")


def test_operators_sweep_and_clean_up_now(mine: Tenant) -> None:
    mine.store("facts", subject="Ana", predicate="seat", content="by the window")
    mine.store("facts", subject="Ana", predicate="name", content="Ana", permanence="permanent")
    mine.store("rules", content="Ask first")
    episode = mine.store("episodes", butler="travel", content="Ana flew to Oslo.")
    swept = mine.admin("decay_sweep")
    assert (swept["facts_checked"], swept["rules_checked"], swept["facts_expired"]) == (1, 1, 0)
    assert mine.admin("episode_cleanup") == {"expired_deleted": 0, "capacity_deleted": 0, "remaining": 1}
    mine.post(f"memories/episode/{episode}/forget")
    assert mine.post("episodes/cleanup").json() == {
        "expired_deleted": 1,
        "capacity_deleted": 0,
        "remaining": 0,
    }
    assert refused(mine.post("episodes/cleanup", max_entries=-1), 400, "$.max_entries")


def test_operators_see_what_is_due_when(mine: Tenant) -> None:
    items = mine.service.admin.get(f"{ADMIN}/schedules").json()["items"]
    assert [(item["chore"], item["cron"], item["timezone"]) for item in items] == [
        ("consolidation", "0 */6 * * *", "UTC"), ("decay_sweep", "15 3 * * *", "UTC"),
        ("episode_cleanup", "0 4 * * *", "UTC"),
    ]  # fmt: skip
    now = datetime.now(UTC)
    for item in items:
        due = datetime.fromisoformat(item["next_due"])
        assert due > now
        assert (due - now).days == 0
