"""A language model that follows a script, asked over HTTP as a real one is: what it was asked is read at the wire."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import httpx

from elf.providers.chat import HttpChat
from elf.providers.http import ProviderHttp
from tests.providers_kit import chat_config

Script = Callable[[str], str]


class ScriptedModel:
    """Answers each question with what `script` makes of the user's part of it, and keeps what it was asked. It finds
    those `facts` in turns whose quotes stand there, and that is not counted.

    While `before_answer` is set, that is awaited first.
    """

    def __init__(self, script: Script = lambda _: "{}", **config: Any) -> None:
        self.script = script
        self.asked: list[Mapping[str, Any]] = []
        self.before_answer: Callable[[], Awaitable[None]] | None = None
        self.status = 200
        self.facts: list[Mapping[str, Any]] = []
        self.is_asked = anyio.Event()
        rules = chat_config(**config)
        network = httpx.MockTransport(self._answer)
        self.chat = HttpChat(rules, ProviderHttp("providers.llm_extractor", rules, transport=network))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if body.get("response_format", {}).get("json_schema", {}).get("name") == "facts":
            said = body["messages"][1]["content"]
            return _completion(json.dumps({"facts": [one for one in self.facts if one["quote"] in said]}))
        self.asked.append(body)
        self.is_asked.set()
        if self.before_answer is not None:
            await self.before_answer()
        content = self.script(body["messages"][1]["content"])
        return _completion(content, self.status)

    @property
    def questions(self) -> list[str]:
        """What was asked, without what the model is told to be."""
        return [body["messages"][1]["content"] for body in self.asked]


def _completion(content: str, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json={"choices": [{"message": {"content": content}}]})


def shown(question: str) -> Any:
    """Return the data of a question, which is its last line."""
    return json.loads(question.splitlines()[-1])
