"""The index of conversations lost, away and rebuilt, their model away and back, with every text counted at the wire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.folders import fresh_folder
from tests.system.fake_chat import FakeChat
from tests.system.fake_model import AWAY, embed, embedded_texts
from tests.system.reembedding import moving_service
from tests.system.said import ROOT, Speaker, is_indexed
from tests.system.service import RunningService, wait_for

ALL = {"groupByConversation": False, "includeEntry": False, "limit": 100}
PLACES = ("harbour", "station", "library", "market", "bridge", "mill", "tower")


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[RunningService, FakeChat]]:
    with fresh_folder() as folder, moving_service(folder) as service_and_model:
        yield service_and_model


def indexed(service: RunningService) -> None:
    wait_for(lambda: is_indexed(service), "all is in the index")


def admin(service: RunningService, path: str) -> Any:
    answer = httpx.post(f"{service.admin_url}/v1/admin/index/conversations/{path}", json={}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(speaker: Speaker, query: str) -> None:
    """A search by meaning alone says that it cannot be answered now, and when to ask again."""
    answer = speaker.service.client.post(
        f"{ROOT}/search",
        json={"query": query, "searchType": "semantic"},
        headers={"Authorization": f"Bearer {speaker.name}"},
    )
    assert answer.status_code == 503, answer.text
    assert answer.json()["code"] == "unavailable"
    assert "Retry-After" in answer.headers


def test_while_the_model_is_away_words_are_found_and_each_text_is_embedded_once_when_it_is_back(
    both: tuple[RunningService, FakeChat],
) -> None:
    service, model = both
    ana = Speaker(service)
    home = ana.begin()
    model.script(lambda body: AWAY)
    texts = [f"the keeper of lamp {number} lives at the {place}" for number, place in enumerate(PLACES)]
    entries = [ana.say(home, text) for text in texts]
    found = ana.search("where does the keeper at the harbour live", **ALL)
    assert "embedding" in found["degraded"]
    assert found["data"][0]["entryId"] == entries[0]
    assert ana.found("lamp 3", searchType="fulltext") == [entries[3]]
    refused(ana, "keeper")
    model.script(embed)
    indexed(service)
    asked = Counter(embedded_texts(model))
    assert {text: asked[text] for text in texts} == dict.fromkeys(texts, 1)
    wait_for(lambda: "degraded" not in ana.search("keeper", **ALL), "nothing is missing any more")
    assert set(ana.found("keeper of lamp", searchType="semantic", **ALL)) == set(entries)


def test_while_the_model_is_away_all_that_waits_is_found_by_its_words_page_by_page(
    both: tuple[RunningService, FakeChat],
) -> None:
    service, model = both
    ana = Speaker(service)
    home = ana.begin()
    model.script(lambda body: AWAY)
    numbers = {ana.say(home, f"parcel number{number} went to the depot"): number for number in range(60)}
    options: dict[str, Any] = ALL | {"limit": 5}
    for entry, number in numbers.items():
        assert ana.found(f"which parcel was number{number}", **options)[0] == entry
    for limit in (7, 100):
        found = ana.pages("the parcel for the depot", **ALL | {"limit": limit})
        assert len(found) == len(set(found)) == 60
        assert set(found) == set(numbers)
    model.script(embed)
    indexed(service)
    found = ana.pages("the parcel for the depot", **ALL)
    assert (len(found), set(found)) == (60, set(numbers))


def test_a_lost_index_is_rebuilt_without_an_embedding_call(both: tuple[RunningService, FakeChat]) -> None:
    service, model = both
    ana = Speaker(service)
    home = ana.begin()
    entries = [ana.say(home, f"an anchor beside the {place}") for place in PLACES]
    indexed(service)
    before = ana.found("anchor", searchType="semantic", **ALL)
    assert set(before) == set(entries)
    model.script(embed)
    assert admin(service, "rebuild")["rebuilt_count"] >= len(entries)
    assert not embedded_texts(model)
    assert ana.found("anchor", searchType="semantic", **ALL) == before
    drift = httpx.get(f"{service.admin_url}/v1/admin/index/conversations/drift", timeout=60).json()
    assert {drift[name] for name in ("missing_count", "stale_count", "orphaned_count")} == {0}


def test_while_the_index_is_away_words_are_found(both: tuple[RunningService, FakeChat]) -> None:
    service, _ = both
    ana = Speaker(service)
    home = ana.begin()
    entries = [ana.say(home, f"a ferry leaves for the {place}") for place in PLACES]
    indexed(service)
    process = service.index_process()
    process.suspend()
    try:
        found = ana.search("ferry to the mill", **ALL)
        assert "index" in found["degraded"]
        assert {one["entryId"] for one in found["data"]} == set(entries)
        assert found["data"][0]["entryId"] == entries[PLACES.index("mill")]
        assert ana.found("ferr mil", searchType="fulltext") == [entries[PLACES.index("mill")]]
        refused(ana, "ferry")
    finally:
        if process.is_running():  # who waits too long for it may have started another
            process.resume()
    wait_for(lambda: "degraded" not in ana.search("ferry", **ALL), "the index answers again")
    assert set(ana.found("ferry", searchType="semantic", **ALL)) == set(entries)
