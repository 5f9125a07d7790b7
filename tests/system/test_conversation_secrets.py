"""What is said and remembered in a conversation is told to whom it is shared with: words are planted, and looked for
in all that anybody else gets, in the log, and in the metrics."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import grpc
import pytest

from tests.families.identities import Identities
from tests.folders import fresh_folder
from tests.keys_kit import without_auth
from tests.system.conversation_calls import CALLERS, CALLS, ONE, Call, House
from tests.system.conversation_rpcs import RPCS, status_of
from tests.system.service import RunningService, wait_for, write_config

STRANGERS: Final = ("nobody", "bare key", "wrong key", "stranger", "other tenant")
READING: Final = {name: call for name, call in CALLS.items() if call.method == "GET" or "search" in call.path}
ENTRIES: Final = f"POST {ONE}/entries"


@pytest.fixture(scope="module")
def identities() -> Identities:
    return Identities(CALLERS.values())


@pytest.fixture(scope="module")
def service(identities: Identities, model_folder: Path) -> Iterator[RunningService]:
    """One that logs all it can."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"', log_level='"debug"')
        config.write_text(without_auth(config.read_text()) + identities.config(folder), encoding="utf-8")
        with RunningService(config) as service:
            yield service
        assert service.complaints() == []


@pytest.fixture(scope="module")
def words() -> Mapping[str, str]:
    """What is planted, by where: no other text holds it."""
    places = ("title", "metadata", "history", "text", "memory", "query", "fork")
    return {place: f"{place}{uuid4().hex[:12]}" for place in places}


@pytest.fixture(scope="module")
def house(service: RunningService, identities: Identities, words: Mapping[str, str]) -> House:
    """A conversation with words in it, which was shared with the stranger once, and is found by its owner."""
    house = House(service.client, identities, tenant=f"tenant {uuid4()}")
    remembered = {"channel": "memory", "contentType": "LC4J", "content": [{"text": words["memory"]}]}
    said = {
        "channel": "history", "contentType": "history", "content": [{"role": "AI", "text": words["history"]}],
    }  # fmt: skip
    house.done(Call(ENTRIES, remembered))
    house.done(Call(f"PATCH {ONE}", {"title": words["title"]}))
    house["entry"] = house.done(
        Call(ENTRIES, {**said, "indexedContent": f"{words['text']} {words['query']}"})
    )["id"]
    house.done(Call(ENTRIES, said))
    house.done(Call(f"{ENTRIES}/{{entry}}/fork", {"title": words["fork"]}))
    house.done(Call("POST /v1/conversations", {"metadata": {"place": words["metadata"]}}))
    house.done(Call(f"POST {ONE}/memberships", {"userId": "stranger", "accessLevel": "writer"}))
    for way in ("fulltext", "semantic", "auto"):
        wait_for(lambda way=way: _finds(house, words, way), f"it is found by {way}")  # type: ignore[misc]
    house.done(Call(f"DELETE {ONE}/memberships/stranger"))
    assert house["transfer"]
    assert house["deleted"]
    return house


def _finds(house: House, words: Mapping[str, str], way: str) -> bool:
    """Whether the owner finds the text, and the stranger, too, while it is shared with them."""
    call = Call("POST /v1/conversations/search", {"query": words["query"], "searchType": way})
    return all(house.done(call, by=who)["data"] for who in ("client", "stranger"))


def asked_for(words: Mapping[str, str]) -> dict[str, Call]:
    """What may come upon any of it, beside the calls of the table."""
    search = "POST /v1/conversations/search"
    ways = {
        f"{way} search for {place}": Call(search, {"query": word, "searchType": way})
        for place, word in words.items()
        for way in ("fulltext", "semantic", "auto")
    }
    lists = {
        f"list by {place}": Call(f"GET /v1/conversations?mode=all&query={word}")
        for place, word in words.items()
    }
    behind = {
        "behind the entry": Call(f"GET {ONE}/entries?after={{entry}}&forks=all&epoch=all"),
        "behind the conversation": Call("GET /v1/conversations?mode=all&after={conversation}"),
        "fork on append": Call(
            "POST /v1/conversations/{unknown}/entries",
            {
                "contentType": "history", "content": [{"role": "USER", "text": "Hi"}],
                "forkedAtConversationId": "{conversation}", "forkedAtEntryId": "{entry}",
            },
        ),
    }  # fmt: skip
    return {**ways, **lists, **behind}


def told(text: str, words: Mapping[str, str]) -> list[str]:
    """The words that a text holds, as it is or within what it encodes."""
    return [place for place, word in words.items() if any(word in one for one in (text, *_decoded(text)))]


def _decoded(text: str) -> Iterator[str]:
    for part in re.findall(r"[\w+/=-]{8,}", text):
        try:
            yield base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_").decode(errors="ignore")
        except binascii.Error:
            continue


@pytest.mark.parametrize("caller", STRANGERS)
def test_nobody_else_is_told_a_word_by_any_call(house: House, words: Mapping[str, str], caller: str) -> None:
    """Those who changed something would find that it was refused: the table of statuses says so."""
    for name, call in {**CALLS, **asked_for(words)}.items():
        answer = house.ask(caller, call)
        assert answer.status_code < 500, (name, answer.text)
        sent = {place: word for place, word in words.items() if word not in json.dumps(call)}
        assert told(answer.text + str(answer.headers), sent) == [], name


@pytest.mark.parametrize("caller", ["other client", "owner", "reader", "writer", "manager"])
def test_what_a_client_remembers_is_told_to_no_other_member(
    house: House, words: Mapping[str, str], caller: str
) -> None:
    memory = {"memory": words["memory"]}
    seen = set()
    for name, call in {**READING, **asked_for(words)}.items():
        answer = house.ask(caller, call)
        assert answer.status_code < 500, (name, answer.text)
        seen |= {*told(answer.text, words)}
        if words["memory"] not in json.dumps(call):
            assert told(answer.text, memory) == [], name
    assert {"title", "history", "fork"} <= seen  # the caller reads all the rest, or nothing would be proved


def test_the_client_itself_reads_what_it_remembers(house: House, words: Mapping[str, str]) -> None:
    listed = json.dumps(house.done(CALLS["memory"]))
    assert told(listed, words) == ["memory"]


def test_the_log_and_the_metrics_hold_no_word_whoever_asks(
    service: RunningService, house: House, words: Mapping[str, str], identities: Identities
) -> None:
    """Operators' searches are audited with what they look for, which is theirs; here they look for something else."""
    with grpc.insecure_channel(service.grpc_address) as channel:
        for caller in ("client", "auditor", "admin"):
            for call in READING.values():
                assert house.ask(caller, call).status_code < 500
            for rpc in (RPCS["entries"], RPCS["memory"], RPCS["search"], _recording(words)):
                status_of(channel, house, caller, rpc)
    for call in asked_for(words).values():
        house.ask("client", call)
    operator = identities.headers(CALLERS["admin"], {"tenant_id": house.tenant})
    pages = [
        service.admin.get(path, headers=operator).raise_for_status().text
        for path in ("/metrics", "/v1/admin/overview")
    ]
    assert service.events("admin_audit")
    assert service.events("membership_audit")
    assert told("\n".join([service.log, *pages]), words) == []


def _recording(words: Mapping[str, str]) -> Any:
    return RPCS["record"]._replace(
        message={"conversation_id": "{conversation}", "content": words["history"], "complete": True}
    )
