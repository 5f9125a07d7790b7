"""Expansion: what the model is told, what of its answer is used, and when it is asked at all."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.config.packaged import EXTRACTOR_NAME
from elf.core.cjk import contains_cjk, contains_nul
from elf.core.errors import ProviderBroken, ProviderRefused, ProviderUnavailable
from elf.families.notes.api import requests
from elf.families.notes.writing.local_extraction import RULE_BASED_EXTRACTION
from elf.providers.local.chat import LocalChatApp
from elf.search.cache import cache_key
from elf.search.expand import (
    MAX_QUERY_CHARS,
    ExpansionRules,
    QueryExpander,
    expansion_prompt,
    folded,
    usable_queries,
)
from tests.kernel.steered import settle
from tests.providers_kit import ScriptedNetwork, chat_over, completion
from tests.search_kit import FakeChat, MemoryCache

pytestmark = pytest.mark.anyio

QUERY = "Where does Anna live?"
MATERIAL = {"provider_id": "acme", "model": "chat-1", "temperature": 0.1, "expansion_version": "v1"}
SECRET = "sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3dEf6h"


def rules(**changes: Any) -> ExpansionRules:
    values: dict[str, Any] = {
        "mode": "always", "max_queries": 4, "include_original": True, "min_candidates": 10, "min_top_score": 0.12,
    }  # fmt: skip
    return ExpansionRules(**(values | changes))


def expander(chat: Any, cache: MemoryCache | None = None, **changes: Any) -> QueryExpander:
    return QueryExpander(chat=chat, rules=rules(**changes), cache=cache, material=MATERIAL, ttl_days=7)


async def expanded(*proposed: Any, query: str = QUERY, **changes: Any) -> list[str]:
    return await expander(FakeChat({"queries": list(proposed)}), **changes).expand(query)


# What the model is told


def test_the_prompts_are_those_of_the_specification() -> None:
    prompt = expansion_prompt("Where is Anna?", rules(max_queries=3, include_original=False))
    assert prompt.system == (
        "You are a query expansion engine for a memory retrieval system.\n"
        "Output must be valid JSON only and must match the provided schema exactly.\n"
        "Generate short English-only query variations that preserve the original intent.\n"
        "Do not include any CJK characters. Do not add explanations or extra fields."
    )
    assert prompt.user == (
        "Return JSON matching this exact schema:\n"
        '{\n  "queries": ["string", "..."]\n}\n'
        "Constraints:\n"
        "- MAX_QUERIES = 3\n"
        "- INCLUDE_ORIGINAL = false\n"
        "Original query:\n"
        "Where is Anna?"
    )


def test_nothing_in_a_query_is_taken_for_a_slot() -> None:
    query = "<SCHEMA_JSON> <MAX_QUERIES> <QUERY>"
    assert expansion_prompt(query, rules()).user.endswith(
        f"- INCLUDE_ORIGINAL = true\nOriginal query:\n{query}"
    )


async def test_over_http_the_model_gets_both_prompts_and_the_schema() -> None:
    network = ScriptedNetwork(completion('{"queries": ["Anna\'s home"]}'))
    assert await expander(chat_over(network)).expand(f"  {QUERY}\n") == [QUERY, "Anna's home"]
    (body,) = network.bodies
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][1]["content"].endswith(f"Original query:\n{QUERY}")
    shape = body["response_format"]["json_schema"]
    assert (shape["strict"], shape["schema"]["required"]) == (True, ["queries"])


async def test_no_secret_leaves_for_the_model_or_is_kept() -> None:
    chat, cache = FakeChat({"queries": ["Whose key is it?"]}), MemoryCache()
    query = f"Whose key is {SECRET}?"
    assert await expander(chat, cache).expand(query) == [query, "Whose key is it?"]
    assert SECRET not in chat.prompts[0].user
    assert "[REDACTED:" in chat.prompts[0].user
    assert cache.payloads == []


# What is used of the answer


async def test_the_original_comes_first_and_the_others_in_the_models_order() -> None:
    assert await expanded("b", "a", QUERY.upper(), "c") == [QUERY, "b", "a", "c"]


async def test_there_are_no_more_queries_than_allowed_the_original_included() -> None:
    assert await expanded("a", "b", "c", max_queries=3) == [QUERY, "a", "b"]
    assert await expanded("a", "b", "c", max_queries=2, include_original=False) == ["a", "b"]


async def test_without_the_original_the_model_has_the_choice() -> None:
    assert await expanded("a", QUERY, include_original=False) == ["a", QUERY]


@pytest.mark.parametrize("include_original", [True, False])
@pytest.mark.parametrize(
    "proposed", [[], [7, None, {"query": "x"}], ["", " \n"], ["\u5b89\u5a1c"], ["a\x00b"]]
)
async def test_when_nothing_is_usable_the_original_is_the_only_one_and_nothing_is_kept(
    proposed: list[Any], include_original: bool
) -> None:
    cache = MemoryCache()
    asking = expander(FakeChat({"queries": proposed}), cache, include_original=include_original)
    assert await asking.expand(f" {QUERY} ") == [QUERY]
    assert cache.payloads == []


async def test_an_answer_that_only_repeats_the_query_is_kept_as_an_answer() -> None:
    cache = MemoryCache()
    assert await expander(FakeChat({"queries": [QUERY]}), cache).expand(QUERY) == [QUERY]
    assert cache.payloads == [[QUERY]]


PROPOSED = st.lists(
    st.text(st.sampled_from("aAbB \t\n\u3042\x00\u00df\u0130"), max_size=6)
    | st.sampled_from(["x" * MAX_QUERY_CHARS, "x" * (MAX_QUERY_CHARS + 1), "Where  does Anna live?"])
    | st.integers()
    | st.none()
    | st.lists(st.text(max_size=2), max_size=2),
    max_size=12,
)


@given(PROPOSED)
def test_usable_queries_are_folded_short_english_and_unlike(proposed: list[Any]) -> None:
    usable = usable_queries(proposed)
    for query in usable:
        assert query == folded(query) != ""
        assert len(query) <= MAX_QUERY_CHARS
        assert not contains_cjk(query)
        assert not contains_nul(query)
    assert len({query.casefold() for query in usable}) == len(usable)
    assert usable_queries(usable) == usable


@given(PROPOSED)
def test_a_plain_query_is_left_out_only_for_one_like_it(proposed: list[Any]) -> None:
    usable = {query.casefold() for query in usable_queries(["plain words", *proposed])}
    assert "plain words" in usable
    for one in proposed:
        if (
            isinstance(one, str)
            and one.isascii()
            and "\x00" not in one
            and 0 < len(folded(one)) <= MAX_QUERY_CHARS
        ):
            assert folded(one).casefold() in usable


def test_a_query_is_as_long_as_a_request_may_make_it() -> None:
    assert MAX_QUERY_CHARS == requests.MAX_QUERY_CHARS


# When the model fails


@pytest.mark.parametrize("failure", [ProviderUnavailable("away"), ProviderBroken("nonsense")])
async def test_a_failure_is_the_searchs_business_and_is_not_kept(failure: Exception) -> None:
    chat, cache = FakeChat(failure), MemoryCache()
    asking = expander(chat, cache)
    with pytest.raises(type(failure)):
        await asking.expand(QUERY)
    chat.content = {"queries": ["a"]}
    assert await asking.expand(QUERY) == [QUERY, "a"]
    assert cache.payloads == [[QUERY, "a"]]


@pytest.mark.parametrize("content", ["no JSON", "[]", '{"queries": "a"}', '{"notes": []}', "null"])
async def test_junk_is_asked_for_again_and_then_a_failure(content: str) -> None:
    network, cache = ScriptedNetwork(completion(content)), MemoryCache()
    with pytest.raises(ProviderUnavailable):
        await expander(chat_over(network), cache).expand(QUERY)
    assert len(network.requests) == 3
    assert cache.payloads == []


async def test_the_rule_based_extractor_refuses_to_expand() -> None:
    network = httpx.ASGITransport(app=LocalChatApp([RULE_BASED_EXTRACTION]))
    with pytest.raises(ProviderRefused) as refused:
        await expander(chat_over(network, api_base="local:", model=EXTRACTOR_NAME)).expand(QUERY)
    assert refused.value.provider_status == 400


# When the model is asked


async def test_one_query_that_is_the_original_asks_nothing() -> None:
    chat = FakeChat({"queries": ["a"]})
    assert await expander(chat, max_queries=1).expand(f" {QUERY}") == [QUERY]
    assert chat.prompts == []


async def test_a_kept_expansion_is_used_instead_of_the_model() -> None:
    chat, cache = FakeChat({"queries": ["a"]}), MemoryCache()
    asking = expander(chat, cache)
    assert [await asking.expand(query) for query in (QUERY, f" {QUERY}\n")] == [[QUERY, "a"]] * 2
    assert len(chat.prompts) == 1
    assert cache.ttls == [7]


async def test_without_a_cache_every_search_asks() -> None:
    chat = FakeChat({"queries": ["a"]})
    asking = expander(chat)
    for _ in range(2):
        assert await asking.expand(QUERY) == [QUERY, "a"]
    assert len(chat.prompts) == 2


async def test_the_key_is_the_material_of_the_specification() -> None:
    cache = MemoryCache()
    await expander(FakeChat({"queries": ["a"]}), cache).expand(f" {QUERY}  ")
    material = {"query": QUERY, "max_queries": 4, "include_original": True, **MATERIAL}
    assert list(cache.entries) == [("expansion", cache_key(material))]


@pytest.mark.parametrize(
    ("material", "changes"),
    [
        ({"provider_id": "b"}, {}),
        ({"model": "b"}, {}),
        ({"temperature": 0.2}, {}),
        ({"expansion_version": "v2"}, {}),
        ({}, {"max_queries": 3}),
        ({}, {"include_original": False}),
    ],
)
async def test_whatever_the_answer_depends_on_makes_another_entry(
    material: dict[str, Any], changes: dict[str, Any]
) -> None:
    cache, chat = MemoryCache(), FakeChat({"queries": ["a"]})
    await expander(chat, cache).expand(QUERY)
    other = QueryExpander(
        chat=chat, rules=rules(**changes), cache=cache, material=MATERIAL | material, ttl_days=7
    )
    await other.expand(QUERY)
    assert len(chat.prompts) == len(cache.entries) == 2


@pytest.mark.parametrize("material", [{}, MATERIAL | {"path": "/v1"}])
def test_material_that_is_not_that_of_the_specification_is_refused(material: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expansion_version"):
        QueryExpander(chat=FakeChat({}), rules=rules(), cache=None, material=material, ttl_days=7)


@pytest.mark.parametrize("payload", ["a", {"queries": ["a"]}, [], [None, 3], ["\u5b89"]])
async def test_an_entry_that_makes_no_sense_is_a_miss_and_is_replaced(payload: Any) -> None:
    chat, cache = FakeChat({"queries": ["a"]}), MemoryCache()
    asking = expander(chat, cache)
    await asking.expand(QUERY)
    (place,) = cache.entries
    cache.entries[place] = payload
    assert await asking.expand(QUERY) == [QUERY, "a"]
    assert cache.payloads == [[QUERY, "a"]]


async def test_equal_queries_at_once_ask_once_and_share_no_list() -> None:
    chat, cache, found = FakeChat({"queries": ["a"]}), MemoryCache(), []
    asking, asked = expander(chat, cache), anyio.Event()
    chat.before_answer = asked.wait

    async def ask(query: str) -> None:
        found.append(await asking.expand(query))

    async with anyio.create_task_group() as group:
        for query in (QUERY, f" {QUERY}", QUERY):
            group.start_soon(ask, query)
        await settle()
        asked.set()
    assert found == [[QUERY, "a"]] * 3
    assert len({id(queries) for queries in found}) == 3
    assert (len(chat.prompts), cache.gets, len(cache.batches)) == (1, 1, 1)


async def test_who_comes_while_the_answer_is_being_kept_does_not_ask_again() -> None:
    chat, cache = FakeChat({"queries": ["a"]}), MemoryCache()
    asking, kept = expander(chat, cache), anyio.Event()
    cache.before_put = kept.wait
    async with anyio.create_task_group() as group:
        group.start_soon(asking.expand, QUERY)
        await settle()
        group.start_soon(asking.expand, QUERY)
        await settle()
        kept.set()
    assert len(chat.prompts) == 1


# Mode dynamic


@pytest.mark.parametrize(
    ("candidates", "top_score", "wanted"),
    [(10, 0.12, False), (9, 0.9, True), (60, 0.11, True), (0, 0.0, True), (10, 1.0, False)],
)
def test_dynamic_expands_after_few_candidates_or_a_low_best_score(
    candidates: int, top_score: float, wanted: bool
) -> None:
    chat = FakeChat({})
    assert expander(chat, mode="dynamic").wanted_after(candidates, top_score) is wanted
    assert not expander(chat, mode="off").wanted_after(candidates, top_score)
    assert not expander(chat, mode="always").wanted_after(candidates, top_score)


def test_the_schema_shown_is_json() -> None:
    shown = expansion_prompt(QUERY, rules()).user.split("schema:\n")[1].split("\nConstraints:")[0]
    assert json.loads(shown) == {"queries": ["string", "..."]}
