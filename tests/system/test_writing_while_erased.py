"""Who writes for a user, an agent or a tenant that is being erased is told so; what was accepted before is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final
from uuid import uuid4

import asyncpg
import grpc
import httpx
import pytest

from elf.client import Client
from elf.core.errors import ServiceError
from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.folders import fresh_folder
from tests.system import planting
from tests.system.planting import TENANT, Planted
from tests.system.service import RunningService, wait_for, write_config

CONFLICT: Final = "CONFLICT"
ERASING: Final = "ERASING"
Write = Callable[[Client, Planted], Any]

WRITES: Final[dict[str, Write]] = {
    "a note": lambda client, _: client.add_note(
        "Fact: it is late.", key=planting.named("k"), scope="project_shared"
    ),
    "an event": lambda client, _: client.add_event(
        [{"role": "user", "content": "I moved to Bern."}], scope="project_shared"
    ),
    "a memory of an assistant": lambda client, who: client.assistant.add(
        "User wants tea.", "goals", user_id=who.user
    ),
    "a file": lambda client, who: client.assistant.create_file("/memories/a.md", "text", user_id=who.user),
    "a checkpoint": lambda client, who: client.assistant.save_thread_checkpoint(
        "t", {"a": 1}, user_id=who.user
    ),
    "an episode": lambda client, who: client.knowledge.store_episode(
        "We met.", who.agent, metadata={"user_id": who.user}
    ),
    "a fact": lambda client, who: client.knowledge.store_fact("tea", "is", "hot", scope=f"user:{who.user}"),
    "a rule": lambda client, who: client.knowledge.store_rule("Drink tea.", scope=f"user:{who.user}"),
    "a value": lambda client, who: client.store.put(["places"], "tea", {"says": "far"}, user_id=who.user),
    "a transcript": lambda client, who: client.graph.write_transcript(
        planting.named("m"), who.conversation, "They went."
    ),
    "what was said": lambda client, who: client.memories.remember(
        [{"content": "I moved."}], user_id=who.user, agent_id=who.agent
    ),
}
OF_CONVERSATIONS: Final[dict[str, Write]] = {
    "a conversation": lambda client, _: client.conversations.create(title="A trip"),
    "an entry": lambda client, who: client.conversations.append(
        who.conversation, [{"role": "USER", "text": "Hi."}]
    ),
    "a session": lambda client, _: client.conversations.write_session(
        "chat", [{"content": [{"role": "USER", "text": "Hi."}]}]
    ),
}


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[RunningService]:
    with (
        fresh_folder() as folder,
        RunningService(write_config(folder, cache_dir=f'"{model_folder}"')) as service,
    ):
        yield service
        assert service.complaints() == []


@contextmanager
def being_erased(service: RunningService, kind: str, name: str) -> Iterator[None]:
    """Hold the lock of an owner as whoever erases it does."""
    begun, ended = Event(), Event()

    async def hold() -> None:
        connection = await asyncpg.connect(planting.dsn_of(service))
        try:
            await connection.execute("SELECT pg_advisory_lock(owner_lock($1, $2, $3))", TENANT, kind, name)
            begun.set()
            await asyncio.to_thread(ended.wait)
        finally:
            begun.set()
            await connection.close()

    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(hold())
        except BaseException as error:  # noqa: BLE001 - it fails the test, in its own thread
            failures.append(error)

    thread = Thread(target=run)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert failures == []


def code_of(write: Write, client: Client, who: Planted) -> str | None:
    """Return the code with which a write is rejected; None for one that is accepted."""
    try:
        write(client, who)
    except ServiceError as error:
        return error.error_code
    return None


@contextmanager
def clients_of(service: RunningService, who: Planted) -> Iterator[tuple[Client, Client]]:
    """Calls of a user by an agent: with the context of families, and as the conversations know them."""
    with (
        Client(service.url, tenant_id=TENANT, project_id=who.user, agent_id=who.agent, token=who.user) as client,
        Client(service.url, token=who.user, headers={"X-Client-ID": who.agent}) as talker,
    ):  # fmt: skip
        yield client, talker


@pytest.mark.parametrize("kind", ["user", "agent", "tenant"])
def test_each_write_is_rejected_while_its_owner_is_erased_and_accepted_afterward(
    service: RunningService, kind: str
) -> None:
    agent = planting.named("a")
    who, other = planting.plant(service, agent=agent), planting.plant(service)
    name = {"user": who.user, "agent": agent, "tenant": TENANT}[kind]
    # What is of a user alone, an agent does not own.
    not_of_agents = {
        "a memory of an assistant", "a file", "a checkpoint", "a value", "a fact", "a rule", "a conversation",
    }  # fmt: skip
    expected = {
        what: None if kind == "agent" and what in not_of_agents else ERASING if what in WRITES else CONFLICT
        for what in (*WRITES, *OF_CONVERSATIONS)
    }
    with clients_of(service, who) as (client, talker):
        with being_erased(service, kind, name):
            codes = {what: code_of(write, client, who) for what, write in WRITES.items()}
            codes |= {what: code_of(write, talker, who) for what, write in OF_CONVERSATIONS.items()}
            assert codes == expected
            if kind != "tenant":
                with clients_of(service, other) as (free, free_talker):
                    assert {code_of(write, free, other) for write in WRITES.values()} == {None}
                    assert {code_of(write, free_talker, other) for write in OF_CONVERSATIONS.values()} == {
                        None
                    }
            # What is read is answered: its trace is left out.
            client.memories.recall(f"who went to {who.word}?", user_id=who.user, agent_id=agent)
        assert {code_of(write, client, who) for what, write in WRITES.items() if what != "a file"} == {None}
        assert {code_of(write, talker, who) for write in OF_CONVERSATIONS.values()} == {None}


def test_the_conversations_and_grpc_have_errors_of_their_own(service: RunningService) -> None:
    who = planting.plant(service)
    with being_erased(service, "user", who.user), grpc.insecure_channel(service.grpc_address) as channel:
        answer = httpx.post(
            f"{service.url}/v1/conversations", json={}, headers={"Authorization": f"Bearer {who.user}"}
        )
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
        assert "erased" in answer.json()["details"]["message"]
        create = channel.unary_unary(
            "/memory.v1.ConversationsService/CreateConversation",
            request_serializer=pb.CreateConversationRequest.SerializeToString,
            response_deserializer=pb.Conversation.FromString,
        )
        with pytest.raises(grpc.RpcError) as refused:
            create(
                pb.CreateConversationRequest(), metadata=[("authorization", f"Bearer {who.user}")], timeout=30
            )
        assert refused.value.code() is grpc.StatusCode.ABORTED  # type: ignore[attr-defined]


def test_an_import_is_rejected_while_its_owner_is_erased(service: RunningService) -> None:
    who = planting.plant(service)
    with Client(service.admin_url, tenant_id=TENANT, timeout_s=300) as admin:
        lines = planting.exported(admin, user_id=who.user)
        admin.memories.erase(user_id=who.user)
        of_families = {
            line["family"]: [one for one in lines if one["family"] == line["family"]] for line in lines
        }
        with being_erased(service, "user", who.user):
            codes = {
                family: code_of(lambda client, _, lines=some: client.memories.take_in(lines), admin, who)  # type: ignore[misc]
                for family, some in of_families.items()
            }
        assert codes == dict.fromkeys(of_families, ERASING)
        assert planting.in_tables(planting.dsn_of(service), who.needles) == {}
        counts = {
            family: admin.memories.take_in(some).new - len(some) for family, some in of_families.items()
        }
        # That there was something stays in the events of memories, without whose it was.
        events = sum(line["item"]["kind"] == "event" for line in of_families["knowledge"])
        assert counts == {**dict.fromkeys(of_families, 0), "knowledge": -events}


def test_two_writers_of_a_user_leave_nothing_behind_that_was_accepted_before(service: RunningService) -> None:
    who = planting.plant(service)
    accepted: list[str] = []
    rejected: list[str] = []
    go_on = Event()

    def write() -> None:
        """Have things remembered until that is rejected."""
        with clients_of(service, who) as (client, _):
            while not go_on.is_set():
                word = planting.named("w")
                try:
                    client.memories.remember(
                        [{"content": f"I moved to {word} in May."}], user_id=who.user, agent_id=who.agent,
                        conversation=str(uuid4()),
                    )  # fmt: skip
                    client.knowledge.store_episode(
                        f"We met at {word}.", who.agent, metadata={"user_id": who.user}
                    )
                except ServiceError as error:
                    rejected.append(error.error_code)
                    return
                accepted.append(word)

    threads = [Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: len(accepted) > 10, "both write")
        with Client(service.admin_url, tenant_id=TENANT, timeout_s=300) as admin:
            receipt = admin.memories.erase(user_id=who.user)
            assert rejected == [ERASING, ERASING]
            words = [*accepted, *who.needles]
            assert planting.in_tables(planting.dsn_of(service), words) == {}
            assert planting.in_graphs(service.config.parent / ".elf" / "graph", words) == []
            proof = admin.memories.prove(receipt, user_id=who.user, texts=accepted[:20])
            assert (proof.proven, proof.found) == (True, [])
    finally:
        go_on.set()
        for thread in threads:
            thread.join()
