"""The HTTP client of all providers, on trio with virtual time: every pause is exact and takes no time."""

from __future__ import annotations

import json
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import httpx
import pytest
import structlog
from trio.testing import MockClock

from elf.core.errors import InternalError, InvalidRequest, ProviderUnavailable, ServiceError, StartupError
from elf.providers.http import ProviderHttp
from tests.providers_kit import KEY, ScriptedNetwork, Step, embedding_config, http_over

pytestmark = pytest.mark.anyio

GOOD = httpx.Response(200, json={"fine": True})


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return ("trio", {"clock": MockClock(autojump_threshold=0)})


async def hang(request: httpx.Request) -> httpx.Response:
    await anyio.sleep_forever()
    raise AssertionError(request)


async def test_a_post_carries_the_body_the_key_and_the_default_headers() -> None:
    network = ScriptedNetwork(GOOD)
    http = http_over(network, default_headers={"X-Team": "memory", "authorization": "Basic other"})
    assert json.loads(await http.post({"input": ["é"]})) == {"fine": True}
    request = network.requests[0]
    assert request.method == "POST"
    assert str(request.url) == "https://models.example/api/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-team"] == "memory"
    assert network.bodies == [{"input": ["é"]}]


@pytest.mark.parametrize("base", ["https://models.example/api/", "https://models.example/api"])
async def test_a_slash_at_the_end_of_the_base_does_not_double(base: str) -> None:
    network = ScriptedNetwork(GOOD)
    await http_over(network, api_base=base).post({})
    assert str(network.requests[0].url) == "https://models.example/api/v1/embeddings"


@pytest.mark.parametrize(
    "fault",
    [
        *(httpx.Response(status) for status in (408, 425, 429, 500, 502, 503, 504, 529)),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("cut off"),
    ],
    ids=lambda fault: str(getattr(fault, "status_code", type(fault).__name__)),
)
async def test_a_fault_that_may_pass_is_tried_again(fault: Step) -> None:
    network = ScriptedNetwork(fault, fault, GOOD)
    started = anyio.current_time()
    assert await http_over(network).post({"n": 1}) == GOOD.content
    assert network.bodies == [{"n": 1}] * 3
    assert 0.15 <= anyio.current_time() - started <= 0.3  # 0.1 s and 0.2 s, each less up to a half of jitter


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
async def test_a_refusal_is_not_tried_again(status: int) -> None:
    network = ScriptedNetwork(httpx.Response(status, headers={"Location": "https://else.example/"}))
    with pytest.raises(InternalError, match=f"providers.embedding \\(acme\\) refused .* HTTP {status}"):
        await http_over(network).post({})
    assert len(network.requests) == 1


async def test_retry_after_in_seconds_is_kept() -> None:
    network = ScriptedNetwork(httpx.Response(429, headers={"Retry-After": "3"}), GOOD)
    started = anyio.current_time()
    await http_over(network).post({})
    assert anyio.current_time() - started == pytest.approx(3.0)


async def test_retry_after_as_a_date_is_kept() -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=5), usegmt=True)
    network = ScriptedNetwork(httpx.Response(503, headers={"Retry-After": moment}), GOOD)
    started = anyio.current_time()
    await http_over(network).post({})
    assert 3.0 <= anyio.current_time() - started <= 5.0


@pytest.mark.parametrize("text", ["soon", "-1", "1.5", "", "²", "Wed, 99 Foo 2026 00:00:00 GMT"])
async def test_an_unreadable_retry_after_is_ignored(text: str) -> None:
    headers = {"Retry-After": text.encode("utf-8")}
    network = ScriptedNetwork(httpx.Response(503, headers=headers), GOOD)
    started = anyio.current_time()
    await http_over(network).post({})
    assert anyio.current_time() - started <= 0.1


async def test_a_retry_after_beyond_the_budget_ends_the_call_at_once() -> None:
    network = ScriptedNetwork(httpx.Response(429, headers={"Retry-After": "60"}), GOOD)
    started = anyio.current_time()
    with pytest.raises(ProviderUnavailable) as caught:
        await http_over(network).post({})
    assert anyio.current_time() == started
    assert caught.value.retry_after_s == 60
    assert len(network.requests) == 1


async def test_an_absurd_retry_after_is_cut_to_an_hour() -> None:
    network = ScriptedNetwork(httpx.Response(429, headers={"Retry-After": "9" * 400}))
    with pytest.raises(ProviderUnavailable) as caught:
        await http_over(network).post({})
    assert caught.value.retry_after_s == 3600


async def test_all_tries_together_stay_within_the_timeout() -> None:
    network = ScriptedNetwork(httpx.Response(503))
    started = anyio.current_time()
    with pytest.raises(ProviderUnavailable, match=r"after \d+ failed tries: HTTP 503"):
        await http_over(network, timeout_ms=2_000).post({})
    assert anyio.current_time() - started <= 2.0
    assert 4 <= len(network.requests) <= 8


async def test_a_provider_that_never_answers_is_left_when_the_timeout_is_over() -> None:
    network = ScriptedNetwork(hang)
    started = anyio.current_time()
    with pytest.raises(ProviderUnavailable, match="on the first try: out of time"):
        await http_over(network, timeout_ms=700).post({})
    assert anyio.current_time() - started == pytest.approx(0.7)


async def test_a_provider_that_fails_and_then_hangs_is_reported_with_its_last_fault() -> None:
    network = ScriptedNetwork(httpx.Response(502), hang)
    with pytest.raises(ProviderUnavailable, match="after 1 failed tries: out of time, last HTTP 502"):
        await http_over(network, timeout_ms=700).post({})


async def test_cancelling_a_call_is_not_turned_into_a_failure() -> None:
    with anyio.move_on_after(1) as scope:
        await http_over(ScriptedNetwork(hang)).post({})
    assert scope.cancelled_caught


async def test_a_refused_connection_says_why() -> None:
    network = ScriptedNetwork(httpx.ConnectError("Name or service not known"))
    with pytest.raises(ProviderUnavailable, match="Name or service not known"):
        await http_over(network, timeout_ms=300).post({})


@pytest.mark.parametrize(
    "step",
    [
        httpx.Response(401, json={"error": {"message": f"wrong key {KEY}", "code": KEY}}),
        httpx.Response(503, text=KEY),
        httpx.LocalProtocolError(f"Illegal header value b'Bearer {KEY}'"),
        httpx.ReadError(KEY),
        hang,
    ],
    ids=["refused", "failed", "illegal header", "broken", "hanging"],
)
async def test_the_key_is_in_no_error_and_no_log(step: Step) -> None:
    http = http_over(ScriptedNetwork(step), timeout_ms=500)
    with structlog.testing.capture_logs() as logs, pytest.raises(ServiceError) as caught:
        await http.post({})
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in f"{shown}{caught.value!r}{http!r}{logs}{embedding_config()!r}"


@pytest.mark.parametrize(
    "base", ["http://192.168.1.999", "http://-x\u0378-", f"http://{'a' * 70}.example", "http://xn--zzzzzz99"]
)
async def test_an_address_that_no_resolver_takes_is_refused_at_the_start(base: str) -> None:
    with pytest.raises(StartupError, match=r"providers\.embedding\.api_base"):
        http_over(ScriptedNetwork(GOOD), api_base=base)


async def test_blanks_around_the_key_are_not_sent() -> None:
    network = ScriptedNetwork(GOOD)
    await http_over(network, api_key=f" {KEY} ").post({})
    assert network.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_half_a_surrogate_pair_is_an_invalid_request() -> None:
    network = ScriptedNetwork(GOOD)
    with pytest.raises(InvalidRequest, match="surrogate"):
        await http_over(network).post({"input": ["\ud800"]})
    assert not network.requests


async def test_closing_closes_the_transport() -> None:
    class Transport(httpx.AsyncBaseTransport):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    transport = Transport()
    await ProviderHttp("providers.embedding", embedding_config(), transport=transport).aclose()
    assert transport.closed == 1
