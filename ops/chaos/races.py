#!/usr/bin/env python3
"""Races: 32 clients write at the same moment, again and again, and nothing may be doubled or lost.

    python -m ops.chaos.races -c CONFIG [--repeat 200]
    python -m ops.chaos.races --family knowledge|conversations [--repeat 200] [--seed 1]

Of notes, on the running service of a config file, three kinds of race take turns: different texts under one key (one
active note, a gapless history whose last version is the note), one text without a key (one note), and one text without
a key in two tenants (one note each). Every answer must be 200.

Of knowledge, on a database of its own with the services of two processes: one fact key, marks of one rule, a merge
against facts of what is merged, two opposite merges, the sweep against confirmations, and two workers in one shard.
What each has to leave is told in tests/chaos/knowledge_races.py.

Of conversations, in the same way with 16 writers: syncs of one memory, first appends of one id, sharing against
removing, accepting a transfer against cancelling it, writes and forks against deletion, and three evictions at once;
they are told in tests/chaos/conversation_races.py. Exits with 1 at any fault.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import itertools
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import httpx

from actors.families import steps_on
from elf.config import load
from elf.db import migration
from elf.db.database import Database
from elf.db.embedded import EmbeddedServer
from tests.chaos.conversation_races import ConversationRaces
from tests.chaos.knowledge_races import KnowledgeRaces
from tests.folders import fresh_folder
from tests.notes_kit import DIM

CLIENTS = 32
FamilyRaces: TypeAlias = KnowledgeRaces | ConversationRaces
FAMILIES: Final[Mapping[str, Callable[..., FamilyRaces]]] = {
    "knowledge": partial(KnowledgeRaces, writers=CLIENTS),
    "conversations": ConversationRaces,
}


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


async def of_family(races_of: Callable[..., FamilyRaces], repeat: int, seed: int) -> int:
    """Run the races of a family and print what came of them; returns the exit code."""
    began = time.monotonic()
    with fresh_folder() as folder:
        server = EmbeddedServer(folder / "postgres")
        dsn = await server.start()
        databases = [Database(max_conns=20) for _ in range(2)]
        try:
            await migration.apply(dsn, steps_on(), vector_dim=DIM)
            for database in databases:
                await database.open(dsn)
            races = races_of(databases, seed=seed)
            faults = await races.run(repeat)
        finally:
            for database in databases:
                await database.close()
            await server.leave()
    print(
        f"seed {seed}: {repeat} rounds, {races.writers} writers, {time.monotonic() - began:.0f} s, {len(faults)} faults"
    )
    for what, count in sorted(races.counts.items()):
        print(f"  {count:6} {what}")
    print(*faults[:20], sep="\n")
    return 1 if faults else 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-c", "--config", type=Path)
    parser.add_argument("--family", choices=("notes", *FAMILIES), default="notes")
    parser.add_argument("--repeat", type=int, default=200, help="rounds (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.family in FAMILIES:
        sys.exit(asyncio.run(of_family(FAMILIES[options.family], options.repeat, options.seed)))
    if options.config is None:
        parser.error("races of notes need the config file of a running service")
    asyncio.run(run(f"http://{load(options.config).service.http_address}", options.repeat))


if __name__ == "__main__":
    main()
