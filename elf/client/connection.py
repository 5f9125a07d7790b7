"""What the two clients share: everything but waiting."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, Self, TypedDict, TypeVar

import httpx

from elf.client.call import Call
from elf.client.calls import Calls
from elf.client.retries import Course, Retries
from elf.core.errors import InvalidRequest

DEFAULT_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 5.0

H = TypeVar("H", httpx.Client, httpx.AsyncClient)


class HttpSettings(TypedDict):
    """What an httpx client, of either kind, is made with."""

    base_url: str
    headers: Mapping[str, str] | None
    trust_env: bool
    verify: bool


class Connection(Generic[H]):
    """A place to send calls to, and the context in which they are made."""

    def __init__(self, http: H, calls: Calls, timeout_s: float, retries: Retries) -> None:
        self._http: H = http
        self._timeout_s = timeout_s
        self._retries = retries
        self.calls = calls
        self.base_url = str(http.base_url).rstrip("/")

    def within(
        self,
        *,
        tenant_id: str | None = None,
        project_id: str | None = None,
        agent_id: str | None = None,
        read_profile: str | None = None,
    ) -> Self:
        """Return a client of another context over the same connections; what is not given stays as it is."""
        changes = {
            "tenant_id": tenant_id, "project_id": project_id, "agent_id": agent_id, "read_profile": read_profile,
        }  # fmt: skip
        other = copy.copy(self)
        other.calls = replace(
            self.calls, **{name: value for name, value in changes.items() if value is not None}
        )
        return other

    def _course(self, call: Call[Any], retries: Retries | None, now: Callable[[], float]) -> Course:
        return Course(call.repeat, self._retries if retries is None else retries, self.base_url, now)

    def _request(self, call: Call[Any], request_id: str) -> httpx.Request:
        timeout_s = self._timeout_s if call.timeout_s is None else call.timeout_s
        headers = {"X-Request-Id": request_id}
        if call.content is not None:
            headers["Content-Type"] = "application/json"
        timeout = httpx.Timeout(
            None if timeout_s == math.inf else timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)
        )
        try:
            return self._http.build_request(
                call.method, call.target, content=call.content, headers=headers, timeout=timeout
            )
        except httpx.InvalidURL as error:
            raise InvalidRequest(str(error)) from error


def http_settings(base_url: str, headers: Mapping[str, str] | None) -> HttpSettings:
    """Return the settings of an httpx client. Raises ValueError when `base_url` is no http(s) URL."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ValueError(f"{base_url!r} is no URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"{base_url!r} must begin with http:// or https:// and name a host")
    return {
        "base_url": base_url,
        "headers": headers,
        "trust_env": False,  # no proxy setting of the environment counts
        "verify": url.scheme == "https",  # loading certificates takes a while and plain HTTP needs none
    }


def show_as(method: Callable[..., Any], build: Callable[..., Any], *, form: str) -> None:
    """Give a method the name, the documentation and the signature of the function that makes its call.

    `form` says what help() shows as the result, such as `Awaitable[{}]`.
    """
    signature = inspect.signature(build)
    result = str(signature.return_annotation).partition("[")[2].removesuffix("]")
    shown = signature.replace(return_annotation=form.format(result))
    method.__name__, method.__qualname__, method.__doc__ = build.__name__, build.__qualname__, build.__doc__
    method.__dict__["__signature__"] = shown
