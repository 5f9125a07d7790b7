"""Rules as an ASGI app in the shape of OpenAI's chat completions.

    POST /v1/chat/completions   {"model", "messages", ...}

The rules come from the families of memory. Each knows one prompt and goes by a model name; any other prompt is refused,
for there is no language model behind this.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import anyio.to_thread
import msgspec
from blake3 import blake3

from elf.providers.local.answers import LocalAnswer
from elf.providers.local.wire import JsonApp, Refusal, decode
from elf.providers.port import Prompt


class _ChatMessage(msgspec.Struct):
    role: str
    content: str


class _ChatRequest(msgspec.Struct):
    model: str
    messages: list[_ChatMessage]


class LocalChatApp(JsonApp):
    """The ASGI app over rules, which are tried in their order."""

    def __init__(self, answers: Sequence[LocalAnswer]) -> None:
        super().__init__({"/v1/chat/completions": self._complete})
        self._answers = answers
        self._request_decoder = msgspec.json.Decoder(_ChatRequest)

    async def _complete(self, content: bytes) -> object:
        request = decode(self._request_decoder, content)
        answers = self._of_model(request.model)
        prompt = _prompt(request.messages)
        # A long conversation takes a while; what shares this process goes on meanwhile.
        answer = await anyio.to_thread.run_sync(_answered, answers, prompt)
        return {
            "id": f"chatcmpl-{blake3(content).hexdigest(16)}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.model,
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
            ],
        }

    def _of_model(self, model: str) -> list[LocalAnswer]:
        found = [answer for answer in self._answers if answer.model == model]
        if not found:
            names = ", ".join(dict.fromkeys(answer.model for answer in self._answers)) or "none"
            raise Refusal(404, f"there is no model of this name; there is {names}", param="model")
        return found


def _prompt(messages: Sequence[_ChatMessage]) -> Prompt:
    system = [message.content for message in messages if message.role == "system"]
    user = [message.content for message in messages if message.role == "user"]
    if len(user) != 1:
        raise Refusal(400, "must hold one message of the user: the prompt", param="messages")
    return Prompt("\n".join(system), user[0])


def _answered(answers: Sequence[LocalAnswer], prompt: Prompt) -> str:
    for answer in answers:
        if answer.knows(prompt):
            try:
                return answer.answer(prompt)
            except ValueError as error:
                raise Refusal(400, f"the prompt cannot be read: {error}", param="messages") from error
    model = answers[0].model
    raise Refusal(400, f"{model} goes by rules, and has no answer to this prompt", param="messages")
