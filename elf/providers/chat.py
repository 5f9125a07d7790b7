"""Chat completions over HTTP: OpenAI's request and answer (specs/elf-notes.md, 7.3), for JSON or for any text.

Endpoints differ in what they know of `response_format`. The strongest is tried first: a strict JSON Schema, then any
JSON object, then the prompt alone. An endpoint that refuses one and serves the same request with a weaker one may not
know the format, or may have refused the content: when the next request meets the same, it is the format. Then the
weaker one is asked for from then on, and the stronger one again after a while.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any, TypeVar

import anyio
import msgspec
import structlog

from elf.config.model import ChatProvider
from elf.core.errors import ProviderBroken, ProviderRefused
from elf.providers.answer import Unreadable, decoded
from elf.providers.http import ProviderHttp
from elf.providers.port import JsonAnswer, Prompt

T = TypeVar("T")

CONTENT_TRIES = 3
MAX_ANSWER_BYTES = 1024 * 1024  # a few notes and their evidence are a hundredth of it
WEAKENED_S = 600.0  # for so long the stronger ways are not tried again
_REFUSALS_TO_WEAKEN = 2
_NOT_ABOUT_THE_FORMAT = frozenset({401, 402, 403, 413})
_FENCED = re.compile(r"```[A-Za-z]*\s*\n(?P<inside>.*?)\n?\s*```", re.DOTALL)

_log = structlog.get_logger()


class JsonMode(IntEnum):
    """How an endpoint is told to answer with JSON, the strongest way first."""

    SCHEMA = 0
    OBJECT = 1
    PROMPT_ONLY = 2


class _Fenced(Unreadable):
    """The content is JSON in a Markdown fence, which was not asked for."""


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message


class _Completion(msgspec.Struct):
    choices: list[_Choice]


_completions = msgspec.json.Decoder(_Completion)


class HttpChat:
    """The Chat port over one HTTP provider. A call, its tries together, takes at most the provider's time-out."""

    def __init__(self, config: ChatProvider, http: ProviderHttp) -> None:
        self._config = config
        self._http = http
        self._weakened = JsonMode.SCHEMA
        self._weakened_until = 0.0
        self._refusals = 0  # requests in a row that only a weaker way than the one begun with served

    @property
    def mode(self) -> JsonMode:
        """The strongest way that the endpoint is known, or hoped, to take."""
        if self._weakened is JsonMode.SCHEMA or anyio.current_time() >= self._weakened_until:
            return JsonMode.SCHEMA
        return self._weakened

    async def ask(self, prompt: Prompt, answer: JsonAnswer[T]) -> T:
        """Return the model's answer as `answer.read` reads it; see the port."""
        deadline = self._http.deadline()
        mode = self.mode
        for tries in range(1, CONTENT_TRIES + 1):
            try:
                text, mode = await self._post(prompt, answer, mode, deadline)
                value = answer.read(_json(text, mode))
            except _Fenced as fenced:
                problem = str(fenced)
                mode = JsonMode.PROMPT_ONLY  # the endpoint takes the field and does not heed it
            except ProviderBroken as broken:
                problem = broken.message
            except (Unreadable, ValueError) as error:
                problem = str(error)
            else:
                self._learn(mode)
                return value
            _log.warning("provider.unusable_content", provider=self._http.label, problem=problem, tries=tries)
        raise ProviderBroken(
            f"{self._http.label} did not answer with the JSON asked for, {CONTENT_TRIES} times in a row: {problem}"
        )

    async def text(self, prompt: Prompt) -> str:
        """Return the model's answer as it came; see the port."""
        return await self._http.post(self._plain_request(prompt), _text, most_bytes=MAX_ANSWER_BYTES)

    async def _post(
        self, prompt: Prompt, answer: JsonAnswer[T], strongest: JsonMode, deadline: float
    ) -> tuple[str, JsonMode]:
        """Post once in the strongest way the endpoint takes; the first refusal counts when it takes none."""
        refusal: ProviderRefused | None = None
        for mode in list(JsonMode)[strongest:]:
            body = self._request(prompt, answer, mode)
            try:
                text = await self._http.post(body, _text, most_bytes=MAX_ANSWER_BYTES, deadline=deadline)
            except ProviderRefused as error:
                if not _may_be_about_the_format(error.provider_status):
                    raise
                refusal = refusal or error
            else:
                return text, mode
        assert refusal is not None
        raise refusal

    def _learn(self, mode: JsonMode) -> None:
        """Note which way served a request from its first word to its last."""
        if mode is self.mode:
            self._refusals = 0
            return
        self._refusals += 1
        if self._refusals < _REFUSALS_TO_WEAKEN:
            return
        self._refusals = (
            _REFUSALS_TO_WEAKEN - 1
        )  # when the stronger ways are tried again, one refusal is enough
        self._weakened, self._weakened_until = mode, anyio.current_time() + WEAKENED_S
        _log.info("provider.json_mode", provider=self._http.label, mode=mode.name.lower())

    def _plain_request(self, prompt: Prompt) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._config.model,
            "temperature": self._config.temperature if prompt.temperature is None else prompt.temperature,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
        }
        if prompt.max_tokens is not None:
            body["max_tokens"] = prompt.max_tokens
        return body

    def _request(self, prompt: Prompt, answer: JsonAnswer[T], mode: JsonMode) -> dict[str, Any]:
        body = self._plain_request(prompt)
        if mode is JsonMode.SCHEMA:
            schema = {"name": answer.name, "strict": True, "schema": answer.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif mode is JsonMode.OBJECT:
            body["response_format"] = {"type": "json_object"}
        return body


def _text(content: bytes) -> str:
    choices = decoded(_completions, content, "is not a chat completion").choices
    if not choices or not choices[0].message.content:
        raise Unreadable("has no content")
    return choices[0].message.content


def _json(content: str, mode: JsonMode) -> Any:
    text = content.strip()
    fenced = _FENCED.fullmatch(text)
    if fenced is not None and mode is not JsonMode.PROMPT_ONLY:
        raise _Fenced("the content is fenced")
    try:
        return msgspec.json.decode(text if fenced is None else fenced["inside"])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise Unreadable("the content is not JSON") from None


def _may_be_about_the_format(status: int) -> bool:
    return 400 <= status < 500 and status not in _NOT_ABOUT_THE_FORMAT
