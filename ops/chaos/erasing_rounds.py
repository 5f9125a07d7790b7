"""Rounds in which a user, an agent or the tenant is erased while all of them are at work; see ops.chaos.erasure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

import grpc

from elf.client import Client
from elf.core.errors import ServiceError
from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.system import planting
from tests.system.planting import TENANT, Planted
from tests.system.service import RunningService, wait_for
from tests.system.webhook_receiver import add_webhook, running_receiver

Kind: TypeAlias = Literal["user", "agent", "tenant"]
Tell: TypeAlias = Callable[..., None]
KINDS: Final[Sequence[Kind]] = ("user", "agent", "user", "user", "tenant")
OTHER_TENANT: Final = "acme"
REJECTED: Final = frozenset({"ERASING", "CONFLICT"})
AT_WORK: Final = 12
"""How much the writers of a user have to have written before the erasure."""
RECORD: Final = "/memory.v1.ResponseRecorderService/Record"


class Writers:
    """Threads that write for one user in every family, each until it is rejected; what was accepted is known."""

    def __init__(self, service: RunningService, who: Planted) -> None:
        self.accepted: list[str] = []
        self.rejected: Counter[str] = Counter()
        self.failures: list[BaseException] = []
        self._service = service
        self._who = who
        self._stop = Event()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Have them work for the block, which ends when they have."""
        ways = (self._remember, self._keep, self._talk, self._record)
        threads = [Thread(target=self._work, args=(way,)) for way in ways]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def _work(self, write: Callable[[str], None]) -> None:
        while not self._stop.is_set():
            word = planting.named("w")
            try:
                write(word)
            except ServiceError as error:
                if error.error_code not in REJECTED:
                    self.failures.append(error)
                self.rejected[error.error_code] += 1
                return
            except grpc.RpcError as error:
                self.rejected[error.code().name] += 1  # type: ignore[attr-defined]
                return
            except BaseException as error:  # noqa: BLE001 - it fails the round
                self.failures.append(error)
                return
            self.accepted.append(word)

    def _client(self) -> Client:
        who = self._who
        return Client(
            self._service.url, tenant_id=TENANT, project_id=who.user, agent_id=who.agent, token=who.user,
            headers={"X-Client-ID": who.agent},
        )  # fmt: skip

    def _remember(self, word: str) -> None:
        with self._client() as client:
            whose = {"user_id": self._who.user, "agent_id": self._who.agent}
            client.memories.remember([{"content": f"I moved to {word} in May."}], **whose)
            client.memories.recall(f"who moved to {word}?", **whose)

    def _keep(self, word: str) -> None:
        with self._client() as client:
            client.knowledge.store_episode(
                f"We met at {word}.", self._who.agent, metadata={"user_id": self._who.user}
            )
            client.add_note(f"Fact: {word} is deep.", key=planting.named("k"), scope="project_shared")
            client.store.put(["places"], word, {"says": word}, user_id=self._who.user)
            client.graph.write_transcript(planting.named("m"), self._who.conversation, f"They saw {word}.")

    def _talk(self, word: str) -> None:
        with self._client() as client:
            begun = client.conversations.create(title=f"A trip to {word}")
            client.conversations.append(begun.id, [{"role": "USER", "text": f"I was at {word}."}])
            client.graph.write_transcript(planting.named("m"), str(begun.id), f"They went to {word}.")

    def _record(self, word: str) -> None:
        with grpc.insecure_channel(self._service.grpc_address) as channel:
            record = channel.stream_unary(
                RECORD,
                request_serializer=pb.RecordRequest.SerializeToString,
                response_deserializer=pb.RecordResponse.FromString,
            )
            told = [
                pb.RecordRequest(conversation_id=UUID(self._who.conversation).bytes, content=f"At {word}. "),
                pb.RecordRequest(content=f"Still at {word}.", complete=True),
            ]
            metadata = [("authorization", f"Bearer {self._who.user}"), ("x-client-id", self._who.agent)]
            record(iter(told), metadata=metadata, timeout=60)


@contextmanager
def others(service: RunningService) -> Iterator[list[BaseException]]:
    """Have others plant all that there is for the block; whoever erases their tenant or agent rejects that."""
    stop, failures = Event(), list[BaseException]()

    def write() -> None:
        while not stop.is_set():
            try:
                planting.plant(service)
            except ServiceError as error:
                if error.error_code not in REJECTED | {
                    "NOT_FOUND"
                }:  # what was begun before went with the tenant
                    failures.append(error)
            except BaseException as error:  # noqa: BLE001 - it fails the round
                failures.append(error)

    thread = Thread(target=write)
    thread.start()
    try:
        yield failures
    finally:
        stop.set()
        thread.join()


def run(service: RunningService, kinds: Sequence[Kind], tell: Tell) -> None:
    """Go through a round for each kind, and tell what came of it."""
    with Client(service.admin_url, tenant_id=TENANT, timeout_s=300) as admin:
        for number, kind in enumerate(kinds, 1):
            _round(service, admin, number, kind, tell)


def _round(service: RunningService, admin: Client, number: int, kind: Kind, tell: Tell) -> None:
    graphs = service.config.parent / ".elf" / "graph"
    agent = planting.named("a")
    who = planting.plant(service, agent=agent)
    _drop(graphs / TENANT / agent / "memory" / "ingest", who)
    kept, kept_texts = _kept(service, admin, kind)
    whose: dict[str, Any] = {
        "user": {"user_id": who.user},
        "agent": {"agent_id": agent},
        "tenant": {"everything": True},
    }[kind]
    writers = Writers(service, who)
    with others(service) as failures, writers.working():
        wait_for(lambda: len(writers.accepted) >= AT_WORK or writers.failures, "the writers are at work")
        receipt = admin.memories.erase(**whose)
    wrong: dict[str, Any] = {}
    if failures or writers.failures:
        wrong["failed"] = [repr(one) for one in (*failures, *writers.failures)]
    # Of an agent, what its user said elsewhere stays the user's.
    needles = [agent] if kind == "agent" else [*who.needles, *writers.accepted]
    proof = admin.memories.prove(receipt, **whose, texts=[] if kind == "agent" else needles[1:21])
    if kind != "tenant" and not proof.proven:  # others go on writing in a tenant that was erased
        wrong["not proven"] = [(one.place, one.count) for one in proof.found]
    there = _texts(admin if kind != "tenant" else kept[1], kept[0])
    left = {
        "tables": planting.in_tables(planting.dsn_of(service), needles),
        "graphs": planting.in_graphs(graphs, needles),
        "names": [path.name for path in graphs.rglob("*") if any(one in path.name for one in needles)],
        "of the other is new": there - kept_texts,
        "of the other is gone": kept_texts - there,
    }
    wrong |= {what: found for what, found in left.items() if found}
    if kind == "tenant":
        wrong |= _verified(admin)
        kept[1].close()
    pieces = sum(sum(counts.values()) for counts in receipt.erased.values())
    told = f"{pieces} pieces, {len(writers.accepted)} accepted before, {dict(writers.rejected)} rejected"
    tell(f"round {number}: {kind}", wrong or told, is_right=not wrong)


def _verified(admin: Client) -> dict[str, Any]:
    """Erase the tenant once more, now that nobody writes, and return what is wrong with that."""
    proof = admin.memories.prove(admin.memories.erase(everything=True), everything=True)
    found = [(one.place, one.count) for one in proof.found]
    return {} if proof.proven else {"not proven": found}


def _drop(folder: Path, who: Planted) -> None:
    """Drop files that the graph takes in: one with nobody's words but the agent's."""
    (folder / "notes.md").write_text(f"Fact: {who.agent} takes care of the ledger.\n", encoding="utf-8")


def _kept(service: RunningService, admin: Client, kind: Kind) -> tuple[tuple[Planted, Client], Counter[str]]:
    """Plant what has to stay: of another user, or where the tenant goes, in another tenant."""
    if kind != "tenant":
        planted = planting.plant(service)
        return (planted, admin), _texts(admin, planted)
    planted = Planted(
        user=planting.named("u"), word=planting.named("w"), agent=planting.AGENT, conversation=""
    )
    with Client(
        service.url, tenant_id=OTHER_TENANT, project_id=planted.user, agent_id=planted.agent
    ) as client:
        client.add_note(f"Fact: {planted.word} is deep.", key=planting.named("k"), scope="project_shared")
        client.knowledge.store_episode(
            f"We met at {planted.word}.", planted.agent, metadata={"user_id": planted.user}
        )
        client.store.put(["places"], planted.word, {"says": planted.word}, user_id=planted.user)
    there = Client(service.admin_url, tenant_id=OTHER_TENANT, timeout_s=300)
    return (planted, there), _texts(there, planted)


def _texts(admin: Client, who: Planted) -> Counter[str]:
    """Count, by family, the lines of an export with a user's word: jobs change what else these say."""
    lines = planting.exported(admin, user_id=who.user)
    return Counter(line["family"] for line in lines if who.word in json.dumps(line))


@contextmanager
def webhooks(config: Path) -> Iterator[None]:
    """Have a receiver that is told of everything, for the block in which the service runs."""
    with running_receiver() as receiver:
        add_webhook(config, "all", receiver)
        yield
