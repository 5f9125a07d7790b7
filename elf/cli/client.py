"""The service as a command sees it: the client, with answers that end in exit codes."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self, TypeVar

from elf.cli.credentials import Identity, identity_of
from elf.cli.outcome import ExitCode, Refused, Unreachable, UsageError
from elf.client import NO_RETRIES, AsyncClient, Retries, ServiceError, Unavailable, UnexpectedAnswer
from elf.client import Unreachable as NoAnswer
from elf.client.answer import Answer
from elf.client.call import Call, Stream, get, post, reader
from elf.client.context import Given
from elf.client.errors import ErrorBody
from elf.config import Config
from elf.config.places import reachable_from_here

T = TypeVar("T")

ANSWER_TIMEOUT_S = 120.0  # a hundred notes may have to be embedded by a slow provider


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the service: its HTTP status and its JSON body, and what it says when it is an error."""

    status: int
    body: Any
    told: ErrorBody | None
    identity: Identity

    @property
    def exit_code(self) -> ExitCode:
        if self.status < 400:
            return ExitCode.DONE
        return ExitCode.UNAVAILABLE if self.status == 503 else ExitCode.REJECTED

    def message(self) -> str:
        """Say in one line what an error body says."""
        told = self.told or ErrorBody(str(self.status), "no message")
        text = f"{told.error_code}: {told.message}"
        if unnamed := [field for field in told.fields or () if field not in text]:
            text = f"{text} ({', '.join(unnamed)})"
        is_about_caller = self.status == 401 or (self.status == 403 and self.identity.sources)
        return f"{text}; {self.identity.told}" if is_about_caller else text

    def check(self) -> Self:
        """Return the reply of a request that was served. Raises Unreachable on a 503, else Refused."""
        match self.exit_code:
            case ExitCode.DONE:
                return self
            case ExitCode.UNAVAILABLE:
                raise Unreachable(self.message())
            case _:
                raise Refused(self.message())


class Service:
    """A connection to the service that a config file describes, or to its admin address. An async context manager.

    It is asked by whoever the options and the environment say. A command asks once: whoever sits at a terminal is told
    at once that nothing answers.
    """

    def __init__(self, config: Config, options: argparse.Namespace, *, admin: bool = False) -> None:
        key = "admin_bind" if admin else "http_bind"
        address = config.service.admin_address if admin else config.service.http_address
        if address.port == 0:
            raise UsageError(f"service.{key} has port 0, so nobody knows where the service listens")
        self.address = str(reachable_from_here(address))
        self._identity = identity_of(options, config)
        sent = self._identity.credentials
        self._client = AsyncClient(
            f"http://{self.address}",
            api_key=sent.api_key,
            token=sent.token,
            for_user=sent.for_user,
            timeout_s=ANSWER_TIMEOUT_S,
            retries=NO_RETRIES,
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    @property
    def client(self) -> AsyncClient:
        """The client, for calls to be made with."""
        return self._client

    async def ask(self, call: Call[Any], *, retries: Retries = NO_RETRIES) -> Reply:
        """Carry out a call. Raises Unreachable when no answer comes, or one that is not ELF's."""
        with _no_answer_is_unreachable():
            answer = await self._client.ask(call, retries=retries)
            return self._reply(call, answer, answer.body)

    async def ask_any(self, call: Call[Any]) -> Reply:
        """Carry out a call whose answer may have any shape, or no body; it has to be one that the call reads."""
        with _no_answer_is_unreachable():
            answer = await self._client.ask(call)
            if answer.is_good:
                answer.read(call, answer.content)
            body = json.loads(answer.content) if answer.content else {}
            return self._reply(call, answer, body)

    def _reply(self, call: Call[Any], answer: Answer, body: Any) -> Reply:
        told = None if answer.is_good else answer.told(call)
        return Reply(answer.status, body, told, self._identity)

    @asynccontextmanager
    async def follow(self, stream: Stream[T]) -> AsyncIterator[AsyncIterator[T]]:
        """Give the events of a stream. Raises Unreachable when they do not come, and Refused for a failure."""
        try:
            with _no_answer_is_unreachable():
                async with self._client.stream(stream) as events:
                    yield events
        except ServiceError as error:
            kind = Unreachable if isinstance(error, Unavailable) else Refused
            told = ErrorBody(error.error_code, error.message)
            raise kind(Reply(error.status, {}, told, self._identity).message()) from error


@contextmanager
def _no_answer_is_unreachable() -> Iterator[None]:
    try:
        yield
    except (NoAnswer, UnexpectedAnswer) as error:
        raise Unreachable(str(error)) from error


def admin_get(path: str, params: Mapping[str, Given] | None = None) -> Call[dict[str, Any]]:
    """Make a call to the admin address that may take as long as it takes."""
    return replace(get(path, params or {}, reader(dict[str, Any])), timeout_s=math.inf)


def admin_post(path: str, body: Mapping[str, Given] | None = None) -> Call[dict[str, Any]]:
    """The same with a POST."""
    return replace(post(path, body or {}, reader(dict[str, Any])), timeout_s=math.inf)
