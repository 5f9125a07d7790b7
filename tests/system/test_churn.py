"""Searches while others change the notes: nobody is ever shown what was over, or is not theirs to read."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import pytest

from tests.system.churn import PROFILES, VOCABULARY, Churn, Reader, Record, changers
from tests.system.service import RunningService, search_body, wait_for
from tests.system.truth import wait_indexed

SEARCHES: Final = 100
CLIENTS: Final = 4
EXPLAINED: Final = 20
STRANGER: Final = "stranger"


class Seen(NamedTuple):
    """A search and its answer; nothing in it is older than `began` or younger than `ended`, in seconds of the clock."""

    reader: Reader
    query: str
    began: float
    ended: float
    answer: dict[str, Any]


@pytest.fixture
def tenants(tenant: str) -> tuple[str, str]:
    return f"one {tenant}"[:128], f"two {tenant}"[:128]


def searches(
    service: RunningService, record: Record, tenants: tuple[str, ...], *, number: int, seed: str
) -> Iterator[Seen]:
    rng = random.Random(seed)
    for _ in range(number):
        agent = rng.choice(["agent0a", "agent0b", "agent1a", "agent1b", STRANGER])
        reader = Reader(rng.choice(tenants), agent, rng.choice(list(PROFILES)))
        yield search(service, reader, a_query(record, rng), top_k=rng.choice([5, 12, 50]))


def a_query(record: Record, rng: random.Random) -> str:
    """Some words, or the very text of a note: of anybody's, and of any time."""
    known = record.all()
    if known and rng.random() < 0.5:
        return rng.choice(known).text
    return " ".join(rng.sample(VOCABULARY, 3))


def search(service: RunningService, reader: Reader, query: str, **fields: Any) -> Seen:
    place = {"agent_id": reader.agent, "read_profile": reader.profile}
    body = search_body(reader.tenant, query, **place, **fields)

    def ask() -> Seen | None:
        began = time.time()
        response = service.post("search", body)
        if response.status_code == 503:  # out of time on a busy machine
            assert "Retry-After" in response.headers
            return None
        assert response.status_code == 200, response.text
        return Seen(reader, query, began, time.time(), response.json())

    return wait_for(ask, "a search is answered")


def wrongs(record: Record, seen: Seen) -> Iterator[str]:
    """What an answer shows and should not."""
    for item in seen.answer["items"]:
        version = record.of_text(item["snippet"])
        if version is None or version.note_id != item["note_id"]:
            yield f"no note ever said {item['snippet']!r}"
        elif not seen.reader.may_read(version.place):
            yield f"{seen.reader} read {version}"
        elif not version.could_be_seen(seen.began, seen.ended):
            yield f"from {seen.began} to {seen.ended} {version} was shown"
        elif (item["scope"], item["key"]) != (version.place.scope, version.key):
            yield f"{version} was shown as {item}"


def test_no_search_ever_shows_what_is_over_or_not_for_the_reader(
    service: RunningService, tenants: tuple[str, str]
) -> None:
    record = Record()
    with (
        Churn(changers(service, record, tenants, each=2, seed=1)) as churn,
        ThreadPoolExecutor(CLIENTS) as clients,
    ):
        wait_for(lambda: len(record.all()) > 150, "there is much to find")
        each = [
            clients.submit(
                lambda seed: list(searches(service, record, tenants, number=SEARCHES // CLIENTS, seed=seed)),
                f"client {client}",
            )
            for client in range(CLIENTS)
        ]
        seen = [one for client in each for one in client.result()]
    assert churn.failures == []
    assert len(seen) == SEARCHES
    assert [wrong for one in seen for wrong in wrongs(record, one)] == []
    assert_it_was_a_trial(record, seen)
    assert_explanations_tell_no_more(service, record, seen[-EXPLAINED:])
    assert_the_end_is_found(service, record)


def assert_it_was_a_trial(record: Record, seen: list[Seen]) -> None:
    """Much was shown, much was changed meanwhile, and what was over was asked for."""
    shown = [item["snippet"] for one in seen for item in one.answer["items"]]
    began, ended = seen[0].began, seen[-1].ended
    over = [version for version in record.all() if began < version.ends < ended]
    asked_for = [
        one for one in seen for text in [record.of_text(one.query)] if text and text.ends < one.began
    ]
    assert (len(shown) > 5 * SEARCHES, len(over) > 50, len(asked_for) > 10) == (True, True, True)
    assert {version.text for version in over} & set(shown), "some was shown before it was over"


def assert_explanations_tell_no_more(service: RunningService, record: Record, seen: list[Seen]) -> None:
    places = {version.note_id: version.place for version in record.all()}
    for one in seen:
        if not one.answer["items"]:
            continue
        began = time.time()
        told = explained(service, one.reader, one.answer["items"][0]["result_handle"])
        named = [told["item"], *told["other_items"]]
        assert [item["note_id"] for item in named] == [item["note_id"] for item in one.answer["items"]]
        assert all(one.reader.may_read(places[entry["note_id"]]) for entry in [*named, *told["dropped"]])
        for entry in [*named, *told["dropped"]]:
            text = entry.pop("text")
            version = None if text is None else record.of_text(text)
            assert text is None or (version is not None and version.note_id == entry["note_id"]), entry
            assert version is None or version.could_be_seen(began, time.time()), (
                "its text now, and of no note that is over"
            )
        told["trace"].pop("query"), told["trace"].pop("expanded_queries")
        matched = {term for item in named for term in item["explain"].pop("matched_terms")}
        assert all(term.lower() in one.query.lower() for term in matched)
        assert "mark" not in str(told), "an explanation holds no other text of a note"


def explained(service: RunningService, reader: Reader, handle: str) -> dict[str, Any]:
    params = {
        "result_handle": handle, "tenant_id": reader.tenant, "project_id": "p", "agent_id": reader.agent,
    }  # fmt: skip

    def ask() -> dict[str, Any] | None:
        response = service.client.get("/v1/memory/search/explain", params=params)
        return response.json() if response.status_code == 200 else None

    return wait_for(ask, "the trace is stored")


def assert_the_end_is_found(service: RunningService, record: Record) -> None:
    """When all is quiet, what is current is found by its own text, and nothing that is over."""
    wait_indexed(service)
    rng = random.Random(7)
    for version in rng.sample(record.all(), 40):
        reader = Reader(version.place.tenant, version.place.agent, "all_scopes")
        seen = search(service, reader, version.text)
        shown = [item["snippet"] for item in seen.answer["items"]]
        if version.ends < seen.began:
            assert version.text not in shown
        elif version.ends > seen.ended:
            assert version.text in shown
