"""A memory of one user, of which each family has its share, and whose token vectors are all kept."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from elf.client import Client
from elf.client.families.graph import NewMemory, NewSource
from elf.client.families.knowledge import NewFact
from elf.config import Config
from elf.config.tables.graph import GraphTable
from elf.core.clock import SystemClock
from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.families.knowledge.rules.searchable_text import fact_sentence
from elf.memory.kept_tokens import KeptTokens
from elf.memory.model import FAMILY
from elf.providers.port import LateInteraction
from ops.bench.graph_file import BareFile
from ops.bench.search import ACTS, CIRCUMSTANCES, PEOPLE, THINGS, note_text, store
from tests.system.service import wait_for

TENANT: Final = "default"  # to which conversations belong where nobody is asked who calls
USER: Final = "ana"
AGENT: Final = "supervisor"
PROJECT: Final = "project-0"
FAMILIES: Final = 5
A_REQUEST: Final = 100
A_CALL: Final = 32
"""How many texts the model makes token vectors of at once."""


def texts(family: int, count: int) -> list[str]:
    """Return texts of a family; none is there twice."""
    rng = random.Random(family)
    return [note_text(rng, family * 100_000 + number) for number in range(count)]


def facts(count: int) -> list[NewFact]:
    """Return facts of as many predicates."""
    rng = random.Random(FAMILIES)
    return [
        NewFact(
            subject=rng.choice(PEOPLE),
            predicate=f"{rng.choice(ACTS)} {number}",
            content=f"{rng.choice(THINGS)} {rng.choice(CIRCUMSTANCES)}",
            scope=f"user:{USER}",
        )
        for number in range(count)
    ]


def seed(url: str, config: Config, count: int) -> list[str]:
    """Have each family keep so many things; return the texts of which no family keeps token vectors."""
    told = [f"User {text[0].lower()}{text[1:]}" for text in texts(3, count)]
    known, stated = facts(count), texts(2, count)
    store(url, TENANT, count, 1)
    with Client(url, tenant_id=TENANT, token=USER, agent_id=AGENT) as client:
        conversation = client.conversations.create(title="A conversation").id
        for text in texts(1, count):
            client.conversations.append(conversation, [{"role": "USER", "text": text}])
        source = NewSource(conversation_id=str(conversation))
        for at in range(0, count, A_REQUEST):
            memories = [
                NewMemory(content=one, type="Fact", source=source) for one in stated[at : at + A_REQUEST]
            ]
            client.graph.remember_all(memories)
            client.knowledge.store_facts(known[at : at + A_REQUEST])
        for text in told:
            client.assistant.add(text, "tasks", user_id=USER, agent_id=AGENT)
    with BareFile(Path(config.of(GraphTable).root), TENANT, AGENT) as file:
        wait_for(lambda: not file.vectors_to_make, "the graph has its vectors", timeout_s=300.0)
    return [*told, *stated, *(fact_sentence(one.subject, one.predicate, one.content) for one in known)]


async def keep_tokens(database: Database, late: LateInteraction, lacking: Sequence[str]) -> KeptTokens:
    """Keep the token vectors of texts, as answers have them made behind their backs."""
    queries = Queries.load(sql_folder() / FAMILY)
    kept = KeptTokens(database, queries, SystemClock(), version=late.version)
    for at in range(0, len(lacking), A_CALL):
        page = lacking[at : at + A_CALL]
        await kept.keep(TENANT, dict(zip(page, await late.encode(page), strict=True)))
    return kept
