"""The fronts of a running service as a caller meets them: what each offers, and how anything of it is asked.

What there is to ask is read from the service itself: the OpenAPI documents of its two HTTP fronts, and the list of its
tools.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeAlias

import httpx

TIMEOUT_S: Final = 60.0
# A front closes what is idle for some seconds; a request must not meet that.
LIMITS: Final = httpx.Limits(keepalive_expiry=1.0)
MCP_HEADERS: Final = {"accept": "application/json, text/event-stream"}


class Reply(NamedTuple):
    """An answer: whether the caller was served, and its body as text."""

    ok: bool
    text: str

    @property
    def body(self) -> Any:
        """The body as JSON; None when there is none."""
        return json.loads(self.text) if self.text else None


def operations_of(document: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The method and path of each operation of an OpenAPI document."""
    return {
        entry["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
    }


def request_for(
    http: httpx.Client,
    method: str,
    path: str,
    arguments: Mapping[str, Any],
    headers: Mapping[str, str] = {},
) -> httpx.Request:
    """A request with these fields: in the path, the query string or the body, as its method has it."""
    in_path = {part for _, part, _, _ in string.Formatter().parse(path) if part}
    rest = {key: value for key, value in arguments.items() if key not in in_path}
    url = path.format(**{part: arguments.get(part, "unknown") for part in in_path})
    if method == "GET":
        return http.build_request(method, url, params=rest, headers=dict(headers))
    return http.build_request(method, url, json=rest, headers=dict(headers))


class HttpFront:
    """A front that has an OpenAPI document: its operations by their ids.

    `offers` says of each name what it is, in words.
    """

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self._http = httpx.Client(base_url=url, timeout=TIMEOUT_S, limits=LIMITS)
        self._operations = operations_of(self._http.get("/openapi.json").raise_for_status().json())
        self.offers = {
            operation: f"the operation {operation} ({method} {path}) of the {name} front"
            for operation, (method, path) in self._operations.items()
        }

    def only_reads(self, name: str) -> bool:
        """Whether it is said to change nothing."""
        return self._operations[name][0] == "GET"

    def fills(self, name: str) -> Mapping[str, str]:
        """What the front itself puts where a caller leaves a field out."""
        return {}

    def ask(self, name: str, arguments: Mapping[str, Any], *, headers: Mapping[str, str] = {}) -> Reply:
        """Call what is offered by this name with the given fields."""
        return self.ask_at(*self._operations[name], arguments, headers=headers)

    def where(self, name: str) -> tuple[str, str]:
        """The method and path of an operation."""
        return self._operations[name]

    def ask_at(
        self, method: str, path: str, arguments: Mapping[str, Any], *, headers: Mapping[str, str] = {}
    ) -> Reply:
        """Send a request to a path, whether or not the front offers it."""
        response = self._http.send(
            request_for(self._http, method, path, arguments, headers), follow_redirects=False
        )
        assert response.status_code < 500, f"{method} {path}: {response.text}"
        return Reply(response.is_success, response.text)

    def close(self) -> None:
        self._http.close()


class McpFront:
    """The tools, called one message a request, as agents do; the methods are those of an HttpFront."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self._url = url
        self._http = httpx.Client(timeout=TIMEOUT_S, limits=LIMITS, headers=MCP_HEADERS)
        listed = self._send("tools/list", {}).json()["result"]
        assert "nextCursor" not in listed, "there are more tools than one page"
        self.offers = {tool["name"]: f"the tool {tool['name']} of {name}" for tool in listed["tools"]}
        self._tools = {tool["name"]: tool for tool in listed["tools"]}

    def only_reads(self, name: str) -> bool:
        return bool(self._tools[name]["annotations"]["readOnlyHint"])

    def fills(self, name: str) -> Mapping[str, str]:
        properties = self._tools[name]["inputSchema"]["properties"]
        return {key: schema["default"] for key, schema in properties.items() if "default" in schema}

    def ask(self, name: str, arguments: Mapping[str, Any], *, headers: Mapping[str, str] = {}) -> Reply:
        response = self._send("tools/call", {"name": name, "arguments": dict(arguments)}, headers=headers)
        if not response.is_success:
            return Reply(False, response.text)
        result = response.json()["result"]
        (content,) = result["content"]
        return Reply(not result.get("isError", False), content["text"])

    def _send(
        self, method: str, params: Mapping[str, Any], *, headers: Mapping[str, str] = {}
    ) -> httpx.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._http.post(self._url, json=message, headers=dict(headers))

    def close(self) -> None:
        self._http.close()


Front: TypeAlias = HttpFront | McpFront


class Fronts:
    """All fronts of a running service; a context manager."""

    def __init__(self, url: str, admin_url: str, mcp_url: str) -> None:
        self.public = HttpFront("public", url)
        self.admin = HttpFront("admin", admin_url)
        self.mcp = McpFront("mcp", mcp_url)

    @property
    def all(self) -> tuple[Front, ...]:
        return self.public, self.admin, self.mcp

    def offering(self, name: str) -> list[Front]:
        """The fronts that offer something by this name."""
        return [front for front in self.all if name in front.offers]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for front in self.all:
            front.close()
