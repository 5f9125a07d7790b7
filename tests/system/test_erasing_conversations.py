"""A user asks to be forgotten, and is: in the tables, in the index, and by every search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.db.conversations.planted import TABLES, holding
from tests.folders import fresh_folder
from tests.system.said import ROOT, Speaker, is_indexed
from tests.system.service import RunningService, wait_for, write_config
from tests.system.truth import rows

EVERYTHING: Any = {"groupByConversation": False, "limit": 100}
BOSS = '\n[security.auth.roles.admin]\nusers = ["boss"]\n'


@pytest.fixture(scope="module", params=["index of its own", "pgvector"])
def service(request: pytest.FixtureRequest, model_folder: Path) -> Iterator[RunningService]:
    changes = {"url": '"pgvector:"'} if request.param == "pgvector" else {}
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"', **changes)
        config.write_text(config.read_text(encoding="utf-8") + BOSS, encoding="utf-8")
        with RunningService(config) as service:
            yield service
            assert service.complaints() == []


def tables_with(service: RunningService, mark: str) -> set[str]:
    """The tables that have a mark in some column; with pgvector, those of the index are among them."""
    folder = service.config.parent
    return {
        row["relname"]
        for row in rows(folder, TABLES)
        if rows(folder, holding(row["relname"], row["bytes"], mark=f"'{mark}'"))[0]["exists"]
    }


def drift(service: RunningService) -> dict[str, Any]:
    answer = httpx.get(f"{service.admin_url}/v1/admin/index/conversations/drift", timeout=60)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def shared(owner: Speaker, member: Speaker) -> str:
    """A tree of one user's that another writes to."""
    id = owner.begin()
    owner.call("POST", f"{ROOT}/{id}/memberships", status=201, userId=member.name, accessLevel="writer")
    return id


def test_an_erased_user_is_nowhere_and_everybody_else_is_as_before(service: RunningService) -> None:
    ana, bob, boss = Speaker(service), Speaker(service, f"bob-{uuid4()}"), Speaker(service, "boss")
    word, kept = f"w{uuid4().hex}", f"k{uuid4().hex}"
    hers, theirs = shared(ana, bob), shared(bob, ana)
    for id in (hers, theirs):
        for number in range(3):
            ana.say(id, f"{word}: the lighthouse keeper {number}")
    stays = bob.say(theirs, f"{kept}: an anchor at the mill")
    given = shared(ana, bob)
    ana.say(given, f"{word}: a harbour")
    followed = bob.say(given, f"{kept}: the tower at night")
    offer = ana.call(
        "POST", "/v1/ownership-transfers", status=201, conversationId=given, newOwnerUserId=bob.name
    )
    bob.call("POST", f"/v1/ownership-transfers/{offer['id']}/accept", status=204)
    wait_for(lambda: is_indexed(service), "all is in the index")
    assert len(bob.found("lighthouse keeper", searchType="semantic", **EVERYTHING)) >= 6
    erased = boss.call("POST", "/v1/admin/conversations/erase", what="user", name=ana.name)["erased"]
    assert erased["trees"] == 1
    for way in ("auto", "semantic", "fulltext"):
        assert set(bob.found(f"{word} keeper", searchType=way, **EVERYTHING)) <= {stays, followed}
        assert followed in bob.found(f"{kept} tower", searchType=way, **EVERYTHING)
    wait_for(lambda: is_indexed(service), "what is gone is gone from the index")
    for mark in (word, ana.name):
        assert tables_with(service, mark) == set()
    assert {"conversation_entries", "conversation_texts"} <= tables_with(service, kept)
    assert {drift(service)[name] for name in ("missing_count", "stale_count", "orphaned_count")} == {0}
    texts = [one["content"][0]["text"] for one in bob.call("GET", f"{ROOT}/{theirs}/entries")["data"]]
    assert texts == ["", "", "", f"{kept}: an anchor at the mill"]
    ana.call("GET", f"{ROOT}/{theirs}", status=403)
    bob.call("GET", f"{ROOT}/{hers}", status=404)
