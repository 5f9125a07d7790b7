"""Every call to a provider is told to whoever counts, whatever became of it."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import pytest
from trio.testing import MockClock

from elf.core.errors import ProviderBroken, ProviderRefused, ProviderUnavailable
from elf.core.measures import CallOutcome, NoMeasures
from elf.providers.answer import Unreadable
from elf.providers.http import ProviderHttp
from tests.providers_kit import ScriptedNetwork, Step, embedding_config, post

pytestmark = pytest.mark.anyio

GOOD = httpx.Response(200, json={})
BUSY = httpx.Response(503)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return ("trio", {"clock": MockClock(autojump_threshold=0)})


class Heard(NoMeasures):
    def __init__(self) -> None:
        self.calls: list[tuple[str, str, int]] = []

    def provider_call(
        self, *, provider: str, outcome: CallOutcome, seconds: float, failed_tries: int
    ) -> None:
        assert seconds >= 0
        self.calls.append((provider, outcome, failed_tries))


async def hang(request: httpx.Request) -> httpx.Response:
    await anyio.sleep_forever()
    raise AssertionError(request)


@pytest.fixture
def heard() -> Heard:
    return Heard()


def http_over(heard: Heard, *steps: Step) -> ProviderHttp:
    network = ScriptedNetwork(*steps)
    return ProviderHttp("providers.embedding", embedding_config(), transport=network, measures=heard)


async def test_an_answer_counts_once_with_the_tries_that_failed_before_it(heard: Heard) -> None:
    await post(http_over(heard, BUSY, BUSY, GOOD), {})
    assert heard.calls == [("embedding", "answered", 2)]


async def test_a_refusal_counts_as_one(heard: Heard) -> None:
    with pytest.raises(ProviderRefused):
        await post(http_over(heard, httpx.Response(401)), {})
    assert heard.calls == [("embedding", "refused", 0)]


async def test_an_answer_that_cannot_be_read_counts_as_broken(heard: Heard) -> None:
    def read(content: bytes) -> None:
        raise Unreadable("is not what was asked for")

    with pytest.raises(ProviderBroken):
        await http_over(heard, GOOD).post({}, read, most_bytes=4096)
    assert heard.calls == [("embedding", "broken", 0)]


@pytest.mark.parametrize("step", [BUSY, hang], ids=["busy", "silent"])
async def test_a_provider_that_gives_no_answer_in_time_is_unavailable(heard: Heard, step: Step) -> None:
    with pytest.raises(ProviderUnavailable):
        await post(http_over(heard, step), {})
    assert [(provider, outcome) for provider, outcome, _ in heard.calls] == [("embedding", "unavailable")]


async def test_a_call_that_its_caller_cuts_off_is_cancelled(heard: Heard) -> None:
    with anyio.move_on_after(0.2):
        await post(http_over(heard, hang), {})
    assert heard.calls == [("embedding", "cancelled", 0)]


async def test_a_fault_of_ours_is_told_as_one(heard: Heard) -> None:
    with pytest.raises(ZeroDivisionError):
        await post(http_over(heard, ZeroDivisionError()), {})
    assert heard.calls == [("embedding", "failed", 0)]
