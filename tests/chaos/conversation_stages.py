"""Ways to play with conversations at a running service, where nobody is asked who calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID, uuid4

import grpc
import httpx
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import memory_service_pb2_grpc as rpc
from tests.db.conversations.play import LATEST, Gone, Listed, Remembered, Wanted

OPERATOR: Final = "operator"
AS_OPERATOR: Final = f'[security.auth.roles.admin]\nusers = ["{OPERATOR}"]\n'
"""What the config says of who restores what was deleted."""

ROOT: Final = "/v1/conversations"
TIMEOUT_S: Final = 30.0


class RestStage:
    """The conversations of a user of its own, over REST; a context manager."""

    def __init__(self, url: str) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=TIMEOUT_S)
        self.user = f"user-{uuid4()}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def _send(
        self, call: str, body: Any = None, *, user: str | None = None, client: str | None = None, **query: Any
    ) -> httpx.Response:
        method, path = call.split(" ")
        headers = {"Authorization": f"Bearer {user or self.user}"}
        if client is not None:
            headers["X-Client-ID"] = client
        params = {name: str(value) for name, value in query.items() if value is not None}
        response = await self._http.request(method, path, json=body, headers=headers, params=params)
        if response.status_code == httpx.codes.NOT_FOUND:
            raise Gone(response.text)
        return response

    async def _ask(self, call: str, body: Any = None, *, client: str | None = None, **query: Any) -> Any:
        response = await self._send(call, body, client=client, **query)
        assert response.is_success, f"{call}: {response.text}"
        return response.json() if response.content else None

    async def create(self) -> UUID:
        return UUID((await self._ask(f"POST {ROOT}", {}))["id"])

    async def say(self, id: UUID, text: str) -> UUID:
        said = {"contentType": "history", "content": [{"role": "USER", "text": text}]}
        return UUID((await self._ask(f"POST {ROOT}/{id}/entries", said))["id"])

    async def note(self, id: UUID, client: str, kind: str, items: list[Any]) -> tuple[UUID, int | None]:
        body = {"channel": "memory", "contentType": kind, "content": items}
        written = await self._ask(f"POST {ROOT}/{id}/entries", body, client=client)
        return UUID(written["id"]), written["epoch"]

    async def sync(self, id: UUID, client: str, kind: str, items: list[Any]) -> Remembered:
        body = {"channel": "memory", "contentType": kind, "content": items}
        done = await self._ask(f"POST {ROOT}/{id}/entries/sync", body, client=client)
        epoch, entry = done.get("epoch"), done["entry"]
        assert done["noOp"] is (entry is None)
        if entry is None:
            return Remembered(epoch, done["epochIncremented"])
        return Remembered(epoch, done["epochIncremented"], UUID(entry["id"]), entry["content"])

    async def fork(self, id: UUID, client: str, entry_id: UUID) -> UUID:
        made = await self._ask(f"POST {ROOT}/{id}/entries/{entry_id}/fork", {}, client=client)
        return UUID(made["id"])

    async def read(self, id: UUID) -> None:
        await self._ask(f"GET {ROOT}/{id}")

    async def vanish(self, id: UUID) -> None:
        await self._ask(f"DELETE {ROOT}/{id}")

    async def restore(self, id: UUID) -> bool:
        answer = await self._send(f"POST /v1/admin/conversations/{id}/restore", {}, user=OPERATOR)
        assert answer.is_success or answer.status_code == httpx.codes.CONFLICT, answer.text
        return answer.is_success

    async def forks(self, id: UUID) -> Mapping[UUID, tuple[UUID | None, UUID | None]]:
        listed = (await self._ask(f"GET {ROOT}/{id}/forks"))["data"]
        return {
            UUID(one["conversationId"]): (
                _id(one.get("forkedAtConversationId")),
                _id(one.get("forkedAtEntryId")),
            )
            for one in listed
        }

    async def entries(self, id: UUID, wanted: Wanted, *, after: UUID | None, limit: int) -> Sequence[Listed]:
        channel = None if wanted.history else "memory"
        epoch = "all" if wanted.epoch is None else wanted.epoch
        return await self._page(
            id, wanted.client, channel=channel, epoch=None if epoch == LATEST else epoch, after=after, limit=limit
        )  # fmt: skip

    async def tree_entries(
        self, id: UUID, client: str | None, *, after: UUID | None, limit: int
    ) -> Sequence[Listed]:
        return await self._page(id, client, forks="all", epoch="all", after=after, limit=limit)

    async def _page(self, id: UUID, client: str | None, *, limit: int, **query: Any) -> Sequence[Listed]:
        page = await self._ask(f"GET {ROOT}/{id}/entries", client=client, limit=limit, **query)
        listed = [Listed(UUID(one["id"]), datetime.fromisoformat(one["createdAt"])) for one in page["data"]]
        assert page["nextCursor"] in (None, str(listed[-1].id) if listed else None)
        if page["nextCursor"] is not None:
            assert len(listed) == limit
            assert await self._follows(id, client, listed[-1].id, query)
        return listed

    async def _follows(self, id: UUID, client: str | None, last: UUID, query: Mapping[str, Any]) -> bool:
        """Tell whether anything follows an entry."""
        behind = await self._ask(
            f"GET {ROOT}/{id}/entries", client=client, limit=1, **{**query, "after": last}
        )
        return bool(behind["data"])


def _id(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)


class RpcStage(RestStage):
    """The conversations of a user over gRPC; what is an operator's is asked over REST."""

    def __init__(self, url: str, address: str) -> None:
        super().__init__(url)
        self._channel = grpc.aio.insecure_channel(address)
        self._conversations = rpc.ConversationsServiceStub(self._channel)
        self._entries = rpc.EntriesServiceStub(self._channel)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._channel.close()
        await super().__aexit__(kind, error, trace)

    async def _call(self, method: Any, message: Any, *, client: str | None = None) -> Any:
        metadata = [("authorization", f"Bearer {self.user}")]
        if client is not None:
            metadata.append(("x-client-id", client))
        try:
            return await method(message, metadata=metadata, timeout=TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.NOT_FOUND:
                raise Gone(error.details()) from error
            raise AssertionError(
                f"{type(message).__name__}: {error.code().name}: {error.details()}"
            ) from error

    async def create(self) -> UUID:
        made = await self._call(self._conversations.CreateConversation, pb.CreateConversationRequest())
        return UUID(bytes=made.id)

    async def say(self, id: UUID, text: str) -> UUID:
        entry = _new("history", [{"role": "USER", "text": text}], channel=pb.HISTORY)
        asked = pb.AppendEntryRequest(conversation_id=id.bytes, entry=entry)
        return UUID(bytes=(await self._call(self._entries.AppendEntry, asked)).id)

    async def note(self, id: UUID, client: str, kind: str, items: list[Any]) -> tuple[UUID, int | None]:
        asked = pb.AppendEntryRequest(conversation_id=id.bytes, entry=_new(kind, items))
        written = await self._call(self._entries.AppendEntry, asked, client=client)
        return UUID(bytes=written.id), written.epoch

    async def sync(self, id: UUID, client: str, kind: str, items: list[Any]) -> Remembered:
        asked = pb.SyncEntriesRequest(conversation_id=id.bytes, entry=_new(kind, items))
        done = await self._call(self._entries.SyncEntries, asked, client=client)
        epoch = done.epoch if done.HasField("epoch") else None
        assert done.no_op is not done.HasField("entry")
        if done.no_op:
            return Remembered(epoch, done.epoch_incremented)
        content = [MessageToDict(one) for one in done.entry.content]
        return Remembered(epoch, done.epoch_incremented, UUID(bytes=done.entry.id), content)

    async def fork(self, id: UUID, client: str, entry_id: UUID) -> UUID:
        asked = pb.ForkConversationRequest(conversation_id=id.bytes, entry_id=entry_id.bytes)
        made = await self._call(self._conversations.ForkConversation, asked, client=client)
        return UUID(bytes=made.id)

    async def read(self, id: UUID) -> None:
        asked = pb.GetConversationRequest(conversation_id=id.bytes)
        await self._call(self._conversations.GetConversation, asked)

    async def vanish(self, id: UUID) -> None:
        asked = pb.DeleteConversationRequest(conversation_id=id.bytes)
        await self._call(self._conversations.DeleteConversation, asked)

    async def forks(self, id: UUID) -> Mapping[UUID, tuple[UUID | None, UUID | None]]:
        asked = pb.ListForksRequest(conversation_id=id.bytes)
        listed = (await self._call(self._conversations.ListForks, asked)).forks
        return {
            UUID(bytes=one.conversation_id): (
                _id_of(one.forked_at_conversation_id),
                _id_of(one.forked_at_entry_id),
            )
            for one in listed
        }

    async def entries(self, id: UUID, wanted: Wanted, *, after: UUID | None, limit: int) -> Sequence[Listed]:
        """Return a page; one of history and memory alike there is over REST alone."""
        if wanted.history and wanted.client is not None:
            return await super().entries(id, wanted, after=after, limit=limit)
        epoch = "all" if wanted.epoch is None else str(wanted.epoch)
        asked = pb.ListEntriesRequest(
            channel=pb.HISTORY if wanted.history else pb.MEMORY, epoch_filter="" if epoch == LATEST else epoch
        )
        return await self._listed(id, wanted.client, asked, after=after, limit=limit)

    async def tree_entries(
        self, id: UUID, client: str | None, *, after: UUID | None, limit: int
    ) -> Sequence[Listed]:
        if client is not None:
            return await super().tree_entries(id, client, after=after, limit=limit)
        asked = pb.ListEntriesRequest(forks="all", epoch_filter="all")
        return await self._listed(id, client, asked, after=after, limit=limit)

    async def _listed(
        self, id: UUID, client: str | None, asked: pb.ListEntriesRequest, *, after: UUID | None, limit: int
    ) -> Sequence[Listed]:
        asked.conversation_id = id.bytes
        asked.page.page_size = limit
        asked.page.page_token = "" if after is None else str(after)
        page = await self._call(self._entries.ListEntries, asked, client=client)
        listed = [Listed(UUID(bytes=one.id), datetime.fromisoformat(one.created_at)) for one in page.entries]
        assert page.page_info.next_page_token in ("", str(listed[-1].id) if listed else "")
        return listed


def _new(kind: str, items: list[Any], *, channel: pb.Channel = pb.MEMORY) -> pb.CreateEntryRequest:
    content = [ParseDict(item, Value()) for item in items]
    return pb.CreateEntryRequest(content_type=kind, channel=channel, content=content)


def _id_of(data: bytes) -> UUID | None:
    return UUID(bytes=data) if data else None
