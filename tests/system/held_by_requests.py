"""What a user asks of conversations to see how much a request may hold, over HTTP and over gRPC."""

from __future__ import annotations

import json
import random
from typing import Any, Final
from uuid import UUID, uuid4

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass

from elf.families.conversations.grpc import memory_service_pb2 as pb
from tests.system.service import RunningService

ROOT: Final = "/v1/conversations"
OPERATOR: Final = "olga"
LETTERS: Final = random.Random(7)


class Refused(Exception):
    """A request that was refused: with which status, for which field where HTTP tells one, and in which words."""

    def __init__(self, status: int | str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.told = (status, field, message)


class House:
    """A user's conversation with one entry, and both ways to it. The user's agent asks, unless it is said otherwise."""

    def __init__(self, service: RunningService, channel: grpc.Channel) -> None:
        self._http = service.client
        self._mcp_url = f"{service.mcp_url}/conversations"
        self._channel = channel
        self.user = f"ana-{uuid4()}"
        self.id = str(self.http(f"POST {ROOT}", {})["id"])
        said = {"channel": "history", "contentType": "history", "content": [{"role": "AI", "text": "Hi"}]}
        self.entry = str(self.http(f"POST {ROOT}/{self.id}/entries", said)["id"])

    def _who(self, user: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {user or self.user}", "x-client-id": "bot"}

    def http(self, call: str, body: Any = None, *, user: str | None = None, raw: bytes | None = None) -> Any:
        """Return the JSON of an answer. Raises Refused."""
        method, path = call.split(" ", 1)
        content = raw if raw is not None or body is None else json.dumps(body, ensure_ascii=False).encode()
        answer = self._http.request(method, path, content=content, headers=self._who(user))
        if answer.is_success:
            return answer.json() if answer.content else None
        details = answer.json()["details"]
        (one,) = details.get("violations", [{"field": None, "message": details["message"]}])
        raise Refused(answer.status_code, one["message"], one["field"])

    def rpc(self, call: str, *, user: str | None = None, **fields: Any) -> Any:
        """Return the message of an answer as JSON; ids among the fields are bytes. Raises Refused."""
        service, name = call.split(".")
        method = pb.DESCRIPTOR.services_by_name[service].methods_by_name[name]
        content = fields.pop("content", None)
        asked = GetMessageClass(method.input_type)(**fields)
        if content is not None:
            ParseDict({"content": content}, asked.entry)  # type: ignore[attr-defined]
        ask = self._channel.unary_unary(
            f"/memory.v1.{service}/{name}",
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        try:
            answer = ask(asked.SerializeToString(), metadata=tuple(self._who(user).items()), timeout=60)
        except grpc.RpcError as error:
            raise Refused(error.code().name, str(error.details())) from error
        return MessageToDict(answer)

    def mcp(self, method: str, **params: Any) -> Any:
        """Return what a call of MCP brings."""
        headers = {**self._who(None), "accept": "application/json, text/event-stream"}
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._http.post(self._mcp_url, json=asked, headers=headers).json()["result"]

    @property
    def it(self) -> dict[str, bytes]:
        return {"conversation_id": UUID(self.id).bytes}


def letters(count: int) -> str:
    """Letters that no compression makes much shorter, each of four bytes."""
    return "".join(chr(LETTERS.randint(0x20000, 0x2A6D0)) for _ in range(count))


def title(house: House, size: int) -> bool:
    made = house.http(f"POST {ROOT}", {"title": (given := letters(size))})
    return house.http(f"GET {ROOT}/{made['id']}")["title"] == given


def title_rpc(house: House, size: int) -> bool:
    house.rpc("ConversationsService.UpdateConversation", **house.it, title=(given := letters(size)))
    return house.http(f"GET {ROOT}/{house.id}")["title"] == given


def member(house: House, size: int) -> bool:
    given = letters(size)
    body = {"userId": given, "accessLevel": "reader"}
    house.http(f"POST {ROOT}/{house.id}/memberships", body)
    return given in _members(house)


def member_rpc(house: House, size: int) -> bool:
    given = letters(size)
    call = "ConversationMembershipsService.ShareConversation"
    house.rpc(call, **house.it, user_id=given, access_level=pb.READER)
    return given in _members(house)


def _members(house: House) -> list[str]:
    return [one["userId"] for one in house.http(f"GET {ROOT}/{house.id}/memberships")["data"]]


def _last(house: House, channel: str) -> Any:
    return house.http(f"GET {ROOT}/{house.id}/entries?channel={channel}")["data"][-1]


def content_type(house: House, size: int) -> bool:
    body = {"channel": "memory", "contentType": (given := letters(size)), "content": []}
    house.http(f"POST {ROOT}/{house.id}/entries", body)
    return _last(house, "memory")["contentType"] == given


def content_type_rpc(house: House, size: int) -> bool:
    entry = pb.CreateEntryRequest(content_type=(given := letters(size)))
    house.rpc("EntriesService.AppendEntry", **house.it, entry=entry)
    return _last(house, "memory")["contentType"] == given


def items(house: House, size: int) -> bool:
    body = {"channel": "memory", "contentType": "x", "content": (given := list(range(size)))}
    house.http(f"POST {ROOT}/{house.id}/entries/sync", body)
    return _last(house, "memory")["content"] == given


def items_rpc(house: House, size: int) -> bool:
    entry = pb.CreateEntryRequest(content_type="x", channel=pb.MEMORY)
    given = list(range(size))
    house.rpc("EntriesService.SyncEntries", **house.it, entry=entry, content=given)
    return _last(house, "memory")["content"] == given


def levels(house: House, size: int) -> bool:
    given: Any = []
    for _ in range(size - 1):
        given = [given]
    body = {"channel": "memory", "contentType": "x", "content": given}
    house.http(f"POST {ROOT}/{house.id}/entries", body)
    return _last(house, "memory")["content"] == given


def metadata(house: House, size: int) -> bool:
    """Metadata is only searched: it is there when its last text finds the conversation."""
    made = house.http(f"POST {ROOT}", {"metadata": _metadata(size, last := uuid4().hex)})
    return _listed(house, last) == [made["id"]]


def metadata_rpc(house: House, size: int) -> bool:
    given = ParseDict(_metadata(size, last := uuid4().hex), pb.CreateConversationRequest().metadata)
    house.rpc("ConversationsService.CreateConversation", metadata=given)
    return len(_listed(house, last)) == 1


def _metadata(size: int, last: str) -> dict[str, Any]:
    """Metadata of so many bytes as JSON, without spaces, in strings as long as such strings may be."""
    made = {"a": "", "b": ["x" * 16_000] * ((size - 100) // 16_003), "c": last}
    rest = size - len(json.dumps(made, separators=(",", ":")))
    return {**made, "a": "y" * rest}


def _listed(house: House, query: str) -> list[str]:
    found = house.http(f"GET {ROOT}?mode=all&query={query}")
    return [one["id"] for one in found["data"]]


def _distinct(size: int) -> str:
    """A text of so many characters in short words, hardly one of them twice."""
    words = ("".join(LETTERS.choices("bcdfghjklmnpqrstvwxz", k=3)) for _ in range(size // 4 + 1))
    return " ".join(words)[:size]


def query(house: House, size: int) -> bool:
    house.http(f"POST {ROOT}/{house.id}/entries", _indexed(given := _distinct(size)))
    found = house.http(f"POST {ROOT}/search", {"query": given, "searchType": "fulltext"})
    return len(found["data"]) == 1


def query_rpc(house: House, size: int) -> bool:
    house.http(f"POST {ROOT}/{house.id}/entries", _indexed(given := _distinct(size)))
    found = house.rpc("SearchService.SearchConversations", query=given)
    return len(found["results"]) == 1


def title_query(house: House, size: int) -> bool:
    found = house.http(f"GET {ROOT}?query={'x' * size}")
    return found["data"] == []


def indexed(house: House, size: int) -> bool:
    made = house.http(f"POST {ROOT}/{house.id}/entries", _indexed(given := _words(size)))
    return _found(house, given.split()[-1]) == [made["id"]]


def indexed_rpc(house: House, size: int) -> bool:
    given = _words(size)
    text = pb.IndexEntryRequest(entry_id=UUID(house.entry).bytes, indexed_content=given, **house.it)
    house.rpc("SearchService.IndexConversations", user=OPERATOR, entries=[text])
    return _found(house, given.split()[-1]) == [house.entry]


def _indexed(text: str) -> dict[str, Any]:
    said = [{"role": "AI", "text": "Long."}]
    return {"channel": "history", "contentType": "history", "content": said, "indexedContent": text}


def _words(size: int) -> str:
    """A text of so many characters, the last word of which stands nowhere else."""
    last = f" q{uuid4().hex}"
    return ("the ferry leaves at nine " * (size // 20))[: size - len(last)] + last


def _found(house: House, word: str) -> list[str]:
    found = house.http(f"POST {ROOT}/search", {"query": word, "searchType": "fulltext"})
    return [one["entryId"] for one in found["data"]]


def batch(house: House, size: int) -> bool:
    text = {"conversationId": house.id, "entryId": house.entry, "indexedContent": "a greeting"}
    made = house.http(f"POST {ROOT}/index", [text] * size, user=OPERATOR)
    return made == {"indexed": size}


def batch_rpc(house: House, size: int) -> bool:
    text = pb.IndexEntryRequest(entry_id=UUID(house.entry).bytes, indexed_content="a greeting", **house.it)
    made = house.rpc("SearchService.IndexConversations", user=OPERATOR, entries=[text] * size)
    return made == {"indexed": size}


def page(house: House, size: int) -> bool:
    found = house.http(f"GET {ROOT}/{house.id}/entries?limit={size}")
    return len(found["data"]) == 1


def page_rpc(house: House, size: int) -> bool:
    asked = pb.PageRequest(page_size=size)
    found = house.rpc("EntriesService.ListEntries", **house.it, page=asked, channel=pb.HISTORY)
    return len(found["entries"]) == 1


def whole_page_rpc(house: House, size: int) -> bool:
    asked = pb.PageRequest(page_size=size)
    found = house.rpc("ConversationMembershipsService.ListMemberships", **house.it, page=asked)
    return len(found["memberships"]) == 1


def admin_page(house: House, size: int) -> bool:
    found = house.http(f"GET /v1/admin/conversations?userId={house.user}&limit={size}", user=OPERATOR)
    return [one["id"] for one in found["data"]] == [house.id]
