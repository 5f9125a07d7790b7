"""What proves who calls: it goes with every request, to the service alone, and is shown nowhere."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from answering import NOTE, URL, Script, failure, written

from elf.client import (
    AsyncClient,
    Client,
    Forbidden,
    Retries,
    ScopeDenied,
    ServiceError,
    Unauthorized,
    UnexpectedAnswer,
    local,
)
from elf.client.call import Stream, get, reader

pytestmark = pytest.mark.anyio

KEY = "elf_a-key"
PROOF = {"x-api-key": KEY, "authorization": "Bearer a-token", "x-user-id": "ana"}
HASTY = Retries(patience_s=5, first_pause_s=0.001, longest_pause_s=0.001)
NUMBERS = Stream(get("/v1/numbers", {}, reader(int)))


class Streaming(Script):
    """Answers a GET with a stream of two events."""

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return super()._answer(request)
        self.requests.append(request)
        return httpx.Response(200, stream=httpx.ByteStream(b"data: 1\n\ndata: 2\n\n"))


def proof_of(request: httpx.Request) -> dict[str, str]:
    return {name: request.headers[name] for name in PROOF if name in request.headers}


def test_it_goes_with_every_call_and_every_try() -> None:
    script = Streaming(failure(503, "UNAVAILABLE"), written("ADD"))
    memory = Client(URL, api_key=KEY, token="a-token", for_user="ana", transport=script, retries=HASTY)
    memory.within(project_id="p").add_note("x")
    with memory.stream(NUMBERS) as numbers:
        assert list(numbers) == [1, 2]
    assert [proof_of(request) for request in script.requests] == [PROOF] * 3


def test_without_any_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ELF_API_KEY", "ELF_TOKEN"):
        monkeypatch.setenv(name, "elf_of_the_environment")
    script = Script(written("ADD"))
    Client(URL, transport=script).add_note("x")
    assert proof_of(script.requests[0]) == {}


def test_a_key_may_act_for_one_user_after_another() -> None:
    script = Script(httpx.Response(200, json=NOTE))
    service = Client(URL, api_key=KEY, transport=script)
    for user in ("ana", "bea"):
        service.within(for_user=user).get(NOTE["note_id"])
    service.get(NOTE["note_id"])
    assert [request.headers.get("x-user-id") for request in script.requests] == ["ana", "bea", None]


def fresh(tokens: Iterator[str]) -> Callable[[], str]:
    return lambda: next(tokens)


def soon(tokens: Iterator[str]) -> Callable[[], Awaitable[str]]:
    async def token() -> str:
        return next(tokens)

    return token


def test_a_token_is_fresh_for_each_request() -> None:
    script = Script(failure(503, "UNAVAILABLE"), written("ADD"))
    Client(URL, token=fresh(iter("ab")), transport=script, retries=HASTY).add_note("x")
    assert [request.headers["authorization"] for request in script.requests] == ["Bearer a", "Bearer b"]


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.parametrize("giver", [fresh, soon])
async def test_a_token_of_async_code_may_be_awaited(giver: Callable[[Iterator[str]], Any]) -> None:
    script = Streaming(written("ADD"))
    async with AsyncClient(URL, token=giver(iter("ab")), transport=script) as memory:
        await memory.add_note("x")
        async with memory.stream(NUMBERS) as numbers:
            assert [number async for number in numbers] == [1, 2]
    assert [request.headers["authorization"] for request in script.requests] == ["Bearer a", "Bearer b"]


def test_what_gives_no_token_is_named() -> None:
    async def token() -> str:
        return "a"

    given = token()
    with pytest.raises(TypeError, match=r"^token: .* not coroutine$"):
        Client(URL, token=lambda: given, transport=Script(written("ADD"))).add_note("x")
    given.close()
    with pytest.raises(ValueError, match=r"^token: must be"):
        Client(URL, token=lambda: "two words", transport=Script(written("ADD"))).add_note("x")


@pytest.mark.parametrize("name", ["api_key", "token"])
@pytest.mark.parametrize("value", ["", "elf_a\nX-Other: 1", "two words", "é"])
@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_what_no_header_can_carry_is_refused_at_once_and_not_shown(make: Any, name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: must be of one or more printable") as caught:
        make(URL, **{name: value})
    assert not value or value not in "".join(traceback.format_exception(caught.value))


def test_only_a_key_acts_for_users() -> None:
    for make in (lambda: Client(URL, for_user="ana"), lambda: Client(URL, token="t").within(for_user="ana")):
        with pytest.raises(ValueError, match=r"^for_user: needs api_key"):
            make()


def test_a_password_in_the_address_and_a_token_do_not_go_together() -> None:
    with pytest.raises(ValueError, match=r"^token: base_url holds a name and a password"):
        Client("http://ana:secret@memory.test", token="t")
    script = Script(written("ADD"))
    Client("http://ana:secret@memory.test", api_key=KEY, transport=script).add_note("x")
    assert proof_of(script.requests[0]).keys() == {"x-api-key", "authorization"}


def test_it_is_not_sent_on_to_where_an_answer_leads() -> None:
    for status in (301, 302, 303, 307, 308):
        script = Script(httpx.Response(status, headers={"location": "http://elsewhere.test/"}))
        with pytest.raises(UnexpectedAnswer):
            Client(URL, api_key=KEY, token="t", transport=script).add_note("x")
        assert [request.url.host for request in script.requests] == ["memory.test"]


@pytest.mark.parametrize(
    ("status", "kind"), [(401, Unauthorized), (403, ScopeDenied), (403, Forbidden), (500, ServiceError)]
)
def test_a_refusal_is_of_its_kind_is_not_repeated_and_shows_nothing(
    status: int, kind: type[ServiceError]
) -> None:
    script = Script(failure(status, kind.error_code, fields=["$.tenant_id"]))
    memory = Client(URL, api_key=KEY, token="a-token", for_user="ana", transport=script)
    with pytest.raises(kind) as caught:
        memory.add_note("x")
    assert len(script.requests) == 1
    told = "".join(traceback.format_exception(caught.value)) + repr(memory) + repr(memory._credentials)
    assert not any(secret in told for secret in (KEY, "a-token"))


def test_a_service_of_ones_own_takes_the_same() -> None:
    with pytest.raises(ValueError, match=r"^api_key: must be"):
        local(api_key="two words")
    with pytest.raises(ValueError, match=r"^for_user: needs api_key"):
        local(for_user="ana")
    assert KEY not in repr(local(api_key=KEY))
