"""The HTTP API as a tool calls it, in this process or over the network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

import httpx
import msgspec

from elf.api.operation import Operation
from elf.config.places import Address
from elf.core.errors import InternalError, PayloadTooLarge, ServiceError, Unavailable
from elf.core.ids import id_in_path, text_in_path
from elf.core.json_size import holding_more_values
from elf.core.slices import Slices, in_slices

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 120.0  # a language model may have to read a long conversation
# An answer is read, checked and written several times on its way through the SDK, each time in a single call.
MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_ANSWER_VALUES = 30_000


def client_of_app(app: Any) -> httpx.AsyncClient:
    """Return a client of an API that is an ASGI application in this process."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=None)


def client_of_address(address: Address) -> httpx.AsyncClient:
    """Return a client of an API that listens at an address."""
    return httpx.AsyncClient(
        base_url=f"http://{address}",
        timeout=httpx.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        # As many as there are calls: in a pool of less, one user's slow calls would keep all others waiting here, where
        # no tenant has a turn.
        limits=httpx.Limits(max_connections=None),
        trust_env=False,  # no proxy setting of the environment counts
        verify=False,  # plain HTTP only; loading certificates takes a while
    )


class Answer(NamedTuple):
    """What came back: the body as it stood on the wire, and read; `ok` unless it is that of an error."""

    ok: bool
    text: str
    body: dict[str, Any]

    @classmethod
    def of_failure(cls, failure: ServiceError) -> Answer:
        """Return a failure in the form the API gives its own."""
        body = {
            "error_code": failure.error_code,
            "message": failure.message,
            "fields": list(failure.fields) or None,
        }
        return cls.of_error(body)

    @classmethod
    def of_error(cls, body: dict[str, Any]) -> Answer:
        """Return a failure of which the body is given."""
        return cls(False, json.dumps(body), body)


class Api:
    """Sends operations to the API behind an HTTP client; the client's base URL says where that is."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def ask(
        self, operation: Operation, arguments: Mapping[str, Any], identity: Iterable[tuple[str, str]] = ()
    ) -> Answer:
        """Carry out an operation for whoever the headers in `identity` prove.

        What keeps it from being asked or answered is an answer, too.
        """
        try:
            request = _request(self._http, operation, arguments)
            proof = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in identity]
            request.headers = httpx.Headers([*request.headers.raw, *proof])
            return await self._answer(request)
        except ServiceError as failure:
            return Answer.of_failure(failure)

    async def _answer(self, request: httpx.Request) -> Answer:
        where = str(self._http.base_url).rstrip("/")
        try:
            response = await self._http.send(request)
        except httpx.RequestError as error:
            why = str(error) or type(error).__name__
            raise Unavailable(
                f"the ELF service at {where} does not answer ({why}); it may not be running"
            ) from error
        if await in_slices(_is_large(response.content)):
            raise PayloadTooLarge(
                f"the answer has more than the {MAX_ANSWER_BYTES} bytes or {MAX_ANSWER_VALUES:,} values that a tool "
                "gives: ask for fewer items, or over HTTP"
            )
        return Answer(response.status_code < 400, response.text or "{}", _body(response, where))


def _is_large(content: bytes) -> Slices[bool]:
    if len(content) > MAX_ANSWER_BYTES:
        return True
    return (yield from holding_more_values(content, MAX_ANSWER_VALUES))


def _body(response: httpx.Response, where: str) -> dict[str, Any]:
    if response.status_code == 204:
        return {}
    try:
        body = msgspec.json.decode(response.content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise InternalError(f"what answers at {where} is not ELF (HTTP {response.status_code})")
    return body


def _request(http: httpx.AsyncClient, operation: Operation, arguments: Mapping[str, Any]) -> httpx.Request:
    rest = dict(arguments)
    path = operation.path.format_map(
        {name: _path_part(operation, name, rest.pop(name, None)) for name in operation.path_parameters}
    )
    if not operation.has_body:
        # Text that is no Unicode travels as it is and is the API's to judge, here and below.
        query = urlencode(
            {name: _query_text(value) for name, value in rest.items() if value is not None},
            errors="surrogatepass",
        )
        return http.build_request(operation.method, f"{path}?{query}" if query else path)
    body = rest if operation.body is None else rest.get(operation.body)
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", errors="surrogatepass")
    return http.build_request(
        operation.method, path, content=content, headers={"content-type": "application/json"}
    )


def _path_part(operation: Operation, name: str, value: Any) -> str:
    if value not in (None, "") and operation.request.model_fields[name].annotation is UUID:
        return id_in_path(value, name=name)
    return text_in_path(value, name=name)


def _query_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
