#!/usr/bin/env python3
"""Races on a running service: 32 clients write at the same moment, again and again, and nothing may be doubled or lost.

Three kinds of race take turns: different texts under one key (one active note, a gapless history whose last version is
the note), one text without a key (one note), and one text without a key in two tenants (one note each). Every answer
must be 200. Give it the config file of a running service.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import itertools
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from elf.config import load

CLIENTS = 32


class Race:
    """One round: a fresh tenant, what the writers were told, and what is there afterwards."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.tenant = f"race-{uuid.uuid4()}"

    def body(self, text: str, key: str | None, tenant: str) -> dict[str, Any]:
        place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "scope": "project_shared"}
        return place | {
            "notes": [{"type": "fact", "key": key, "text": text, "importance": 0.5, "confidence": 0.9}]
        }

    async def write_at_once(self, bodies: Sequence[dict[str, Any]]) -> collections.Counter[str]:
        """Send all bodies at the same moment and count the ops that come back."""
        responses = await asyncio.gather(
            *(self._client.post("/v1/memory/add_note", json=body) for body in bodies)
        )
        for response in responses:
            assert response.status_code == 200, f"{response.status_code}: {response.text}"
        return collections.Counter(response.json()["results"][0]["op"] for response in responses)

    async def notes(self, tenant: str) -> list[dict[str, Any]]:
        response = await self._client.get("/v1/memory/list", params={"tenant_id": tenant, "project_id": "p"})
        items: list[dict[str, Any]] = response.json()["items"]
        return items

    async def versions(self, note_id: str) -> list[dict[str, Any]]:
        """All versions of a note, oldest first."""
        response = await self._client.get(f"/v1/memory/notes/{note_id}/history", params={"limit": 200})
        items: list[dict[str, Any]] = response.json()["items"]
        return items[::-1]

    async def one_key(self) -> collections.Counter[str]:
        texts = [f"The speed limit is {10 * number} here." for number in range(CLIENTS)]
        ops = await self.write_at_once([self.body(text, "limit", self.tenant) for text in texts])
        (note,) = await self.notes(self.tenant)
        versions = await self.versions(note["note_id"])
        assert ops == {"ADD": 1, "UPDATE": CLIENTS - 1}, ops
        assert len(versions) == CLIENTS
        assert sorted(version["new_snapshot"]["text"] for version in versions) == sorted(texts)
        for earlier, later in itertools.pairwise(versions):
            assert later["prev_snapshot"] == earlier["new_snapshot"], "an update was lost"
        assert versions[-1]["new_snapshot"]["text"] == note["text"]
        return ops

    async def one_text(self) -> collections.Counter[str]:
        body = self.body("Everybody noticed the same thing at once.", None, self.tenant)
        ops = await self.write_at_once([body] * CLIENTS)
        assert ops == {"ADD": 1, "NONE": CLIENTS - 1}, ops
        assert len(await self.notes(self.tenant)) == 1
        return ops

    async def two_tenants(self) -> collections.Counter[str]:
        other = f"{self.tenant}-other"
        bodies = [
            self.body("Two houses tell the same story.", None, tenant) for tenant in (self.tenant, other)
        ]
        ops = await self.write_at_once(bodies * (CLIENTS // 2))
        assert ops == {"ADD": 2, "NONE": CLIENTS - 2}, ops
        for tenant in (self.tenant, other):
            (note,) = await self.notes(tenant)
            assert note["tenant_id"] == tenant
        return ops


async def run(url: str, repeat: int) -> None:
    total: collections.Counter[str] = collections.Counter()
    limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    async with httpx.AsyncClient(base_url=url, timeout=60.0, limits=limits) as client:
        for _ in range(repeat):
            for kind in (Race.one_key, Race.one_text, Race.two_tenants):
                total += await kind(Race(client))
    print(f"{repeat} rounds of 3 races with {CLIENTS} clients: {dict(total)}; nothing doubled, nothing lost")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-c", "--config", type=Path, required=True)
    parser.add_argument("--repeat", type=int, default=200, help="rounds (default 200)")
    options = parser.parse_args()
    asyncio.run(run(f"http://{load(options.config).service.http_address}", options.repeat))


if __name__ == "__main__":
    main()
