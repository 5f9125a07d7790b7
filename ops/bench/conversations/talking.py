"""Users and agents of a running service, each on a connection of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from ops.bench.conversations.free_models import free_models, point
from ops.bench.write import Client
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config

ROOT: Final = "/v1/conversations"
TENANT: Final = "default"
OPERATOR: Final = "operator"
# All clients are of one tenant, and are let wait for each other.
MAX_WAIT_MS: Final = "600000"


class Talker:
    """A user, for whom an agent may speak. Ends the run on any answer that is no success."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        if self._client.is_closed:
            await self._client.open()
        answer = await self._client.send(method, path, body)
        if not 200 <= answer.status < 300:
            raise SystemExit(f"{method} {path}: {answer.status} {answer.body[:300].decode()}")
        return answer.body

    async def read(self, method: str, path: str, **body: Any) -> Any:
        """Ask, and read the answer."""
        answer = await self.ask(method, path, msgspec.json.encode(body) if body else b"")
        return msgspec.json.decode(answer) if answer else None

    async def begin(self) -> str:
        """Begin a conversation and return its id."""
        return str((await self.read("POST", ROOT, title="A conversation"))["id"])


@asynccontextmanager
async def talking(service: RunningService, user: str, agent: str | None = None) -> AsyncIterator[Talker]:
    """Connect a user, or the agent that speaks for one."""
    address = urlsplit(service.url)
    assert address.hostname is not None
    assert address.port is not None
    headers = {"Authorization": f"Bearer {user}"} | ({} if agent is None else {"X_Client_ID": agent})
    client = Client(address.hostname, address.port, **headers)
    await client.open()
    try:
        yield Talker(client)
    finally:
        await client.close()


@contextmanager
def started() -> Iterator[RunningService]:
    """Start a service of its own, with models that cost nothing, of which `OPERATOR` is an administrator."""
    with free_models() as address, fresh_folder() as folder:
        config = point(with_operator(write_config(folder, max_wait_ms=MAX_WAIT_MS)), address)
        with RunningService(config) as service:
            yield service


def with_operator(config: Path) -> Path:
    """Name the administrator in a config."""
    with config.open("a", encoding="utf-8") as file:
        file.write(f'\n[security.auth.roles.admin]\nusers = ["{OPERATOR}"]\n')
    return config
