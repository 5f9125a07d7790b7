"""Chat completions over HTTP: OpenAI's request and answer, with JSON as the only content (specs/elf-notes.md, 7.3).

Endpoints differ in what they know of `response_format`. The strongest is tried first: a strict JSON Schema, then any
JSON object, then the prompt alone. An endpoint that refuses one, and serves the same request with a weaker one, is
asked with the weaker one from then on.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any, TypeVar

import msgspec
import structlog

from elf.config.model import ExtractorProvider
from elf.core.errors import ProviderRefused, ProviderUnavailable
from elf.providers.http import ProviderHttp
from elf.providers.port import JsonAnswer, Prompt

T = TypeVar("T")

CONTENT_TRIES = 3
MAX_ANSWER_BYTES = 1024 * 1024
_RETRY_AFTER_S = 5
_NOT_ABOUT_THE_FORMAT = frozenset({401, 402, 403, 413})
_FENCED = re.compile(r"```[A-Za-z]*\s*\n(?P<inside>.*?)\n?\s*```", re.DOTALL)

_log = structlog.get_logger()


class JsonMode(IntEnum):
    """How an endpoint is told to answer with JSON, the strongest way first."""

    SCHEMA = 0
    OBJECT = 1
    PROMPT_ONLY = 2


class _Unusable(Exception):
    """The content is not the JSON asked for; `fenced` when it is JSON in a Markdown fence."""

    def __init__(self, problem: str, *, fenced: bool = False) -> None:
        super().__init__(problem)
        self.fenced = fenced


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message


class _Completion(msgspec.Struct):
    choices: list[_Choice]


class HttpChat:
    """The Chat port over one HTTP provider. One `ask`, its tries together, takes at most the provider's time-out."""

    def __init__(self, config: ExtractorProvider, http: ProviderHttp) -> None:
        self._config = config
        self._http = http
        self._mode = JsonMode.SCHEMA
        self._decoder = msgspec.json.Decoder(_Completion)

    @property
    def mode(self) -> JsonMode:
        """The strongest way that the endpoint is known, or still hoped, to take."""
        return self._mode

    async def ask(self, prompt: Prompt, answer: JsonAnswer[T]) -> T:
        """Return the model's answer as `answer.read` reads it; see the port."""
        deadline = self._http.deadline()
        for tries in range(1, CONTENT_TRIES + 1):
            content, mode = await self._post(prompt, answer, deadline)
            try:
                return answer.read(self._json(content, mode))
            except _Unusable as unusable:
                problem = str(unusable)
                if unusable.fenced:
                    self._weaken(JsonMode.PROMPT_ONLY)  # the endpoint takes the field and does not heed it
            except ValueError as error:
                problem = str(error)
            _log.warning("provider.unusable_content", provider=self._http.label, problem=problem, tries=tries)
        raise ProviderUnavailable(
            f"{self._http.label} did not answer with the JSON asked for, {CONTENT_TRIES} times in a row: {problem}",
            retry_after_s=_RETRY_AFTER_S,
        )

    async def _post(self, prompt: Prompt, answer: JsonAnswer[T], deadline: float) -> tuple[bytes, JsonMode]:
        """Post once in the strongest way the endpoint takes; the first refusal counts when it takes none."""
        refusal: ProviderRefused | None = None
        for mode in JsonMode:
            if mode < self._mode:
                continue
            try:
                content = await self._http.post(self._request(prompt, answer, mode), deadline=deadline)
            except ProviderRefused as error:
                if not _may_be_about_the_format(error.provider_status):
                    raise
                refusal = refusal or error
            else:
                self._weaken(mode)
                return content, mode
        assert refusal is not None
        raise refusal

    def _weaken(self, mode: JsonMode) -> None:
        if mode > self._mode:
            self._mode = mode
            _log.info("provider.json_mode", provider=self._http.label, mode=mode.name.lower())

    def _request(self, prompt: Prompt, answer: JsonAnswer[T], mode: JsonMode) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._config.model,
            "temperature": self._config.temperature,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
        }
        if mode is JsonMode.SCHEMA:
            schema = {"name": answer.name, "strict": True, "schema": answer.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif mode is JsonMode.OBJECT:
            body["response_format"] = {"type": "json_object"}
        return body

    def _json(self, content: bytes, mode: JsonMode) -> Any:
        text = self._text(content).strip()
        fenced = _FENCED.fullmatch(text)
        if fenced is not None and mode is not JsonMode.PROMPT_ONLY:
            raise _Unusable("the content is fenced", fenced=True)
        try:
            return msgspec.json.decode(text if fenced is None else fenced["inside"])
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise _Unusable("the content is not JSON") from None

    def _text(self, content: bytes) -> str:
        if len(content) > MAX_ANSWER_BYTES:
            raise _Unusable(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
        try:
            choices = self._decoder.decode(content).choices
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise _Unusable("the answer is not a chat completion") from None
        if not choices or not choices[0].message.content:
            raise _Unusable("the answer has no content")
        return choices[0].message.content


def _may_be_about_the_format(status: int) -> bool:
    return 400 <= status < 500 and status not in _NOT_ABOUT_THE_FORMAT
