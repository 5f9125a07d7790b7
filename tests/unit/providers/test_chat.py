"""Chat over HTTP: what is sent, which way of asking for JSON an endpoint takes, and what becomes of useless answers."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx
import pytest
import structlog
from trio.testing import MockClock

from elf.core.errors import ProviderBroken, ProviderRefused, ProviderUnavailable
from elf.providers.chat import MAX_ANSWER_BYTES, WEAKENED_S, HttpChat, JsonMode
from elf.providers.http import ProviderHttp
from elf.providers.port import JsonAnswer, Prompt
from tests.providers_kit import KEY, ScriptedNetwork, Step, chat_over, completion

pytestmark = pytest.mark.anyio

on_virtual_time = pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": MockClock(autojump_threshold=0)})], ids=["virtual time"]
)

PROMPT = Prompt("You are a mirror.", "Say something.")
SCHEMA = {"type": "object", "properties": {"said": {"type": "string"}}}
SAID = '{"said": "hello"}'
FENCED = f"```json\n{SAID}\n```"
REFUSED = httpx.Response(400, json={"error": {"message": "response_format is not supported"}})


def read_said(value: Any) -> str:
    if not isinstance(value, dict) or not isinstance(value.get("said"), str):
        raise ValueError("the content says nothing")
    return str(value["said"])


ANSWER = JsonAnswer("saying", SCHEMA, read_said)


def mode_of(body: dict[str, Any]) -> str:
    return str(body.get("response_format", {"type": "prompt only"})["type"])


def modes(network: ScriptedNetwork) -> list[str]:
    return [mode_of(body) for body in network.bodies]


class Endpoint(ScriptedNetwork):
    """An endpoint that takes some modes and refuses the others."""

    def __init__(self, takes: set[str], content: str) -> None:
        super().__init__(self._respond)
        self.takes = takes
        self._content = content

    async def _respond(self, request: httpx.Request) -> httpx.Response:
        return completion(self._content) if mode_of(json.loads(request.content)) in self.takes else REFUSED


def serving(*served: str, content: str = SAID) -> Endpoint:
    return Endpoint(set(served), content)


async def test_a_prompt_says_how_warm_and_how_long_its_answer_is() -> None:
    network = ScriptedNetwork(completion(SAID), completion("hello"))
    chat = chat_over(network)
    await chat.ask(Prompt("You are a mirror.", "Say something.", temperature=0.0, max_tokens=220), ANSWER)
    await chat.text(Prompt("You are a mirror.", "Say something.", max_tokens=5))
    assert [(body["temperature"], body["max_tokens"]) for body in network.bodies] == [(0.0, 220), (0.25, 5)]


async def test_the_request_is_that_of_openai_with_a_strict_schema() -> None:
    network = ScriptedNetwork(completion(SAID))
    assert await chat_over(network, default_headers={"X-Team": "memory"}).ask(PROMPT, ANSWER) == "hello"
    (request,) = network.requests
    assert str(request.url) == "https://models.example/api/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-team"] == "memory"
    assert network.bodies == [
        {
            "model": "chat-model",
            "temperature": 0.25,
            "messages": [
                {"role": "system", "content": "You are a mirror."},
                {"role": "user", "content": "Say something."},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "saying", "strict": True, "schema": SCHEMA},
            },
        }
    ]


@pytest.mark.parametrize("status", [400, 404, 415, 422])
async def test_a_refused_way_of_asking_gives_way_to_the_next_one(status: int) -> None:
    network = ScriptedNetwork(httpx.Response(status), httpx.Response(status), completion(SAID))
    assert await chat_over(network).ask(PROMPT, ANSWER) == "hello"
    assert modes(network) == ["json_schema", "json_object", "prompt only"]
    assert len({json.dumps(body["messages"]) for body in network.bodies}) == 1


@pytest.mark.parametrize(
    ("served", "mode", "calls"),
    [
        ("json_schema", JsonMode.SCHEMA, 1),
        ("json_object", JsonMode.OBJECT, 2),
        ("prompt only", JsonMode.PROMPT_ONLY, 3),
    ],
)
async def test_what_an_endpoint_takes_is_remembered_when_two_requests_found_the_same(
    served: str, mode: JsonMode, calls: int
) -> None:
    network = serving(served)
    chat = chat_over(network)
    await chat.ask(PROMPT, ANSWER)
    assert len(network.requests) == calls
    assert chat.mode is JsonMode.SCHEMA
    await chat.ask(PROMPT, ANSWER)
    assert len(network.requests) == 2 * calls
    assert chat.mode is mode
    await chat.ask(PROMPT, ANSWER)
    assert modes(network)[2 * calls :] == [served]


@on_virtual_time
async def test_the_strongest_way_is_tried_again_after_a_while_and_kept_when_it_serves() -> None:
    network = serving("json_object")
    chat = chat_over(network)
    for _ in range(2):
        await chat.ask(PROMPT, ANSWER)
    assert chat.mode is JsonMode.OBJECT
    await anyio.sleep(WEAKENED_S)
    await chat.ask(PROMPT, ANSWER)
    assert modes(network)[4:] == ["json_schema", "json_object"]
    assert chat.mode is JsonMode.OBJECT, "one more refusal is enough now"
    await anyio.sleep(WEAKENED_S)
    network.takes |= {"json_schema"}
    await chat.ask(PROMPT, ANSWER)
    await chat.ask(PROMPT, ANSWER)
    assert modes(network)[6:] == ["json_schema", "json_schema"]


async def test_a_refusal_of_the_content_now_and_then_weakens_nothing() -> None:
    async def moody(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        disliked = "gore" in body["messages"][1]["content"] and mode_of(body) != "prompt only"
        return (
            httpx.Response(400, json={"error": {"code": "content_filter"}}) if disliked else completion(SAID)
        )

    chat = chat_over(ScriptedNetwork(moody))
    for said in ["gore", "peace", "gore", "peace", "peace", "gore", "peace"]:
        assert await chat.ask(Prompt("You are a mirror.", said), ANSWER) == "hello"
        assert chat.mode is JsonMode.SCHEMA


async def test_within_one_request_a_refused_way_is_not_tried_twice() -> None:
    replies = iter(["no JSON", "no JSON", SAID])

    async def answer(request: httpx.Request) -> httpx.Response:
        return REFUSED if "response_format" in json.loads(request.content) else completion(next(replies))

    network = ScriptedNetwork(answer)
    chat = chat_over(network)
    assert await chat.ask(PROMPT, ANSWER) == "hello"
    assert len(network.requests) == 5
    assert chat.mode is JsonMode.SCHEMA, "it was one request"


async def test_a_request_that_is_refused_in_every_way_is_the_first_refusal_and_teaches_nothing() -> None:
    network = ScriptedNetwork(httpx.Response(422), httpx.Response(400), httpx.Response(404))
    chat = chat_over(network)
    with pytest.raises(ProviderRefused) as caught:
        await chat.ask(PROMPT, ANSWER)
    assert caught.value.provider_status == 422
    assert chat.mode is JsonMode.SCHEMA


@pytest.mark.parametrize("status", [301, 401, 402, 403, 413])
async def test_a_refusal_that_is_not_about_the_format_is_not_tried_again(status: int) -> None:
    network = ScriptedNetwork(httpx.Response(status))
    with pytest.raises(ProviderRefused, match=f"HTTP {status}"):
        await chat_over(network).ask(PROMPT, ANSWER)
    assert len(network.requests) == 1


USELESS: list[tuple[str, Step]] = [
    ("prose", completion("Sure! Here is what I found.")),
    ("cut JSON", completion('{"said": "hel')),
    ("other JSON", completion('{"heard": "hello"}')),
    ("a list", completion("[]")),
    ("JSON behind prose", completion(f"Here: {SAID}")),
    ("no content", completion(None, refusal="I will not.")),
    ("empty content", completion("")),
    ("no choices", httpx.Response(200, json={"choices": []})),
    ("an error with status 200", httpx.Response(200, json={"error": {"message": "overloaded"}})),
    ("more than anyone reads", completion('{"said": "hello"}' + " " * MAX_ANSWER_BYTES)),
    ("HTML", httpx.Response(200, text="<html>maintenance</html>")),
    ("deep nesting", completion("[" * 100_000)),
    ("half a surrogate pair", completion('{"said": "\\ud800"}')),
]


@pytest.mark.parametrize("useless", [step for _, step in USELESS], ids=[name for name, _ in USELESS])
async def test_useless_content_is_asked_for_again_twice_and_no_more(useless: Step) -> None:
    network = ScriptedNetwork(useless)
    with pytest.raises(ProviderUnavailable, match="JSON asked for, 3 times in a row") as caught:
        await chat_over(network).ask(PROMPT, ANSWER)
    assert len(network.requests) == 3
    assert len({request.content for request in network.requests}) == 1
    assert caught.value.retry_after_s >= 1
    assert "hel" not in caught.value.message


@pytest.mark.parametrize("failures", [1, 2])
async def test_a_later_try_may_succeed(failures: int) -> None:
    network = ScriptedNetwork(*[completion("no JSON")] * failures, completion(SAID))
    assert await chat_over(network).ask(PROMPT, ANSWER) == "hello"
    assert len(network.requests) == failures + 1


async def test_finding_out_the_format_uses_up_no_try() -> None:
    replies = iter(["no JSON", "no JSON", SAID])

    async def answer(request: httpx.Request) -> httpx.Response:
        return REFUSED if "response_format" in json.loads(request.content) else completion(next(replies))

    network = ScriptedNetwork(answer)
    assert await chat_over(network).ask(PROMPT, ANSWER) == "hello"
    assert modes(network) == ["json_schema", "json_object", "prompt only", "prompt only", "prompt only"]


@pytest.mark.parametrize("content", [FENCED, f"```\n{SAID}\n```", f"\n {FENCED} \n", SAID, f" {SAID}\n"])
async def test_json_in_a_fence_counts_when_only_the_prompt_asks(content: str) -> None:
    network = serving("prompt only", content=content)
    assert await chat_over(network).ask(PROMPT, ANSWER) == "hello"


@pytest.mark.parametrize(
    "content", [f"Here you are:\n{FENCED}", f"{FENCED}\nAnything else?", "```json\nhello\n```"]
)
async def test_other_text_around_json_never_counts(content: str) -> None:
    with pytest.raises(ProviderUnavailable):
        await chat_over(serving("prompt only", content=content)).ask(PROMPT, ANSWER)


async def test_an_endpoint_that_fences_what_a_schema_asks_for_heeds_no_schema() -> None:
    network = ScriptedNetwork(completion(FENCED))
    chat = chat_over(network)
    for _ in range(2):
        assert await chat.ask(PROMPT, ANSWER) == "hello"
    assert modes(network) == ["json_schema", "prompt only"] * 2
    assert await chat.ask(PROMPT, ANSWER) == "hello"
    assert modes(network)[4:] == ["prompt only"]


async def test_an_endpoint_that_is_away_is_unavailable_after_the_whole_time() -> None:
    network = ScriptedNetwork(httpx.ConnectError("refused"))
    with pytest.raises(ProviderUnavailable, match="gave no answer"):
        await chat_over(network, timeout_ms=300).ask(PROMPT, ANSWER)


async def test_all_tries_share_the_time_of_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    deadlines: list[float | None] = []
    post = ProviderHttp.post

    async def noted_post(http: ProviderHttp, *args: Any, deadline: float | None = None, **kwargs: Any) -> Any:
        deadlines.append(deadline)
        return await post(http, *args, deadline=deadline, **kwargs)

    monkeypatch.setattr(ProviderHttp, "post", noted_post)
    network = ScriptedNetwork(REFUSED, completion("no JSON"), completion("no JSON"), completion(SAID))
    assert await chat_over(network).ask(PROMPT, ANSWER) == "hello"
    assert len(deadlines) == 4
    assert None not in deadlines
    assert len(set(deadlines)) == 1


async def test_a_try_that_hangs_ends_with_the_call() -> None:
    async def hang_after_two(request: httpx.Request) -> httpx.Response:
        if len(network.requests) > 2:
            await anyio.sleep_forever()
        return completion("no JSON")

    network = ScriptedNetwork(hang_after_two)
    with pytest.raises(ProviderUnavailable, match="out of time"):
        await chat_over(network, timeout_ms=300).ask(PROMPT, ANSWER)
    assert len(network.requests) == 3


async def test_nothing_of_an_answer_is_logged_or_told() -> None:
    canary = "the canary sings at noon"
    with structlog.testing.capture_logs() as logs, pytest.raises(ProviderUnavailable) as caught:
        await chat_over(ScriptedNetwork(completion(canary))).ask(PROMPT, ANSWER)
    assert [log["event"] for log in logs] == ["provider.unusable_content"] * 3
    assert canary not in f"{logs}{caught.value.message}"


def test_the_chat_starts_with_the_strongest_mode() -> None:
    chat: HttpChat = chat_over(ScriptedNetwork(completion(SAID)))
    assert chat.mode is JsonMode.SCHEMA


# Text as it came


async def test_a_text_is_asked_for_without_a_form_and_comes_as_it_is() -> None:
    said = f"  Gladly!\n{FENCED}\n"
    network = ScriptedNetwork(completion(said))
    assert await chat_over(network).text(PROMPT) == said
    assert network.bodies == [
        {
            "model": "chat-model",
            "temperature": 0.25,
            "messages": [
                {"role": "system", "content": "You are a mirror."},
                {"role": "user", "content": "Say something."},
            ],
        }
    ]


@pytest.mark.parametrize("content", [None, ""])
async def test_no_text_is_no_answer(content: str | None) -> None:
    with pytest.raises(ProviderBroken, match="has no content"):
        await chat_over(ScriptedNetwork(completion(content))).text(PROMPT)


async def test_a_text_has_the_bounds_and_the_tries_of_every_answer() -> None:
    with pytest.raises(ProviderBroken, match="larger than"):
        await chat_over(ScriptedNetwork(completion("x" * MAX_ANSWER_BYTES))).text(PROMPT)
    with pytest.raises(ProviderRefused, match="HTTP 401") as refused:
        await chat_over(ScriptedNetwork(httpx.Response(401, text=KEY))).text(PROMPT)
    assert KEY not in str(refused.value)


@on_virtual_time
async def test_a_text_that_does_not_come_in_time_is_unavailable() -> None:
    network = ScriptedNetwork(httpx.Response(503))
    with pytest.raises(ProviderUnavailable, match="HTTP 503"):
        await chat_over(network).text(PROMPT)
    assert len(network.requests) > 1
