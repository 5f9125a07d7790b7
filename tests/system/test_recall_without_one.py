"""A family that hangs costs an answer its share of the time and itself: the others answer, and it is named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from elf.client import Client
from elf.db.cluster import Cluster
from tests.system.service import RunningService

AGENT = "supervisor"
QUERY = "what does the user drink?"
LOCK = "LOCK TABLE assistant_memories IN ACCESS EXCLUSIVE MODE"


@contextmanager
def assistant_hangs(service: RunningService) -> Iterator[None]:
    """Have whoever reads memories of the assistant wait."""
    cluster = Cluster(service.config.parent / ".elf" / "postgres")
    pid_file = cluster.read_pid_file()
    assert pid_file is not None
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(cluster.dsn(pid_file)))
        try:
            runner.run(connection.execute("BEGIN"))
            runner.run(connection.execute(LOCK))
            yield
        finally:
            runner.run(connection.close())


def test_the_others_answer_and_the_one_that_hangs_is_named(service: RunningService, tenant: str) -> None:
    with Client(service.url, tenant_id=tenant) as client:
        client.knowledge.store_fact("User", "drinks", "green tea in the morning")
        client.assistant.add("User drinks coffee at night.", "preferences", user_id="ana")
        with assistant_hangs(service):
            answer = client.memories.recall(QUERY, user_id="ana", agent_id=AGENT)
            context = client.memories.context(QUERY, user_id="ana", agent_id=AGENT)
        trace = client.memories.explain(answer.trace_id, user_id="ana", agent_id=AGENT)
        assert [one.family for one in answer.items] == ["knowledge"]
        assert answer.degraded == context.degraded == trace.degraded == ["assistant"]
        assert "green tea" in context.text
        back = client.memories.recall(QUERY, user_id="ana", agent_id=AGENT)
    assert (back.degraded, {one.family for one in back.items}) == ([], {"knowledge", "assistant"})
