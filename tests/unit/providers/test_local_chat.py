"""The local chat service: each model name has its rules, and what no rule knows has no answer."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from elf.providers.local.answers import LocalAnswer
from elf.providers.local.chat import LocalChatApp
from elf.providers.port import Prompt

pytestmark = pytest.mark.anyio


def _unreadable(prompt: Prompt) -> str:
    raise ValueError("no verse")


ANSWERS = [
    LocalAnswer(model="bard", knows=lambda prompt: prompt.user == "sing", answer=lambda prompt: "la la"),
    LocalAnswer(
        model="bard", knows=lambda prompt: "sing" in prompt.user, answer=lambda prompt: f"la, {prompt.system}"
    ),
    LocalAnswer(model="bard", knows=lambda prompt: prompt.user == "rhyme", answer=_unreadable),
    LocalAnswer(model="clerk", knows=lambda prompt: True, answer=lambda prompt: "noted"),
]


async def ask(model: str, *messages: tuple[str, str], answers: list[LocalAnswer] = ANSWERS) -> httpx.Response:
    transport = httpx.ASGITransport(app=LocalChatApp(answers))
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": role, "content": said} for role, said in messages],
    }
    async with httpx.AsyncClient(transport=transport, base_url="http://local") as client:
        return await client.post("/v1/chat/completions", json=body)


async def test_the_first_rules_of_the_model_that_know_the_prompt_answer() -> None:
    for messages, answer in (
        ([("user", "sing")], "la la"),
        ([("system", "softly"), ("user", "sing more")], "la, softly"),
    ):
        body = (await ask("bard", *messages)).json()
        assert (body["model"], body["choices"][0]["message"]["content"]) == ("bard", answer)
    assert (await ask("clerk", ("user", "sing"))).json()["choices"][0]["message"]["content"] == "noted"


async def test_what_no_rules_know_has_no_answer() -> None:
    response = await ask("bard", ("user", "dance"))
    assert response.status_code == 400
    assert (
        response.json()["error"]["message"]
        == "messages: bard goes by rules, and has no answer to this prompt"
    )


async def test_a_prompt_that_cannot_be_read_is_refused() -> None:
    response = await ask("bard", ("user", "rhyme"))
    assert (response.status_code, "no verse" in response.json()["error"]["message"]) == (400, True)


async def test_an_unknown_model_is_told_which_there_are() -> None:
    response = await ask("gpt-9", ("user", "sing"))
    assert (response.status_code, "there is bard, clerk" in response.json()["error"]["message"]) == (
        404,
        True,
    )
    without = await ask("bard", ("user", "sing"), answers=[])
    assert (without.status_code, "there is none" in without.json()["error"]["message"]) == (404, True)
