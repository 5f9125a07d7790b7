"""When a call is sent again, how long the pauses are, and what is never sent twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import httpx
import pytest
from answering import URL, Script, failure, written
from trio.testing import MockClock

from elf.client import NO_RETRIES, AsyncClient, Client, Retries, Unavailable, Unreachable
from elf.client.answer import LONGEST_RETRY_AFTER_S, retry_after_s
from elf.client.call import Call, Repeat, nothing
from elf.client.calls import Calls
from elf.client.retries import Course

pytestmark = pytest.mark.anyio

FAST = Retries(patience_s=60.0, first_pause_s=0.001, longest_pause_s=0.002)
AWAY = failure(503, "UNAVAILABLE", headers={"Retry-After": "0"})
PROXY = httpx.Response(502, text="<html>")
UNSENT = httpx.ConnectError("refused")
UNHEARD = httpx.ReadTimeout("too slow")

NOTE_ID = "01890a5d-ac96-774b-bcce-b302099a8057"

SAFE: dict[str, Callable[[Calls], Call[Any]]] = {
    "add_note": lambda calls: calls.add_note("x"),
    "dry_run": lambda calls: calls.add_event([{"role": "user", "content": "x"}], dry_run=True),
    "search": lambda calls: calls.search("x"),
    "get": lambda calls: calls.get(NOTE_ID),
    "update": lambda calls: calls.update("x", text="y"),
    "delete": lambda calls: calls.delete("x"),
    "restore": lambda calls: calls.restore(NOTE_ID),
}
UNSAFE: dict[str, Callable[[Calls], Call[Any]]] = {
    "add_event": lambda calls: calls.add_event([{"role": "user", "content": "x"}]),
    "record_hits": lambda calls: calls.search("x", record_hits=True),
}


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Virtual time: pauses of minutes take no time and are exact."""
    return "trio", {"clock": MockClock(autojump_threshold=0)}


def tries(make: Callable[[Calls], Call[Any]], fault: httpx.Response | Exception) -> int:
    """Ask once of a service that fails once and then answers; return how often it was asked."""
    network = Script(fault, httpx.Response(200, json={}))
    with Client(URL, transport=network, retries=FAST) as client:
        try:
            client.ask(make(client.calls))
        except Unreachable:
            assert len(network.requests) == 1
    return len(network.requests)


@pytest.mark.parametrize("name", SAFE)
@pytest.mark.parametrize("fault", [AWAY, PROXY, UNSENT, UNHEARD], ids=["503", "502", "unsent", "unheard"])
def test_what_may_be_done_twice_is_sent_again_after_each_failure_that_may_pass(
    name: str, fault: httpx.Response | Exception
) -> None:
    assert tries(SAFE[name], fault) == 2


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize(
    ("fault", "count"), [(AWAY, 2), (UNSENT, 2), (PROXY, 1), (UNHEARD, 1)], ids=["503", "unsent", "502", "unheard"]
)  # fmt: skip
def test_what_may_not_be_done_twice_is_sent_again_only_when_nothing_was_done(
    name: str, fault: httpx.Response | Exception, count: int
) -> None:
    assert tries(UNSAFE[name], fault) == count


@pytest.mark.parametrize("status", [400, 403, 404, 413, 422, 500])
def test_an_answer_that_will_not_change_is_not_asked_for_again(status: int) -> None:
    assert tries(SAFE["search"], failure(status, "SOME_CODE")) == 1


def test_ready_is_asked_once_whatever_comes() -> None:
    assert tries(lambda calls: calls.ready(), AWAY) == 1
    assert tries(lambda calls: calls.ready(), UNSENT) == 1


def test_without_retries_a_call_is_sent_once() -> None:
    network = Script(AWAY)
    with Client(URL, transport=network, retries=NO_RETRIES) as client, pytest.raises(Unavailable) as caught:
        client.add_note("x")
    assert len(network.requests) == 1
    assert caught.value.retry_after_s == 0


def test_all_tries_of_a_call_carry_one_request_id_and_the_same_body() -> None:
    network = Script(AWAY, UNHEARD, written("NONE"))
    with Client(URL, transport=network, retries=FAST) as client:
        assert client.add_note("x").op == "NONE"
        client.add_note("x")
    first, second, third, other = [request.headers["X-Request-Id"] for request in network.requests]
    assert first == second == third != other
    assert network.bodies[0] == network.bodies[1] == network.bodies[2]


async def test_a_retry_after_is_waited_for() -> None:
    network = Script(failure(503, "UNAVAILABLE", headers={"Retry-After": "7"}), written("ADD"))
    async with AsyncClient(URL, transport=network) as client:
        began = anyio.current_time()
        assert (await client.add_note("x")).op == "ADD"
    assert 7.0 <= anyio.current_time() - began <= 7.5


async def test_a_retry_after_beyond_the_patience_is_the_answer_at_once() -> None:
    network = Script(failure(503, "UNAVAILABLE", headers={"Retry-After": "3600"}))
    async with AsyncClient(URL, transport=network) as client:
        began = anyio.current_time()
        with pytest.raises(Unavailable) as caught:
            await client.search("x")
    assert caught.value.retry_after_s == 3600
    assert (anyio.current_time(), len(network.requests)) == (began, 1)


async def test_a_service_that_stays_away_is_given_up_within_the_patience() -> None:
    network = Script(UNSENT)
    async with AsyncClient(URL, transport=network, retries=Retries(patience_s=600.0)) as client:
        began = anyio.current_time()
        with pytest.raises(Unreachable, match=rf"{URL} does not answer after \d+ tries: refused"):
            await client.search("x")
    assert 590 < anyio.current_time() - began < 600
    assert 600 / 5 <= len(network.requests) <= 600 / 2.5 + 10


def course(repeat: Repeat, retries: Retries, *, jitter: float) -> Course:
    call = Call("GET", "/", None, nothing, repeat)
    return Course(call, retries, URL, lambda: 0.0, jitter=lambda: jitter)


def test_pauses_double_to_their_longest_and_half_of_each_is_left_to_chance() -> None:
    retries = Retries(patience_s=1e9, first_pause_s=0.1, longest_pause_s=5.0)
    longest, shortest = course("safe", retries, jitter=1.0), course("safe", retries, jitter=0.0)
    assert [longest.failed(UNSENT) for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert [shortest.failed(UNSENT) for _ in range(3)] == [0.05, 0.1, 0.2]
    assert [longest.failed(UNSENT) for _ in range(5000)][-1] == 5.0


@pytest.mark.parametrize("wrong", [{"patience_s": -1.0}, {"first_pause_s": 0.0}, {"longest_pause_s": 0.01}])
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be 0 or more"):
        Retries(**wrong)


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=100)
    assert retry_after_s({"Retry-After": " 12 "}) == 12.0
    assert 90 < (retry_after_s({"Retry-After": format_datetime(soon, usegmt=True)}) or 0) <= 100
    assert retry_after_s({"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}) == 0.0
    assert retry_after_s({"Retry-After": "9" * 400}) == LONGEST_RETRY_AFTER_S
    for empty in ({}, {"Retry-After": ""}, {"Retry-After": "soon"}, {"Retry-After": "-1"}):
        assert retry_after_s(empty) is None
