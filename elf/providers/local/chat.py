"""The rule-based extractor as an ASGI app in the shape of OpenAI's chat completions.

    POST /v1/chat/completions   {"model", "messages", ...}

It answers the extraction prompt (specs/elf-notes.md, 18) and nothing else: like a language model it reads the limits
and the messages out of the prompt's text, and what it answers is always JSON, whatever `response_format` says.
"""

from __future__ import annotations

import re
import time
from typing import Any, Literal

import anyio.to_thread
import msgspec
from blake3 import blake3

from elf.config.packaged import EXTRACTOR_NAME
from elf.providers.local.extractor import Asked, extract_notes
from elf.providers.local.wire import JsonApp, Refusal, decode

_MESSAGES_BEGIN = "\nHere are the messages as JSON:\n"
_LIMIT = re.compile(r"^- (?P<name>MAX_NOTES|MAX_NOTE_CHARS) = (?P<value>\d{1,9})$", re.MULTILINE)
_SCOPES = re.compile(r'"scope_suggestion": "(?P<scopes>[^"]*)"')


class _ChatMessage(msgspec.Struct):
    role: str
    content: str


class _ChatRequest(msgspec.Struct):
    model: str
    messages: list[_ChatMessage]


class _Said(msgspec.Struct):
    role: Literal["user", "assistant", "tool"]
    content: str


class ExtractorApp(JsonApp):
    """The ASGI app over the rules."""

    def __init__(self) -> None:
        super().__init__({"/v1/chat/completions": self._complete})
        self._request_decoder = msgspec.json.Decoder(_ChatRequest)
        self._said_decoder = msgspec.json.Decoder(list[_Said])

    async def _complete(self, content: bytes) -> object:
        request = decode(self._request_decoder, content)
        if request.model != EXTRACTOR_NAME:
            raise Refusal(404, f"there is no model of this name; there is {EXTRACTOR_NAME}", param="model")
        prompts = [message.content for message in request.messages if message.role == "user"]
        if len(prompts) != 1:
            raise Refusal(400, "must hold one message of the user: the extraction prompt", param="messages")
        # A long conversation takes a while; what shares this process goes on meanwhile.
        answer = await anyio.to_thread.run_sync(self._answer, prompts[0])
        return {
            "id": f"chatcmpl-{blake3(content).hexdigest(16)}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": EXTRACTOR_NAME,
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
            ],
        }

    def _answer(self, prompt: str) -> str:
        rules, begin, messages = prompt.partition(_MESSAGES_BEGIN)
        limits = {limit["name"]: int(limit["value"]) for limit in _LIMIT.finditer(rules)}
        scopes = _SCOPES.search(rules)
        if not begin or len(limits) != 2 or scopes is None:
            raise Refusal(
                400, "the extractor goes by rules and knows the extraction prompt only", param="messages"
            )
        asked = Asked(limits["MAX_NOTES"], limits["MAX_NOTE_CHARS"], scopes["scopes"].split("|"))
        said: list[dict[str, Any]] = [msgspec.structs.asdict(one) for one in self._said(messages)]
        return msgspec.json.encode({"notes": extract_notes(said, asked)}).decode()

    def _said(self, messages: str) -> list[_Said]:
        return decode(self._said_decoder, messages.encode())
