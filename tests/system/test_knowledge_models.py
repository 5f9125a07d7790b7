"""The embedding model of knowledge away and back, and changed, with every text counted at the wire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from tests.folders import fresh_folder
from tests.system.fake_chat import FakeChat
from tests.system.fake_model import AWAY, embed, embedded_texts
from tests.system.reembedding import (
    NEW,
    ask,
    change_model,
    content_of,
    fact_of,
    moved,
    moving_service,
    reembed,
    store,
)
from tests.system.service import RunningService, wait_for

ROWS = 300


@pytest.fixture(scope="module")
def moving() -> Iterator[tuple[RunningService, FakeChat]]:
    with fresh_folder() as folder, moving_service(folder) as both:
        yield both


def test_what_is_stored_while_the_model_is_away_is_embedded_once_when_it_is_back(
    moving: tuple[RunningService, FakeChat],
) -> None:
    service, model = moving
    model.script(lambda body: AWAY)
    facts = [f"a lamp of colour {number}" for number in range(30)]
    one = ask(
        service, "facts", subject="lamp", predicate="number 0", content=facts[0], idempotency_key="lamp"
    )
    again = ask(
        service, "facts", subject="lamp", predicate="number 0", content=facts[0], idempotency_key="lamp"
    )
    assert one["id"] == again["id"]
    assert one["degraded"] == ["embedding"]
    rest = [
        {"subject": "lamp", "predicate": f"number {number}", "content": text}
        for number, text in enumerate(facts)
        if number
    ]
    ask(service, "facts/batch", items=rest)
    ask(service, "episodes", butler="travel", content="Somebody bought a lamp.")
    ask(service, "rules", content="Buy no lamp at night.")
    found = ask(service, "search", query="lamp colour 7", limit=5)
    assert found["degraded"] == ["embedding"]
    assert found["items"]
    assert all(item["semantic_rank"] is None for item in found["items"])
    model.script(embed)
    path = f"{service.url}/v1/knowledge/memories/fact/{one['id']}"
    params = {"tenant_id": "moved"}
    wait_for(lambda: httpx.get(path, params=params).json()["embedding_version"], "it has its vector")
    wait_for(
        lambda: reembed(service, dry_run=True)["outdated"] == {"episode": 0, "fact": 0, "rule": 0}, "all have"
    )
    texts = Counter(embedded_texts(model))
    wanted = {f"lamp number {number} {text}" for number, text in enumerate(facts)}
    assert {text: texts[text] for text in wanted} == dict.fromkeys(wanted, 1)
    assert (texts["Somebody bought a lamp."], texts["Buy no lamp at night."]) == (1, 1)
    found = ask(service, "search", query="a lamp of colour 7", limit=1)
    assert found["degraded"] == []
    assert found["items"][0]["content"] == facts[7]
    assert found["items"][0]["semantic_rank"] == 1


def test_memories_move_to_another_model_while_searches_run_and_the_two_never_meet() -> None:
    with fresh_folder() as folder, moving_service(folder) as (service, model):
        store(service, ROWS)
        change_model(service, NEW)
        words = content_of(3)
        before = ask(service, "search", query=words, types=["fact"], limit=5)["items"]
        assert before
        assert all(item["semantic_rank"] is None for item in before)
        model.script(embed)
        searches = moved(service, ROWS, killed_at=ROWS // 2)
        assert searches.faults == []
        assert searches.counts["by meaning"] > 0
        texts = Counter(embedded_texts(model))
        asked = [texts["{subject} {predicate} {content}".format(**fact_of(number))] for number in range(ROWS)]
        assert min(asked) >= 1  # who was killed may have asked for some without keeping them
        after = ask(service, "search", query=words, types=["fact"], limit=5)["items"]
        assert after[0]["semantic_rank"] == 1
        assert not reembed(service, dry_run=False)["running"]
