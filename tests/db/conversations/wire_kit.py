"""The wire of conversations as its clients see it: the application that serves it, and who asks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import httpx
from werkzeug.datastructures import Headers

from elf.api.caller import Caller
from elf.api.operation import Handler
from elf.families.conversations.api.operations import OPERATIONS, PATHS
from elf.identity.roles import roles_of
from elf.web.app import create_app
from elf.web.application import Application
from elf.web.readiness import Readiness

ROOT = "/v1/conversations"
NUMBERS = count()


async def identify(headers: Headers) -> Caller:
    user, client = headers.get("X-User"), headers.get("X-Client")
    return Caller(
        user=user,
        client=client,
        roles=roles_of({}, user=user, client=client, given=headers.get("X-Role", "user")),
        bound={"tenant_id": headers.get("X-Tenant", "")},
    )


class Wire:
    """Asks as ana, in a tenant of its own, unless it is said otherwise."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.tenant = f"wire-{next(NUMBERS)}-{uuid4()}"

    async def __call__(
        self,
        call: str,
        body: Any = None,
        *,
        user: str | None = "ana",
        client: str | None = None,
        tenant: str | None = None,
        role: str | None = None,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> httpx.Response:
        method, path = call.split(" ")
        said = {"X-User": user, "X-Tenant": tenant or self.tenant, "X-Client": client, "X-Role": role}
        headers = {name: value for name, value in {**said, **more}.items() if value is not None}
        return await self._client.request(method, path, json=body, headers=headers)

    async def new(self, **body: Any) -> str:
        answer = await self(f"POST {ROOT}", body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def say(self, id: str, text: str, **more: Any) -> str:
        answer = await self(
            f"POST {ROOT}/{id}/entries", {"contentType": "history", "content": [{"text": text}]}, **more
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def sync(self, id: str, *items: Any, client: str = "bot") -> Any:
        body = {"channel": "memory", "contentType": "LC4J", "content": list(items)}
        answer = await self(f"POST {ROOT}/{id}/entries/sync", body, client=client)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def entries(self, id: str, query: str = "", **more: Any) -> list[Any]:
        answer = await self(f"GET {ROOT}/{id}/entries{query}", **more)
        assert answer.status_code == 200, answer.text
        assert answer.json()["nextCursor"] is None
        found: list[Any] = answer.json()["data"]
        return found


def app_of(handlers: Mapping[str, Handler]) -> Application:
    return create_app(
        OPERATIONS,
        handlers,
        readiness=lambda: Readiness(ready=True, parts=[]),
        identify=identify,
        policies=PATHS,
    )


@asynccontextmanager
async def asking(handlers: Mapping[str, Handler]) -> AsyncIterator[Wire]:
    transport = httpx.ASGITransport(app=app_of(handlers))
    async with httpx.AsyncClient(transport=transport, base_url="http://elf") as client:
        yield Wire(client)
