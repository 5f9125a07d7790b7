"""The fronts of a running service as a caller meets them: what each offers, and how anything of it is asked.

What there is to ask is read from the service itself: the OpenAPI documents of its two HTTP fronts, and the list of its
tools.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeAlias
from urllib.parse import quote

import httpx

from elf.core.errors import Forbidden, InvalidRequest, NotFound, ScopeDenied, Unauthorized
from tests.families.identities import Identities

TIMEOUT_S: Final = 60.0
# A front closes what is idle for some seconds; a request must not meet that.
LIMITS: Final = httpx.Limits(keepalive_expiry=1.0)
STATUS_OF: Final = {
    kind.error_code: kind.status for kind in (InvalidRequest, Unauthorized, ScopeDenied, Forbidden, NotFound)
}
OWN_CODES: Final = {
    "bad_request": InvalidRequest.error_code,
    "validation_error": InvalidRequest.error_code,
    "unauthorized": Unauthorized.error_code,
    "forbidden": Forbidden.error_code,
    "not_found": NotFound.error_code,
}
PREFIXES: Final = {"/mcp/knowledge": "knowledge ", "/mcp/memory": "memory "}
MCP_HEADERS: Final = {"accept": "application/json, text/event-stream"}


class Reply(NamedTuple):
    """An answer: whether the caller was served, its body as text, and the status that it has over HTTP."""

    ok: bool
    text: str
    status: int = 200

    @property
    def body(self) -> Any:
        """The body as JSON; None when there is none."""
        return json.loads(self.text) if self.text else None


class Way(NamedTuple):
    """How an operation is asked: its method, its path, and whether its body is a list."""

    method: str
    path: str
    takes_list: bool = False


def operations_of(document: Mapping[str, Any]) -> dict[str, Way]:
    """The way to each operation of an OpenAPI document."""
    return {
        entry["operationId"]: Way(method.upper(), path, _takes_list(entry))
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
    }


def _takes_list(entry: Mapping[str, Any]) -> bool:
    content = entry.get("requestBody", {}).get("content", {})
    return any(one["schema"].get("type") == "array" for one in content.values())


def request_for(
    http: httpx.Client,
    way: Way,
    arguments: Mapping[str, Any],
    headers: Mapping[str, str] = {},
    *,
    base: str = "",
) -> httpx.Request:
    """A request with these fields: in the path, the query string or the body, as its method has it.

    A body that is a list is the one list among them.
    """
    in_path = _in_path(way)
    rest = {key: value for key, value in arguments.items() if key not in in_path}
    named = {part: quote(str(arguments.get(part, "unknown")), safe="") for part in in_path}
    url = base + way.path.format(**named)
    if way.method in ("GET", "DELETE"):
        return http.build_request(way.method, url, params=rest, headers=dict(headers))
    body = next((one for one in rest.values() if isinstance(one, list)), []) if way.takes_list else rest
    return http.build_request(way.method, url, json=body, headers=dict(headers))


def _in_path(way: Way) -> set[str]:
    return {part for _, part, _, _ in string.Formatter().parse(way.path) if part}


def reply_of(text: str, *, is_error: bool) -> Reply:
    """The answer of a tool, with the status that it has over HTTP."""
    if not is_error:
        return Reply(True, text)
    told = json.loads(text)
    # Conversations have error bodies of their own, with the code in lower case.
    code = told.get("error_code") or OWN_CODES.get(told.get("code"))
    return Reply(False, text, STATUS_OF.get(code, 500))


class HttpFront:
    """A front that has an OpenAPI document: its operations by their ids.

    `offers` says of each name what it is, in words, and `headers` who asks when nothing else is said.
    """

    is_on_network = True

    def __init__(self, name: str, url: str, headers: Mapping[str, str] = {}) -> None:
        self.name = name
        self.headers = headers
        self.url = url
        self._http = httpx.Client(base_url=url, timeout=TIMEOUT_S, limits=LIMITS)
        self._operations = operations_of(self._http.get("/openapi.json").raise_for_status().json())
        self.offers = {
            operation: f"the operation {operation} ({way.method} {way.path}) of the {name} front"
            for operation, way in self._operations.items()
        }

    def only_reads(self, name: str) -> bool:
        """Whether it is said to change nothing."""
        return self._operations[name].method == "GET"

    def in_path(self, name: str) -> frozenset[str]:
        """The fields that a path has, so that they cannot be left out."""
        return frozenset(_in_path(self._operations[name]))

    def fills(self, name: str) -> Mapping[str, str]:
        """What the front itself puts where a caller leaves a field out."""
        return {}

    def ask(
        self, name: str, arguments: Mapping[str, Any], *, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Call what is offered by this name with the given fields, as who is told by these headers."""
        return self.ask_at(self._operations[name], arguments, headers=headers)

    def where(self, name: str) -> Way:
        """The way to an operation."""
        return self._operations[name]

    def ask_at(
        self, way: Way, arguments: Mapping[str, Any], *, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request to a path, whether or not the front offers it."""
        request = request_for(self._http, way, arguments, self.headers if headers is None else headers)
        response = self._http.send(request, follow_redirects=False)
        assert response.status_code < 500, f"{way.method} {way.path}: {response.text}"
        return Reply(response.is_success, response.text, response.status_code)

    def close(self) -> None:
        self._http.close()


class McpFront:
    """The tools, called one message a request, as agents do; the methods are those of an HttpFront.

    Here their names have a `prefix`, where a tool at another path has the same name.
    """

    is_on_network = True

    def __init__(self, name: str, url: str, headers: Mapping[str, str] = {}, *, prefix: str = "") -> None:
        self.name = name
        self.headers = headers
        self._url = url
        self._http = httpx.Client(timeout=TIMEOUT_S, limits=LIMITS, headers=MCP_HEADERS)
        listed = self._send("tools/list", {}, headers).json()["result"]
        assert "nextCursor" not in listed, "there are more tools than one page"
        self.offers = {
            prefix + tool["name"]: f"the tool {tool['name']} of {name}" for tool in listed["tools"]
        }
        self._tools = {prefix + tool["name"]: tool for tool in listed["tools"]}
        self._prefix = prefix

    def only_reads(self, name: str) -> bool:
        return bool(self._tools[name]["annotations"]["readOnlyHint"])

    def in_path(self, name: str) -> frozenset[str]:
        return frozenset()

    def fills(self, name: str) -> Mapping[str, str]:
        properties = self._tools[name]["inputSchema"]["properties"]
        return {key: schema["default"] for key, schema in properties.items() if "default" in schema}

    def ask(
        self, name: str, arguments: Mapping[str, Any], *, headers: Mapping[str, str] | None = None
    ) -> Reply:
        asked = {"name": self.tool(name), "arguments": dict(arguments)}
        response = self._send("tools/call", asked, self.headers if headers is None else headers)
        if not response.is_success:
            return Reply(False, response.text, response.status_code)
        result = response.json()["result"]
        (content,) = result["content"]
        return reply_of(content["text"], is_error=result.get("isError", False))

    def tool(self, name: str) -> str:
        """The name of a tool as the server has it."""
        return name.removeprefix(self._prefix)

    def _send(self, method: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> httpx.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._http.post(self._url, json=message, headers=dict(headers))

    def close(self) -> None:
        self._http.close()


Front: TypeAlias = HttpFront | McpFront


class Fronts:
    """All fronts of a running service, the one of tools once for each of `mcp_paths`; a context manager.

    `headers` say who asks when nothing else is said. Where callers are asked who they are, `identities` prove it.
    """

    def __init__(
        self,
        url: str,
        admin_url: str,
        mcp_url: str,
        mcp_paths: Sequence[str],
        headers: Mapping[str, str] = {},
        identities: Identities | None = None,
    ) -> None:
        self.identities = identities
        self.public = HttpFront("public", url, headers)
        self.admin = HttpFront("admin", admin_url, headers)
        self.tools = [
            McpFront(
                path.strip("/"), mcp_url.removesuffix("/mcp") + path, headers, prefix=PREFIXES.get(path, "")
            )
            for path in mcp_paths
        ]

    @property
    def all(self) -> Sequence[Front]:
        return [self.public, self.admin, *self.tools]

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
