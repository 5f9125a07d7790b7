"""Admission: requests wait for their turn, are refused when too many do, and leave the queue when nobody waits."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from trio.testing import MockClock

from elf.api.operation import Operation, for_anyone
from elf.config.limits import Limits
from elf.core.errors import Unavailable
from elf.web.admission import (
    CROWD_LASTS_S,
    LONGEST_RETRY_AFTER_S,
    REFUSALS_A_SECOND,
    Admission,
    tenant_of,
)
from elf.web.app import create_app
from elf.web.application import Application
from elf.web.readiness import Readiness

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    if request.param == "asyncio":
        return ("asyncio", {})
    return ("trio", {"clock": MockClock(autojump_threshold=0)})


in_virtual_time = pytest.mark.parametrize("anyio_backend", ["trio"], indirect=True)
on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)  # as Application is


class Ask(BaseModel):
    tenant_id: str = ""


async def answer(request: Ask) -> Ask:
    return request


QUICK = Operation("quick", "POST", "/v1/quick", "Answer", Ask, Ask)
SLOW = Operation("slow", "POST", "/v1/slow", "Answer", Ask, Ask, is_slow=True)
READ = Operation("read", "GET", "/v1/read", "Answer", Ask, Ask)


def limits(**changes: int) -> Limits:
    few = {
        "max_concurrent": 1, "max_per_tenant": 1, "max_concurrent_events": 1, "max_waiting": 1, "max_wait_ms": 50,
        "max_connections": 8,
    }  # fmt: skip
    return Limits.model_validate(few | changes)


async def pass_through(admission: Admission, tenant: str = "a", operation: Operation = QUICK) -> None:
    async with admission.turn(operation, tenant):
        pass


async def test_a_free_place_is_taken_without_waiting_and_given_back() -> None:
    admission = Admission(limits())
    for _ in range(3):
        async with admission.turn(QUICK, "a"):
            assert admission.statistics()["quick"].at_work == 1
    assert admission.statistics()["quick"].at_work == 0


async def test_a_place_comes_back_from_work_that_fails() -> None:
    admission = Admission(limits())
    with pytest.raises(KeyError):
        async with admission.turn(QUICK, "a"):
            raise KeyError
    await pass_through(admission)


async def test_a_request_waits_for_its_turn() -> None:
    admission = Admission(limits(max_wait_ms=60_000))
    order: list[str] = []

    async def second() -> None:
        async with admission.turn(QUICK, "b"):
            order.append("second")

    async with anyio.create_task_group() as group, admission.turn(QUICK, "a"):
        group.start_soon(second)
        await anyio.wait_all_tasks_blocked()
        assert admission.statistics()["quick"].waiting == 1
        order.append("first")
    assert order == ["first", "second"]


@in_virtual_time
async def test_a_crowd_lasts_a_moment_longer_than_anybody_waits() -> None:
    admission = Admission(limits(max_wait_ms=60_000))
    assert not admission.is_crowded
    async with anyio.create_task_group() as group, admission.turn(QUICK, "a"):
        assert not admission.is_crowded
        group.start_soon(pass_through, admission, "b")
        await anyio.wait_all_tasks_blocked()
        assert admission.is_crowded
    assert admission.statistics()["quick"][:2] == (0, 0)
    assert admission.is_crowded
    await anyio.sleep(CROWD_LASTS_S)
    assert not admission.is_crowded


@in_virtual_time
async def test_beyond_the_queue_a_request_is_refused_at_once() -> None:
    admission = Admission(limits(max_waiting=0))
    async with admission.turn(QUICK, "a"):
        began = anyio.current_time()
        with pytest.raises(Unavailable) as caught:
            await pass_through(admission)
        assert anyio.current_time() == began
    assert caught.value.retry_after_s == 1
    assert admission.statistics()["quick"].refused == 1


async def test_a_request_that_waits_too_long_is_refused_and_leaves_the_queue() -> None:
    admission = Admission(limits(max_wait_ms=30))
    async with admission.turn(QUICK, "a"):
        with pytest.raises(Unavailable):
            await pass_through(admission, "b")
        assert admission.statistics()["quick"] == (1, 0, 2, 1)
    await pass_through(admission, "b")


async def test_a_client_that_goes_away_leaves_the_queue() -> None:
    admission = Admission(limits(max_wait_ms=60_000))
    async with admission.turn(QUICK, "a"), anyio.create_task_group() as group:
        group.start_soon(pass_through, admission, "b")
        await anyio.wait_all_tasks_blocked()
        assert admission.statistics()["quick"].waiting == 1
        group.cancel_scope.cancel()
    assert admission.statistics()["quick"][:2] == (0, 0)


async def test_a_turn_that_comes_while_its_client_goes_away_is_not_lost() -> None:
    admission = Admission(limits(max_wait_ms=60_000))
    async with anyio.create_task_group() as group:
        async with admission.turn(QUICK, "a"):
            group.start_soon(pass_through, admission, "b")
            await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()  # the turn has come, but the one who waits has not been run since
    assert admission.statistics()["quick"][:2] == (0, 0)
    await pass_through(admission, "c")


async def test_what_waits_for_a_language_model_does_not_take_the_places_of_the_others() -> None:
    admission = Admission(limits(max_waiting=0))
    async with admission.turn(SLOW, "a"):
        await pass_through(admission, "a", QUICK)
        with pytest.raises(Unavailable):
            await pass_through(admission, "b", SLOW)


@in_virtual_time
async def test_the_refused_are_sent_back_at_times_of_their_own() -> None:
    admission = Admission(limits(max_waiting=0))
    retry_after: list[int] = []
    async with admission.turn(QUICK, "a"):
        for _ in range(60):
            with pytest.raises(Unavailable) as caught:
                await pass_through(admission, "flood")
            retry_after.append(caught.value.retry_after_s)
        with pytest.raises(Unavailable) as calm:
            await pass_through(admission, "calm")
    assert retry_after == [1] * 20 + [2] * 20 + [3] * 20
    assert calm.value.retry_after_s == 1


@in_virtual_time
async def test_who_does_not_keep_to_retry_after_is_refused_at_a_pace() -> None:
    admission = Admission(limits(max_waiting=0, max_wait_ms=60_000))
    at_once = round(REFUSALS_A_SECOND * LONGEST_RETRY_AFTER_S)
    async with admission.turn(QUICK, "a"):
        began = anyio.current_time()
        for place in range(at_once + 40):
            with pytest.raises(Unavailable) as caught:
                await pass_through(admission, "flood")
            if place == at_once - 1:
                assert anyio.current_time() == pytest.approx(began)
        assert caught.value.retry_after_s == LONGEST_RETRY_AFTER_S
        assert anyio.current_time() - began == pytest.approx(40 / REFUSALS_A_SECOND)
        began = anyio.current_time()
        with pytest.raises(Unavailable):
            await pass_through(admission, "calm")
        assert anyio.current_time() == began


FAIR = {"max_concurrent": 4, "max_per_tenant": 1, "max_waiting": 64, "max_wait_ms": 5000}
WORK_S = 0.02


async def waits_beside_a_flood(names: Callable[[int], str]) -> list[float]:
    """How long a tenant that asks 25 times a second waits while a flood asks a thousand times; -1.0 when refused.

    Half a second before the flood it asked for the first time.
    """
    admission = Admission(limits(**FAIR))
    waits: list[float] = []

    async def ask(tenant: str) -> None:
        with suppress(Unavailable):
            async with admission.turn(QUICK, tenant):
                await anyio.sleep(WORK_S)

    async def ask_and_measure() -> None:
        began = anyio.current_time()
        try:
            async with admission.turn(QUICK, "calm"):
                waits.append(anyio.current_time() - began)
                await anyio.sleep(WORK_S)
        except Unavailable:
            waits.append(-1.0)

    async with anyio.create_task_group() as group:
        await ask("calm")
        await anyio.sleep(0.5)
        for number in range(3000):
            group.start_soon(ask, names(number))
            if number > 1000 and number % 40 == 0:
                group.start_soon(ask_and_measure)
            await anyio.sleep(0.001)
        group.cancel_scope.cancel()
    assert len(waits) > 40
    return waits


@in_virtual_time
async def test_a_new_name_for_each_request_of_a_flood_brings_it_no_more_than_one_name_for_all() -> None:
    one = await waits_beside_a_flood(lambda number: "flood")
    many = await waits_beside_a_flood(lambda number: f"flood {number}")
    assert min(*one, *many) >= 0.0, "the calm tenant is never refused"
    assert sorted(many)[round(0.95 * len(many))] <= sorted(one)[round(0.95 * len(one))] + WORK_S


@in_virtual_time
async def test_a_newcomer_amid_a_flood_of_new_names_is_served_when_it_comes_back() -> None:
    admission = Admission(limits(**FAIR))
    served: list[float] = []

    async def ask(tenant: str) -> None:
        async with admission.turn(QUICK, tenant):
            await anyio.sleep(WORK_S)

    async def flood(tenant: str) -> None:
        with suppress(Unavailable):
            await ask(tenant)

    async def newcomer() -> None:
        while len(served) < 20:
            began = anyio.current_time()
            try:
                await ask("newcomer")
            except Unavailable as refusal:
                await anyio.sleep(refusal.retry_after_s)
            else:
                served.append(anyio.current_time() - began)
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for number in range(60_000):
            group.start_soon(flood, f"flood {number}")
            await anyio.sleep(0.001)
            if number == 2000:
                group.start_soon(newcomer)
    assert len(served) == 20
    assert max(served[-10:]) < 0.1


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text()), st.text())
def test_the_tenant_of_a_body_is_its_own_and_not_one_that_stands_deeper(inner: Any, tenant: str) -> None:
    body = {"notes": [{"source_ref": inner | {"tenant_id": "another"}}], "tenant_id": tenant, "scope": "s"}
    assert tenant_of(json.dumps(body).encode()) == tenant
    del body["tenant_id"]
    assert tenant_of(json.dumps(body).encode()) == ""


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"a"', b'{"tenant_id": 5}', b'{"tenant_id": null}', b"\xff", b"[" * 100_000,
     b'{"tenant_id": "a", "x": ' + b"[" * 100_000],
)  # fmt: skip
def test_a_body_that_names_no_tenant_has_none(body: bytes) -> None:
    assert tenant_of(body) == ""


# Within the application


@pytest.fixture
def admission() -> Admission:
    return Admission(limits(max_waiting=0))


@pytest.fixture
def app(admission: Admission) -> Application:
    def readiness() -> Readiness:
        return Readiness(ready=True, parts=[])

    return create_app(
        [QUICK, READ],
        dict.fromkeys(["quick", "read"], for_anyone(answer)),
        readiness=readiness,
        admission=admission,
    )


@pytest.fixture
async def client(app: Application) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://elf") as client:
        yield client


@on_asyncio
async def test_a_full_service_answers_503_with_retry_after_but_its_probes_answer(
    client: httpx.AsyncClient, admission: Admission
) -> None:
    async with admission.turn(QUICK, "a"):
        for response in (
            await client.post("/v1/quick", json={"tenant_id": "b"}),
            await client.post("/v1/quick", content=b"{"),
            await client.get("/v1/read", params={"tenant_id": "b"}),
        ):
            assert (response.status_code, response.json()["error_code"]) == (503, "UNAVAILABLE")
            assert response.headers["retry-after"] == "1"
            assert response.headers["x-request-id"]
        for path in ("/health", "/ready", "/openapi.json", "/docs"):
            assert (await client.get(path)).status_code == 200
    assert (await client.post("/v1/quick", json={"tenant_id": "b"})).status_code == 200
    assert (await client.post("/v1/quick", content=b"{")).status_code == 400


@on_asyncio
async def test_the_tenant_is_read_from_the_body_or_the_query_string(
    client: httpx.AsyncClient, admission: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    turn = admission.turn
    monkeypatch.setattr(
        admission, "turn", lambda endpoint, tenant: seen.append(tenant) or turn(endpoint, tenant)
    )
    await client.post("/v1/quick", json={"tenant_id": "b"})
    await client.get("/v1/read", params={"tenant_id": "c"})
    await client.get("/v1/read")
    assert seen == ["b", "c", ""]
