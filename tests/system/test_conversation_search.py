"""Searching conversations over HTTP: what is found, by whom, in which order, and what it says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.system.said import ROOT, Speaker, is_indexed
from tests.system.service import RunningService, wait_for

TYPES = ("auto", "fulltext", "semantic")
INDEXED_TYPES = ("auto", "semantic")
ALL = {"groupByConversation": False, "includeEntry": False, "limit": 200}


@pytest.fixture
def ana(service: RunningService) -> Speaker:
    return Speaker(service)


@pytest.fixture
def bob(service: RunningService) -> Speaker:
    return Speaker(service, name=f"bob-{Speaker(service).name}")


def indexed(speaker: Speaker) -> None:
    wait_for(lambda: is_indexed(speaker.service), "all is in the index")


def test_what_was_said_is_found_by_words_and_meaning_in_the_very_next_request(ana: Speaker) -> None:
    trip = ana.begin("Lisbon")
    for number in range(10):
        entry = ana.say(trip, f"Flight number{number} leaves for Lisbon on Friday")
        assert entry in ana.found(f"number{number}", **ALL)
        assert ana.found(f"number{number}", searchType="fulltext") == [entry]


@pytest.mark.parametrize("type", TYPES)
def test_a_result_has_the_fields_of_the_wire(ana: Speaker, type: str) -> None:
    trip = ana.begin("Lisbon")
    entry = ana.say(trip, "We fly to Lisbon on Friday")
    indexed(ana)
    body = ana.search("Lisbon", searchType=type)
    (result,) = body["data"]
    assert set(body) == {"data", "nextCursor", "afterCursor"}
    assert result["conversationId"] == trip
    assert result["conversationTitle"] == "Lisbon"
    assert result["entryId"] == entry
    assert 0.0 < result["score"] <= 1.0
    assert result["highlights"] == "We fly to **Lisbon** on Friday"
    assert result["entry"] == ana.call("GET", f"{ROOT}/{trip}/entries")["data"][0]
    (bare,) = ana.search("Lisbon", searchType=type, includeEntry=False)["data"]
    assert set(bare) == set(result) - {"entry"}


def test_what_means_the_same_is_found_without_a_common_word(ana: Speaker) -> None:
    home = ana.begin()
    cat = ana.say(home, "My cat sleeps beside the stove all day long")
    ana.say(home, "Interest rates were raised by the central bank")
    indexed(ana)
    assert ana.found("a feline pet taking a nap", searchType="fulltext") == []
    for type in INDEXED_TYPES:
        assert ana.found("a feline pet taking a nap", searchType=type, **ALL)[0] == cat


def test_fulltext_takes_every_word_by_its_beginning_or_its_stem(ana: Speaker) -> None:
    home = ana.begin()
    shoes = ana.say(home, "The running shoes are wet")
    ana.say(home, "The shoes are dry")
    for query in ("runn sho", "runs shoe", "RUNNING the", "running-shoes", "are wet run"):
        assert ana.found(query, searchType="fulltext") == [shoes], query
    for query in ("running dry", "unning", "!?"):
        assert ana.found(query, searchType="fulltext") == [], query


@pytest.mark.parametrize(
    ("text", "query"), [("我想吃北京烤鸭", "烤鸭"), ("Где мой зонт?", "зонт"), ("Ⅷ ﬁne", "fine")]
)
def test_any_language_is_found_by_its_words(ana: Speaker, text: str, query: str) -> None:
    entry = ana.say(ana.begin(), text)
    assert ana.found(query, searchType="fulltext") == [entry]


def test_hits_are_marked_in_at_most_fifty_words(ana: Speaker) -> None:
    home = ana.begin()
    ana.say(home, f"{'before ' * 200}the lighthouse stands {'behind ' * 200}")
    (result,) = ana.search("lighthouses", searchType="fulltext")["data"]
    assert "**lighthouse**" in result["highlights"]
    assert len(result["highlights"].split()) <= 50


def test_hits_are_marked_however_late_they_come(ana: Speaker) -> None:
    home = ana.begin()
    ana.say(home, f"{'sea ' * 20_000}the lighthouse")
    for type in ("fulltext", "auto"):
        (result,) = ana.search("lighthouse", searchType=type, includeEntry=False)["data"]
        assert result["highlights"].endswith("sea the **lighthouse**"), type
    indexed(ana)
    (result,) = ana.search("lighthouse", searchType="fulltext", includeEntry=False)["data"]
    assert result["highlights"].endswith("sea the **lighthouse**")


@pytest.mark.parametrize("type", TYPES)
def test_of_a_conversation_the_best_entry_alone_is_told_unless_all_are_wanted(
    ana: Speaker, type: str
) -> None:
    conversations = [ana.begin() for _ in range(3)]
    for conversation in conversations:
        for text in (
            "the harbour",
            "the harbour at night",
            "a harbour, a harbour and a ferry in the harbour",
        ):
            ana.say(conversation, text)
    indexed(ana)
    grouped = ana.search("harbour", searchType=type)["data"]
    assert sorted(one["conversationId"] for one in grouped) == sorted(conversations)
    every = ana.search("harbour", searchType=type, **ALL)["data"]
    assert len(every) == 9
    best: dict[str, str] = {}
    for one in every:
        best.setdefault(one["conversationId"], one["entryId"])
    assert [one["entryId"] for one in grouped] == list(best.values())


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("grouped", [False, True])
def test_pages_tell_what_one_page_does(ana: Speaker, type: str, grouped: bool) -> None:
    for number in range(12):
        conversation = ana.begin()
        for text in ("a red lamp", f"the lamp of room {number}", "lamp", "a lamp on a table"):
            ana.say(conversation, text)
    indexed(ana)
    options: dict[str, Any] = {"searchType": type, "groupByConversation": grouped, "includeEntry": False}
    every = ana.found("lamp", limit=200, **options)
    assert len(set(every)) == len(every) == (12 if grouped else 48)
    for limit in (1, 5, 48):
        assert ana.pages("lamp", limit=limit, **options) == every
    scores = [one["score"] for one in ana.search("lamp", limit=200, **options)["data"]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("type", INDEXED_TYPES)
def test_pages_go_deeper_than_what_is_compared_with_the_query(ana: Speaker, type: str) -> None:
    chatty, quiet = ana.begin(), ana.begin()
    for number in range(110):
        ana.say(chatty, f"lamp number {number}")
    last = ana.say(quiet, "Beside the lamp there is a very long list of other things that nobody asked for")
    indexed(ana)
    assert set(ana.found("lamp number", searchType=type)) > {last}
    assert len(set(ana.pages("lamp number", searchType=type, **ALL | {"limit": 50}))) == 111


def test_a_cursor_is_good_for_its_search_alone(ana: Speaker, bob: Speaker) -> None:
    conversation = ana.begin()
    for number in range(4):
        ana.say(conversation, f"lamp {number}")
    after = ana.search("lamp", limit=1, groupByConversation=False)["nextCursor"]
    for who, more in (
        (ana, {"query": "lamps"}),
        (ana, {"query": "lamp", "searchType": "fulltext"}),
        (ana, {"query": "lamp", "groupByConversation": True}),
        (bob, {"query": "lamp"}),
    ):
        body = {"groupByConversation": False, **more, "after": after}
        refused = who.call("POST", f"{ROOT}/search", status=400, **body)
        assert refused["details"]["violations"][0]["field"] == "after"


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("query", {}),
        ("query", {"query": "  "}),
        ("query", {"query": "x" * 1001}),
        ("searchType", {"query": "x", "searchType": "magic"}),
        ("limit", {"query": "x", "limit": 0}),
        ("after", {"query": "x", "after": "MXxhYmM"}),
        ("why", {"query": "x", "why": 1}),
    ],
)
def test_a_bad_search_is_refused_by_its_field(ana: Speaker, field: str, body: dict[str, Any]) -> None:
    refused = ana.call("POST", f"{ROOT}/search", status=400, **{"limit": 5} | body)
    assert refused["code"] == "validation_error"
    assert [one["field"] for one in refused["details"]["violations"]] == [field]


@pytest.mark.parametrize("type", TYPES)
def test_members_find_what_they_may_read_and_lose_it_with_the_next_request(
    ana: Speaker, bob: Speaker, type: str
) -> None:
    shared, secret = ana.begin(), ana.begin()
    entry = ana.say(shared, "The treasure lies under the oak")
    ana.say(secret, "Another treasure lies in the lake")
    indexed(ana)
    assert bob.found("treasure", searchType=type) == []
    ana.call("POST", f"{ROOT}/{shared}/memberships", status=201, userId=bob.name, accessLevel="reader")
    assert bob.found("treasure", searchType=type) == [entry]
    own = bob.say(bob.begin(), "My own treasure is a book")
    indexed(ana)
    assert set(bob.found("treasure", searchType=type)) == {entry, own}
    ana.call("DELETE", f"{ROOT}/{shared}/memberships/{bob.name}", status=204)
    assert bob.found("treasure", searchType=type) == [own]
    ana.call("DELETE", f"{ROOT}/{secret}", status=204)
    assert ana.found("treasure", searchType=type) == [entry]


@pytest.mark.parametrize("type", TYPES)
def test_who_takes_a_tree_over_finds_it_and_who_gave_it_may_lose_it(
    ana: Speaker, bob: Speaker, type: str
) -> None:
    tree = ana.begin()
    entry = ana.say(tree, "The deed of the mill")
    ana.call("POST", f"{ROOT}/{tree}/memberships", status=201, userId=bob.name, accessLevel="writer")
    transfer = ana.call(
        "POST", "/v1/ownership-transfers", status=201, conversationId=tree, newOwnerUserId=bob.name
    )
    bob.call("POST", f"/v1/ownership-transfers/{transfer['id']}/accept", status=204)
    indexed(ana)
    assert bob.found("deed", searchType=type) == ana.found("deed", searchType=type) == [entry]
    bob.call("DELETE", f"{ROOT}/{tree}/memberships/{ana.name}", status=204)
    assert ana.found("deed", searchType=type) == []


@pytest.mark.parametrize("type", TYPES)
def test_what_a_fork_inherits_is_found_where_it_was_written(ana: Speaker, type: str) -> None:
    root = ana.begin("Root")
    first = ana.say(root, "The anchor is golden")
    second = ana.say(root, "The sail is white")
    fork = ana.call("POST", f"{ROOT}/{root}/entries/{second}/fork", status=201)["id"]
    own = ana.say(fork, "The anchor is silver")
    indexed(ana)
    places = {
        one["entryId"]: one["conversationId"] for one in ana.search("anchor", searchType=type, **ALL)["data"]
    }
    assert places.items() >= {first: root, own: fork}.items()
