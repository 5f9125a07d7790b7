"""What clients do that conversations had before ELF, over HTTP and gRPC, with a connection of its own for each call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import grpc
import httpx
import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Value

from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config
from tests.system.several import SeveralProcesses, split

pytestmark = pytest.mark.timeout(240)  # a bound on hanging

ROOT = "/v1/conversations"
OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]


@pytest.fixture(scope="module", params=["one process", "two processes"])
def service(request: pytest.FixtureRequest, model_folder: Path) -> Iterator[RunningService]:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        if request.param == "one process":
            with RunningService(config) as service:
                yield service
        else:
            with SeveralProcesses(split(config, "api = 2\nworker = 1")) as service:
                yield service


class Caller:
    """A user with an agent, as the service knows them without authentication."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        self.headers = {"Authorization": f"Bearer ana-{uuid4()}", "X-Client-ID": "bot"}

    def http(self, method: str, path: str, *, status: int = 200, **body: Any) -> Any:
        answer = httpx.request(
            method, self.service.url + path, json=body or None, headers=self.headers, timeout=60
        )
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None


class Http(Caller):
    def append(self, id: str, text: str, **fork: str) -> str:
        content = [{"role": "USER", "text": text}]
        body = {"channel": "history", "contentType": "history", "content": content, **fork}
        return str(self.http("POST", f"{ROOT}/{id}/entries", status=201, **body)["id"])

    def texts(self, id: str) -> list[str]:
        found = self.http("GET", f"{ROOT}/{id}/entries?channel=history&limit=200")["data"]
        return [one["content"][0]["text"] for one in found]

    def sync(self, id: str, items: list[Any]) -> tuple[int, bool]:
        body = {"channel": "memory", "contentType": "LC4J", "content": items}
        done = self.http("POST", f"{ROOT}/{id}/entries/sync", **body)
        return done["epoch"], done["noOp"]

    def memory(self, id: str, after: str | None) -> tuple[list[Any], str | None]:
        more = f"&afterCursor={after}" if after else ""
        found = self.http("GET", f"{ROOT}/{id}/entries?channel=memory&limit=200{more}")
        return [item for one in found["data"] for item in one["content"]], found["afterCursor"]

    def forks(self, id: str, after: str | None) -> tuple[list[str], str | None]:
        more = f"&afterCursor={after}" if after else ""
        found = self.http("GET", f"{ROOT}/{id}/forks?limit=2{more}")
        return [one["conversationId"] for one in found["data"]], found["afterCursor"]

    def transfers(self, after: str | None) -> tuple[list[str], str | None]:
        more = f"&afterCursor={after}" if after else ""
        found = self.http("GET", f"/v1/ownership-transfers?limit=2{more}")
        return [one["id"] for one in found["data"]], found["afterCursor"]


class Grpc(Caller):
    def rpc(self, call: str, **fields: Any) -> Any:
        service, name = call.split(".")
        method = pb.DESCRIPTOR.services_by_name[service].methods_by_name[name]
        message = GetMessageClass(method.input_type)(**fields)
        who = [(name.lower(), value) for name, value in self.headers.items()]
        with grpc.insecure_channel(self.service.grpc_address, options=OWN_CONNECTION) as channel:
            ask = channel.unary_unary(
                f"/memory.v1.{service}/{name}",
                request_serializer=type(message).SerializeToString,
                response_deserializer=GetMessageClass(method.output_type).FromString,
            )
            return ask(message, metadata=who, timeout=60)

    def append(self, id: str, text: str, **fork: str) -> str:
        names = {
            "forkedAtConversationId": "forked_at_conversation_id",
            "forkedAtEntryId": "forked_at_entry_id",
        }
        at = {names[name]: UUID(value).bytes for name, value in fork.items()}
        entry = pb.CreateEntryRequest(
            channel=pb.HISTORY, content_type="history", content=values({"role": "USER", "text": text}), **at
        )
        done = self.rpc("EntriesService.AppendEntry", conversation_id=UUID(id).bytes, entry=entry)
        return str(UUID(bytes=done.id))

    def texts(self, id: str) -> list[str]:
        page = pb.PageRequest(page_size=200)
        found = self.rpc("EntriesService.ListEntries", conversation_id=UUID(id).bytes, page=page)
        return [MessageToDict(one.content[0])["text"] for one in found.entries]

    def sync(self, id: str, items: list[Any]) -> tuple[int, bool]:
        entry = pb.CreateEntryRequest(channel=pb.MEMORY, content_type="LC4J", content=values(*items))
        done = self.rpc("EntriesService.SyncEntries", conversation_id=UUID(id).bytes, entry=entry)
        return done.epoch, done.no_op

    def memory(self, id: str, after: str | None) -> tuple[list[Any], str | None]:
        page = pb.PageRequest(page_size=200, page_token=after or "")
        asked = {"conversation_id": UUID(id).bytes, "channel": pb.MEMORY, "page": page}
        found = self.rpc("EntriesService.ListEntries", **asked)
        items = [MessageToDict(item) for one in found.entries for item in one.content]
        return items, found.page_info.next_page_token or None

    def forks(self, id: str, after: str | None) -> tuple[list[str], str | None]:
        page = pb.PageRequest(page_size=2, page_token=after or "")
        found = self.rpc("ConversationsService.ListForks", conversation_id=UUID(id).bytes, page=page)
        ids = [str(UUID(bytes=one.conversation_id)) for one in found.forks]
        return ids, found.page_info.next_page_token or None

    def transfers(self, after: str | None) -> tuple[list[str], str | None]:
        page = pb.PageRequest(page_size=2, page_token=after or "")
        found = self.rpc("OwnershipTransfersService.ListOwnershipTransfers", page=page)
        return [str(UUID(bytes=one.id)) for one in found.transfers], found.page_info.next_page_token or None


def values(*items: Any) -> list[Value]:
    return [ParseDict(item, Value()) for item in items]


@pytest.fixture(params=[Http, Grpc])
def client(request: pytest.FixtureRequest, service: RunningService) -> Any:
    return request.param(service)


def test_a_message_is_edited_by_a_fork_that_is_appended_to(client: Any) -> None:
    root = str(uuid4())
    a, b, _ = [client.append(root, text) for text in "ABC"]
    fork = str(uuid4())
    client.append(fork, "N", forkedAtConversationId=root, forkedAtEntryId=b)
    client.append(fork, "O")
    assert (client.texts(root), client.texts(fork)) == (["A", "B", "C"], ["A", "N", "O"])
    assert client.http("GET", f"{ROOT}/{fork}")["forkedAtEntryId"] == a


def test_the_memory_of_an_agent_is_read_whole_however_many_entries_it_has(client: Any) -> None:
    id = client.http("POST", ROOT, status=201, title="Trip")["id"]
    items = [{"n": number} for number in range(500)]
    assert client.sync(id, items[:250]) == (1, False)
    for number in range(251, 501):  # an entry for each item, as an agent writes while it talks
        assert client.sync(id, items[:number]) == (1, False)
    assert client.sync(id, items) == (1, True)
    found: list[Any] = []
    after = None
    while not found or after is not None:
        page, after = client.memory(id, after)
        found += page
    assert found == items


def test_a_conversation_is_created_under_the_id_of_its_client(client: Any) -> None:
    id = str(uuid4())
    assert client.http("POST", ROOT, status=201, id=id)["id"] == id
    client.append(id, "A")
    assert client.http("POST", ROOT, status=409, id=id)["code"] == "conflict"
    client.http("DELETE", f"{ROOT}/{id}", status=204)
    assert client.http("POST", ROOT, status=409, id=id)["code"] == "conflict"


def test_forks_and_transfers_are_read_page_by_page(client: Any) -> None:
    root = str(uuid4())
    first = client.append(root, "A")
    ids = [root]
    for _ in range(4):
        ids.append(str(uuid4()))
        client.append(ids[-1], "N", forkedAtConversationId=root, forkedAtEntryId=first)
    assert pages(lambda after: client.forks(root, after)) == ids
    asked = []
    for _ in range(5):
        id = client.http("POST", ROOT, status=201, title="Trip")["id"]
        member = {"userId": "bob", "accessLevel": "reader"}
        client.http("POST", f"{ROOT}/{id}/memberships", status=201, **member)
        wish = {"conversationId": id, "newOwnerUserId": "bob"}
        asked.append(client.http("POST", "/v1/ownership-transfers", status=201, **wish)["id"])
    assert pages(client.transfers) == asked


def pages(read: Any) -> list[str]:
    found: list[str] = []
    after = None
    while not found or after is not None:
        page, after = read(after)
        assert 0 < len(page) <= 2
        found += page
    return found
