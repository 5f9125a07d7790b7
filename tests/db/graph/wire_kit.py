"""Recalls, contexts and write-backs over HTTP, as the orchestrator planner asks for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
from werkzeug.datastructures import Headers

from elf.api.caller import Caller
from elf.db.database import Database
from tests.db.graph.house import House, house_at

TENANT = "acme"
PLANNER = {"tenant_id": TENANT, "orchestrator_id": "planner"}
WORDS_ONLY = "[graph.retrieval]\ntop_k_vector = 0\n"


@dataclass
class Wire:
    """A house, and what tests ask it."""

    house: House

    async def post(self, path: str, body: Mapping[str, Any], **headers: str) -> httpx.Response:
        """Send a request; `x_agent="a"` makes it one with a key of that agent."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.house.client.post(f"/v1/graph/{path}", json=dict(body), headers=named)

    async def told(self, path: str, **fields: Any) -> dict[str, Any]:
        """Return what is answered to a request of the planner, which is to succeed."""
        response = await self.post(path, {**PLANNER, **fields})
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def say(self, message_id: str, text: str, conversation_id: str = "c1") -> dict[str, Any]:
        """Write a message of a channel back."""
        return await self.told(
            "writeback/transcript", message_id=message_id, conversation_id=conversation_id, text=text
        )

    async def selector(self, message_id: str, message: str = "office") -> dict[str, Any]:
        """Return the context of a message."""
        return await self.told("context", purpose="selector", message_id=message_id, message=message)

    def logged(self) -> list[dict[str, Any]]:
        """Return the lines of the log of the planner."""
        path = self.house.memory() / "logs" / "memory.log"
        return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


async def by_headers(headers: Headers) -> Caller:
    """Take everybody for who they say they are."""
    agent = headers.get("x-agent")
    return Caller(client=headers.get("x-client"), bound={} if agent is None else {"agent_id": agent})


@asynccontextmanager
async def wired(database: Database, folder: Path, table: str = WORDS_ONLY) -> AsyncIterator[Wire]:
    """Serve the family, which goes by words alone unless the table says otherwise."""
    async with house_at(database, folder, table, identify=by_headers) as house:
        yield Wire(house)
