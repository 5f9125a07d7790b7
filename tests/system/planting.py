"""A user with something in every family, and looking for it everywhere: in columns, files, and bytes."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final
from uuid import uuid4

import apsw
import asyncpg

from elf.client import Client
from tests.system.service import RunningService, wait_for

TENANT: Final = "default"  # the one that conversations have where nobody proves who it is
AGENT: Final = "planner"
KINDS: Final = ("notes", "assistant", "knowledge", "conversations", "graph", "store", "memories")


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A user, whose name stands nowhere else, and a `word` in all of their texts; `counts` is what was written."""

    user: str
    word: str
    agent: str
    conversation: str
    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def needles(self) -> Sequence[str]:
        return self.user, self.word


def named(kind: str) -> str:
    """Return a name that nobody else has, of letters alone, as words of texts are."""
    return f"{kind}{''.join(chr(ord('a') + int(digit, 16)) for digit in uuid4().hex)}"


def plant(service: RunningService, *, rounds: int = 1, agent: str = AGENT) -> Planted:
    """Have a new user say and keep things in every family, by an agent, and ask for them."""
    user, word = named("u"), named("w")
    with Client(service.url, tenant_id=TENANT, project_id=user, agent_id=agent, token=user) as client:
        begun = client.conversations.create(title=f"A trip with {word}")
        for number in range(rounds):
            _plant(client, user, agent, f"{word} number {number}", str(begun.id))
        added = _ask(client, user, agent, word)
    with Client(service.url, token=user, headers={"X-Client-ID": agent}) as client:
        said = {"content": [{"role": "USER", "text": f"I sail to {word}."}], "key": f"key of {word}"}
        client.conversations.write_session(f"chat of {user}", [said], data={"about": word})
    counts = {
        "notes": {"notes": rounds + added["notes"]},
        "assistant": {"memories": rounds + added["assistant"], "files": rounds, "file_versions": rounds},
        "knowledge": {"episodes": rounds, "facts": rounds},
        "conversations": {
            "entries": rounds + 1 + added["conversations"],
            "conversations": 3,
            "trees": 3,
            "sessions": 1,
        },
        "graph": {"memories": rounds},
        "store": {"items": rounds, "vectors": rounds},
        "memories": {"memory_said": 1, "memory_traces": 3, "forget_handles": 1},
    }
    return Planted(user=user, word=word, agent=agent, conversation=str(begun.id), counts=counts)


def _plant(client: Client, user: str, agent: str, words: str, conversation: str) -> None:
    client.add_note(f"Fact: the harbour of {words} is deep.", key=named("k"), scope="project_shared")
    client.assistant.add(f"User wants to see {words}.", "goals", user_id=user)
    path = f"/memories/{words}.md"
    client.assistant.create_file(path, f"{user} likes {words}.\n", user_id=user)
    client.assistant.replace_in_file(path, "likes", "loves", user_id=user)
    client.knowledge.store_episode(f"We met at {words}.", agent, metadata={"user_id": user})
    client.knowledge.store_fact(named("s"), "likes", words, scope=f"user:{user}")
    client.conversations.append(conversation, [{"role": "USER", "text": f"I was at {words}."}])
    client.store.put(["places"], words, {"says": f"{words} is far away."}, user_id=user)
    client.graph.write_transcript(named("m"), conversation, f"They went to {words} by ship.")


def _ask(client: Client, user: str, agent: str, word: str) -> Counter[str]:
    """Have something remembered, and ask; returns how much that has added in each family."""
    whose = {"user_id": user, "agent_id": agent}
    told = client.memories.remember(
        [{"content": f"I moved to {word} in May."}], wait_ms=30_000, conversation=f"about {word}", **whose
    )
    for query in (f"who went to {word}?", f"what is at {word}?"):
        client.memories.recall(query, **whose)
    client.memories.forget(query=f"all of {word}", **whose)
    assert told.done, told
    return Counter(one.family for one in told.families for item in one.written if item.op == "ADD")


@contextmanager
def others_writing(service: RunningService) -> Iterator[None]:
    """Have other users write and ask in every family for the block; it has to succeed."""
    stop, failures = Event(), []

    def write() -> None:
        try:
            while not stop.is_set():
                plant(service)
        except Exception as error:  # noqa: BLE001 - it fails the test, in its own thread
            failures.append(error)

    thread = Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert failures == []


def dsn_of(service: RunningService) -> str:
    """Return where the embedded Postgres of a service is."""
    lines = next(service.config.parent.rglob("postmaster.pid")).read_text().splitlines()
    return f"postgresql://elf@/postgres?host={lines[4]}&port={lines[3]}"


def in_tables(dsn: str, needles: Sequence[str]) -> dict[str, int]:
    """Count the rows of all tables in whose text one of the needles stands, whatever the columns are."""
    return asyncio.run(_in_tables(dsn, needles))


async def _in_tables(dsn: str, needles: Sequence[str]) -> dict[str, int]:
    connection = await asyncpg.connect(dsn)
    try:
        tables = await connection.fetch(
            "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        found = {}
        for table in tables:
            texts = await connection.fetch(f"SELECT x::text AS text FROM {table['name']} AS x")
            encoded = [needle.encode().hex() for needle in needles]  # as bytea is shown
            count = sum(any(one in row["text"] for one in (*needles, *encoded)) for row in texts)
            found |= {table["name"]: count} if count else {}
        return found
    finally:
        await connection.close()


def in_graphs(folder: Path, needles: Sequence[str]) -> list[str]:
    """Return the files of graphs in which one of the needles stands: of databases, in what their tables say."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.name == "memory.db":
            said = _said_in(path)
            found += [str(path)] if any(needle in said for needle in needles) else []
        elif path.is_file() and not path.name.startswith("memory.db"):
            found += [str(path)] if holds(path, needles) else []
    return found


def _said_in(path: Path) -> str:
    """Return the text of every row of every table of a file."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return "\n".join(
            str(row) for (name,) in tables for row in connection.execute(f'SELECT * FROM "{name}"')
        )


def in_bytes(folder: Path, needles: Sequence[str]) -> list[str]:
    """Return all files below a folder in whose bytes one of the needles stands."""
    return [str(path) for path in sorted(folder.rglob("*")) if path.is_file() and holds(path, needles)]


def holds(path: Path, needles: Sequence[str]) -> bool:
    content = path.read_bytes()
    return any(needle.encode() in content for needle in needles)


def exported(admin: Client, **whose: Any) -> list[dict[str, Any]]:
    """Return the lines of an export."""
    with admin.memories.export(**whose) as lines:
        return [{"family": line.family, "item": line.item} for line in lines]


def alike(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines of an export in an order that is the same wherever they are."""
    return sorted(json.dumps(line, sort_keys=True) for line in lines)


def recalled(service: RunningService, planted: Planted, query: str) -> list[tuple[str, str, str]]:
    """Return what a recall about a user answers: the addresses of the items, best first."""
    with Client(service.url, tenant_id=TENANT, token=planted.user) as client:
        answer = client.memories.recall(query, user_id=planted.user, agent_id=planted.agent, top_k=20)
    assert answer.degraded == []
    return [(item.family, item.kind, item.id) for item in answer.items]


def settle(here: RunningService, there: RunningService, planted: Planted, queries: Sequence[str]) -> None:
    """Wait until two services answer each query alike: what they lack of vectors, they make behind answers."""
    for query in queries:
        wait_for(
            lambda query=query: recalled(here, planted, query) == recalled(there, planted, query),  # type: ignore[misc]
            "both answer alike",
        )
