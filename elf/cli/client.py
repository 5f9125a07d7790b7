"""The HTTP client of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

import httpx

from elf.cli.outcome import ExitCode, Refused, Unreachable, UsageError
from elf.config import Config
from elf.config.places import reachable_from_here

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 120.0  # a hundred notes may have to be embedded by a slow provider


class Reply(NamedTuple):
    """An answer of the service: its HTTP status, its JSON body and, with a 503, the seconds to wait."""

    status: int
    body: dict[str, Any]
    retry_after_s: float

    @property
    def exit_code(self) -> ExitCode:
        if self.status < 400:
            return ExitCode.DONE
        return ExitCode.UNAVAILABLE if self.status == 503 else ExitCode.REJECTED

    def message(self) -> str:
        """Say in one line what an error body says."""
        text = f"{self.body.get('error_code', self.status)}: {self.body.get('message', 'no message')}"
        unnamed = [field for field in map(str, self.body.get("fields") or ()) if field not in text]
        return f"{text} ({', '.join(unnamed)})" if unnamed else text

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
    """A connection to the service that a config file describes, or to its admin address. An async context manager."""

    def __init__(self, config: Config, *, admin: bool = False) -> None:
        key = "admin_bind" if admin else "http_bind"
        address = config.service.admin_address if admin else config.service.http_address
        if address.port == 0:
            raise UsageError(f"service.{key} has port 0, so nobody knows where the service listens")
        self.address = str(reachable_from_here(address))
        self._http = httpx.AsyncClient(
            base_url=f"http://{self.address}",
            timeout=httpx.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            trust_env=False,  # no proxy setting of the environment counts
            verify=False,  # plain HTTP only; loading certificates would cost half of a command's time
        )

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, trace)

    async def get(
        self,
        path: str,
        params: Mapping[str, str | int | None] | None = None,
        *,
        timeout_s: float | None = ANSWER_TIMEOUT_S,
    ) -> Reply:
        """Send a GET; parameters that are None are left out.

        Raises Unreachable when no answer comes within `timeout_s`; None waits as long as it takes.
        """
        given = {name: value for name, value in (params or {}).items() if value is not None}
        timeout = httpx.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S)
        return await self._send(self._http.build_request("GET", path, params=given, timeout=timeout))

    async def post(
        self, path: str, body: Mapping[str, Any], *, timeout_s: float | None = ANSWER_TIMEOUT_S
    ) -> Reply:
        """Send a POST, with the same errors as `get`."""
        # Escaped to ASCII, so that even half a surrogate pair travels and is the service's to refuse.
        content = json.dumps(body, allow_nan=False).encode("ascii")
        headers = {"content-type": "application/json"}
        timeout = httpx.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S)
        return await self._send(
            self._http.build_request("POST", path, content=content, headers=headers, timeout=timeout)
        )

    async def _send(self, request: httpx.Request) -> Reply:
        try:
            response = await self._http.send(request)
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise Unreachable(f"the service at {self.address} does not answer: {reason}") from error
        return Reply(
            response.status_code, self._body(response), _seconds(response.headers.get("retry-after"))
        )

    def _body(self, response: httpx.Response) -> dict[str, Any]:
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise Unreachable(f"what answers at {self.address} is not ELF (HTTP {response.status_code})")
        return body


def _seconds(retry_after: str | None) -> float:
    """Read a Retry-After in seconds; 1 when there is none or it is a date."""
    return float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdecimal() else 1.0
