"""What the two clients share: everything but waiting."""

from __future__ import annotations

import base64
import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeAlias, TypeVar

import httpx

from elf.client.call import Call
from elf.client.calls import Calls
from elf.client.context import project_of
from elf.client.credentials import Credentials
from elf.client.method import method
from elf.client.retries import Course, Retries
from elf.core.errors import InvalidRequest

if TYPE_CHECKING:
    from elf.client.families.assistant import AssistantClient
    from elf.client.families.conversations import ConversationsClient
    from elf.client.families.graph import GraphClient
    from elf.client.families.knowledge import KnowledgeClient
    from elf.client.families.memories import MemoriesClient
    from elf.client.families.store import StoreClient
    from elf.client.families.webhooks import WebhooksClient

DEFAULT_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 5.0

USER_AGENT: Final = "elf-memory-client"

DefaultProject: TypeAlias = Callable[[Credentials], str | None]
"""Gives the project that is meant by who calls and names none; None where that is the service's to say."""

Transport = TypeVar("Transport", httpx.BaseTransport, httpx.AsyncBaseTransport)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service is: its base URL without a slash at the end, and the headers by which it lets one in."""

    url: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, base_url: str) -> Place:
        """Read a base URL, which may hold a name and a password for HTTP's basic authentication.

        Raises ValueError when it is no http(s) URL.
        """
        # Before an @ may stand a password, which is nobody's to read in a log.
        shown = "the address" if "@" in str(base_url) else repr(base_url)
        problem = ValueError(f"base_url: {shown} must begin with http:// or https:// and name a host")
        try:
            url = httpx.URL(base_url)
        except (httpx.InvalidURL, TypeError):
            raise problem from None  # what httpx says quotes the part it cannot read
        if url.scheme not in ("http", "https") or not url.host:
            raise problem
        headers = {}
        if url.userinfo:
            secret = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
            headers["Authorization"] = f"Basic {secret}"
        return cls(str(url.copy_with(userinfo=b"", query=None, fragment=None)).rstrip("/"), headers)

    @property
    def is_encrypted(self) -> bool:
        return self.url.startswith("https:")


@dataclass(slots=True)
class _Use:
    """Whether the clients that share a transport may still use it: closed, it would open connections anew."""

    is_over: bool = False


class Connection(Generic[Transport]):
    """A place to send calls to, and the context in which they are made.

    It speaks to httpx's transport itself: a client around it would add redirects, cookies and authentication, which the
    service has not, and half a millisecond to a call.
    """

    def __init__(
        self,
        transport: Transport,
        place: Place,
        headers: Mapping[str, str] | None,
        credentials: Credentials,
        calls: Calls,
        timeout_s: float,
        retries: Retries,
    ) -> None:
        self._transport: Transport = transport
        self._use = _Use()
        self._headers = httpx.Headers({"Accept": "application/json", "User-Agent": USER_AGENT})
        for given in (place.headers, headers):
            self._headers.update(given)
        if credentials.token is not None and "Authorization" in place.headers:
            raise ValueError("token: base_url holds a name and a password, and one header cannot carry both")
        self._credentials = credentials
        self._timeout_s = checked_timeout(timeout_s)
        self._retries = retries
        self.calls = calls
        self._default_project: DefaultProject | None = None
        self.base_url = place.url

    def within(
        self,
        *,
        tenant_id: str | None = None,
        project_id: str | None = None,
        user: str | None = None,
        agent_id: str | None = None,
        scope: str | None = None,
        read_profile: str | None = None,
        for_user: str | None = None,
    ) -> Self:
        """Return a client of another context over the same connections; what is not given stays as it is.

        Its key acts for the user `for_user`. Raises ValueError without a key.
        """
        changes = {
            "tenant_id": tenant_id,
            "project_id": project_of(user, project_id),
            "agent_id": agent_id,
            "scope": scope,
            "read_profile": read_profile,
        }
        other = copy.copy(self)
        other.calls = replace(
            self.calls, **{name: value for name, value in changes.items() if value is not None}
        )
        if changes["project_id"] is not None:
            other._default_project = None
        return other if for_user is None else other.proven_by(replace(self._credentials, for_user=for_user))

    def proven_by(self, credentials: Credentials) -> Self:
        """Return a client that proves by these who calls, in the same context over the same connections."""
        other = copy.copy(self)
        other._credentials = credentials
        if self._default_project is not None:
            other.calls = replace(self.calls, project_id=self._default_project(credentials))
        return other

    def by_default_in(self, default_project: DefaultProject) -> Self:
        """Return a client in the project that is meant by who calls, until one is named, whoever that comes to be."""
        other = copy.copy(self)
        other._default_project = default_project
        return other.proven_by(self._credentials)

    @property
    def _client(self) -> Self:
        return self

    @property
    def _maker(self) -> Calls:
        return self.calls

    add_note = method(Calls.add_note)
    add_notes = method(Calls.add_notes)
    add_event = method(Calls.add_event)
    search = method(Calls.search)
    explain = method(Calls.explain)
    find_ids = method(Calls.find_ids)
    traces = method(Calls.traces)
    trace = method(Calls.trace)
    get = method(Calls.get)
    list = method(Calls.list_notes)
    update = method(Calls.update)
    delete = method(Calls.delete)
    history = method(Calls.history)
    restore = method(Calls.restore)
    ready = method(Calls.ready)

    @property
    def knowledge(self) -> KnowledgeClient[Self]:
        """The client of knowledge, in the same context."""
        from elf.client.families.knowledge import KnowledgeClient

        return KnowledgeClient(self)

    @property
    def conversations(self) -> ConversationsClient[Self]:
        """The client of conversations; their user is whoever calls."""
        from elf.client.families.conversations import ConversationsClient

        return ConversationsClient(self)

    @property
    def graph(self) -> GraphClient[Self]:
        """The client of the graph; the agent of the context is the orchestrator whose memory it is."""
        from elf.client.families.graph import GraphClient

        return GraphClient(self)

    @property
    def assistant(self) -> AssistantClient[Self]:
        """The client of the assistant's memory, in the same tenant; the user is whoever calls, or said by each call."""
        from elf.client.families.assistant import AssistantClient

        return AssistantClient(self)

    @property
    def store(self) -> StoreClient[Self]:
        """The client of values by namespace and key, in the same tenant; the user is who calls, or told by a call."""
        from elf.client.families.store import StoreClient

        return StoreClient(self)

    @property
    def webhooks(self) -> WebhooksClient[Self]:
        """The client of webhooks, for operators: who is told of changes, and what they never took."""
        from elf.client.families.webhooks import WebhooksClient

        return WebhooksClient(self)

    @property
    def memories(self) -> MemoriesClient[Self]:
        """The client of recall over all families, in the same tenant; the user is who calls, or told by a call."""
        from elf.client.families.memories import MemoriesClient

        return MemoriesClient(self)

    def _course(self, call: Call[Any], retries: Retries | None, now: Callable[[], float]) -> Course:
        return Course(call, self._retries if retries is None else retries, self.base_url, now)

    def _request(self, call: Call[Any], request_id: str, identity: Mapping[str, str]) -> httpx.Request:
        if self._use.is_over:
            raise RuntimeError("the client has been closed")
        timeout_s = self._timeout_s if call.timeout_s is None else checked_timeout(call.timeout_s)
        headers = self._headers.copy()
        headers.update(identity)
        headers["X-Request-Id"] = request_id
        if call.content is not None:
            headers["Content-Type"] = "application/json"
        longest = None if timeout_s == math.inf else timeout_s
        timeout = {
            "connect": min(timeout_s, CONNECT_TIMEOUT_S),
            "read": longest,
            "write": longest,
            "pool": longest,
        }
        try:
            return httpx.Request(
                call.method,
                f"{self.base_url}{call.target}",
                content=call.content,
                headers=headers,
                extensions={"timeout": timeout},
            )
        except httpx.InvalidURL as error:
            raise InvalidRequest(str(error)) from error


def checked_timeout(timeout_s: object) -> float:
    """Return the seconds. Raises ValueError when they are no time to wait for."""
    if isinstance(timeout_s, int | float) and timeout_s > 0:
        return timeout_s
    raise ValueError(f"timeout_s: {timeout_s!r} must be a number of seconds above 0")
