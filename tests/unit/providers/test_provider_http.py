"""The HTTP client of all providers, on trio with virtual time: every pause is exact and takes no time."""

from __future__ import annotations

import json
import traceback
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import httpx
import pytest
import structlog
from trio.testing import MockClock

from elf.core.errors import (
    InvalidRequest,
    ProviderBroken,
    ProviderRefused,
    ProviderUnavailable,
    ServiceError,
    StartupError,
)
from elf.providers.http import ProviderHttp
from tests.providers_kit import KEY, ScriptedNetwork, Step, embedding_config, http_over, post

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
    assert json.loads(await post(http, {"input": ["é"]})) == {"fine": True}
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
    await post(http_over(network, api_base=base), {})
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
    assert await post(http_over(network), {"n": 1}) == GOOD.content
    assert network.bodies == [{"n": 1}] * 3
    assert 0.15 <= anyio.current_time() - started <= 0.3  # 0.1 s and 0.2 s, each less up to a half of jitter


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
async def test_a_refusal_is_not_tried_again(status: int) -> None:
    network = ScriptedNetwork(httpx.Response(status, headers={"Location": "https://else.example/"}))
    with pytest.raises(match=f"providers.embedding \\(acme\\) refused .* HTTP {status}"):
        await post(http_over(network), {})
    assert len(network.requests) == 1


async def test_retry_after_in_seconds_is_kept() -> None:
    network = ScriptedNetwork(httpx.Response(429, headers={"Retry-After": "3"}), GOOD)
    started = anyio.current_time()
    await post(http_over(network), {})
    assert anyio.current_time() - started == pytest.approx(3.0)


async def test_retry_after_as_a_date_is_kept() -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=5), usegmt=True)
    network = ScriptedNetwork(httpx.Response(503, headers={"Retry-After": moment}), GOOD)
    started = anyio.current_time()
    await post(http_over(network), {})
    assert 3.0 <= anyio.current_time() - started <= 5.0


@pytest.mark.parametrize("text", ["soon", "-1", "1.5", "", "²", "Wed, 99 Foo 2026 00:00:00 GMT"])
async def test_an_unreadable_retry_after_is_ignored(text: str) -> None:
    headers = {"Retry-After": text.encode("utf-8")}
    network = ScriptedNetwork(httpx.Response(503, headers=headers), GOOD)
    started = anyio.current_time()
    await post(http_over(network), {})
    assert anyio.current_time() - started <= 0.1


async def test_a_retry_after_beyond_the_budget_ends_the_call_at_once() -> None:
    network = ScriptedNetwork(httpx.Response(429, headers={"Retry-After": "60"}), GOOD)
    started = anyio.current_time()
    with pytest.raises(ProviderUnavailable) as caught:
        await post(http_over(network), {})
    assert anyio.current_time() == started
    assert caught.value.retry_after_s == 60
    assert len(network.requests) == 1


async def test_an_absurd_retry_after_is_cut_to_an_hour() -> None:
    network = ScriptedNetwork(httpx.Response(429, headers={"Retry-After": "9" * 400}))
    with pytest.raises(ProviderUnavailable) as caught:
        await post(http_over(network), {})
    assert caught.value.retry_after_s == 3600


async def test_all_tries_together_stay_within_the_timeout() -> None:
    network = ScriptedNetwork(httpx.Response(503))
    started = anyio.current_time()
    with pytest.raises(ProviderUnavailable, match=r"after \d+ failed tries: HTTP 503"):
        await post(http_over(network, timeout_ms=2_000), {})
    assert anyio.current_time() - started <= 2.0
    assert 4 <= len(network.requests) <= 8


async def test_a_provider_that_never_answers_is_left_when_the_timeout_is_over() -> None:
    network = ScriptedNetwork(hang)
    started = anyio.current_time()
    with pytest.raises(ProviderUnavailable, match="on the first try: out of time"):
        await post(http_over(network, timeout_ms=700), {})
    assert anyio.current_time() - started == pytest.approx(0.7)


async def test_a_provider_that_fails_and_then_hangs_is_reported_with_its_last_fault() -> None:
    network = ScriptedNetwork(httpx.Response(502), hang)
    with pytest.raises(ProviderUnavailable, match="after 1 failed tries: out of time, last HTTP 502"):
        await post(http_over(network, timeout_ms=700), {})


async def test_cancelling_a_call_is_not_turned_into_a_failure() -> None:
    with anyio.move_on_after(1) as scope:
        await post(http_over(ScriptedNetwork(hang)), {})
    assert scope.cancelled_caught


async def test_a_refused_connection_says_why() -> None:
    network = ScriptedNetwork(httpx.ConnectError("Name or service not known"))
    with pytest.raises(ProviderUnavailable, match="Name or service not known"):
        await post(http_over(network, timeout_ms=300), {})


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
        await post(http, {})
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
    await post(http_over(network, api_key=f" {KEY} "), {})
    assert network.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_half_a_surrogate_pair_is_an_invalid_request() -> None:
    network = ScriptedNetwork(GOOD)
    with pytest.raises(InvalidRequest, match="surrogate"):
        await post(http_over(network), {"input": ["\ud800"]})
    assert not network.requests


async def test_closing_closes_the_transport() -> None:
    class Transport(httpx.AsyncBaseTransport):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    transport = Transport()
    await ProviderHttp("providers.embedding", embedding_config(), transport=transport).aclose()
    assert transport.closed == 1


# Bounds


class Endless(httpx.AsyncByteStream):
    """A body without end; it counts what was taken of it, and knows when it was hung up on."""

    def __init__(self, piece: bytes = b" " * 1024) -> None:
        self._piece = piece
        self.taken = 0
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await anyio.lowlevel.checkpoint()
            self.taken += len(self._piece)
            yield self._piece

    async def aclose(self) -> None:
        self.is_closed = True


def streaming(body: httpx.AsyncByteStream, status: int = 200, **headers: str) -> ScriptedNetwork:
    async def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers=headers, stream=body)

    network = ScriptedNetwork(answer)
    network.handle_async_request = answer  # type: ignore[method-assign]
    return network


async def test_a_body_without_end_is_left_at_the_first_byte_too_many() -> None:
    body = Endless()
    with pytest.raises(
        ProviderBroken, match=r"the answer of providers.embedding \(acme\) is larger than the 4096"
    ):
        await post(http_over(streaming(body)), {})
    assert body.taken == 5 * 1024
    assert body.is_closed


@pytest.mark.parametrize(
    ("length", "is_read"), [("4096", True), ("4097", False), ("9" * 5000, False), ("-1", True)]
)
async def test_a_body_that_says_it_is_too_long_is_not_even_begun(length: str, is_read: bool) -> None:
    body = Endless()
    headers = {"Content-Length": length}
    with pytest.raises(ProviderBroken, match="larger"):
        await post(http_over(streaming(body, **headers)), {})
    assert (body.taken > 0) is is_read
    assert body.is_closed


@pytest.mark.parametrize(
    ("status", "error"), [(401, ProviderRefused), (302, ProviderRefused), (503, ProviderUnavailable)]
)
async def test_of_the_body_of_a_failure_only_a_little_is_read(status: int, error: type[Exception]) -> None:
    body = Endless()
    with pytest.raises(error, match=f"HTTP {status}"):
        await post(http_over(streaming(body, status, **{"Retry-After": "600"})), {})
    assert body.taken <= 17 * 1024
    assert body.is_closed


async def test_a_body_that_drips_is_left_when_the_time_is_over() -> None:
    class Drip(Endless):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                await anyio.sleep(0.3)
                yield b" "

    body = Drip()
    started = anyio.current_time()
    with pytest.raises(ProviderUnavailable, match="out of time"):
        await post(http_over(streaming(body), timeout_ms=2_000), {})
    assert anyio.current_time() - started == pytest.approx(2.0)
    assert body.is_closed


async def test_answers_are_asked_for_unpacked() -> None:
    network = ScriptedNetwork(GOOD)
    await post(http_over(network, default_headers={"Accept-Encoding": "gzip, br"}), {})
    assert network.requests[0].headers["accept-encoding"] == "identity"


# Telling the operator


def troubles(logs: list[Any]) -> list[tuple[str, str, int]]:
    return [(log["kind"], log["problem"], log["more"]) for log in logs if log["event"] == "provider.trouble"]


async def test_a_refusal_is_told_at_once_and_then_once_a_minute() -> None:
    http = http_over(ScriptedNetwork(httpx.Response(401)))
    refusal = "providers.embedding (acme) refused the request with HTTP 401"
    with structlog.testing.capture_logs() as logs:
        for _ in range(61):
            with pytest.raises(ProviderRefused):
                await post(http, {})
            await anyio.sleep(1.0)
    assert troubles(logs) == [("refused", refusal, 0), ("refused", refusal, 59)]


async def test_another_kind_of_failure_is_told_at_once_and_the_end_of_both_once() -> None:
    steps = [
        httpx.Response(401),
        httpx.Response(401),
        httpx.Response(503, headers={"Retry-After": "99"}),
        GOOD,
        GOOD,
    ]
    http = http_over(ScriptedNetwork(*steps))
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(ProviderUnavailable):
                await post(http, {})
        for _ in range(2):
            await post(http, {})
    assert [kind for kind, _, _ in troubles(logs)] == ["refused", "unavailable"]
    assert [log["event"] for log in logs].count("provider.trouble_over") == 1
