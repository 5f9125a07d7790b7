"""The family over HTTP and over gRPC at once, and what the one says in the words of the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

import grpc
import httpx
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Value

from elf.families.conversations.grpc import memory_service_pb2 as pb

STATUSES: Final = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ALREADY_EXISTS",
}  # fmt: skip

CONTENT = {
    "text": "kept",
    "numbers": [0, -1, 2.5, 1e300, 2**53],
    "deep": {"none": None, "yes": True, "empty": [{}, []]},
}
"""Of an entry, with every kind of JSON value."""


@dataclass(frozen=True)
class Failure:
    """Why a call failed: the name of its gRPC status, and the text."""

    code: str
    text: str


class BothWires:
    """Asks as ana, in a tenant of its own, unless it is said otherwise."""

    def __init__(self, http: httpx.AsyncClient, channel: grpc.aio.Channel) -> None:
        self._http = http
        self.channel = channel
        self.tenant = f"both-{uuid4()}"

    def _who(self, user: str | None, client: str | None, role: str | None) -> dict[str, str]:
        named = {"x-user": user, "x-client": client, "x-role": role, "x-tenant": self.tenant}
        return {name: value for name, value in named.items() if value is not None}

    async def http(
        self,
        call: str,
        body: Any = None,
        *,
        user: str | None = "ana",
        client: str | None = None,
        role: str | None = None,
    ) -> Any:
        """Return the JSON of an answer, or the failure."""
        method, path = call.split(" ")
        answer = await self._http.request(method, path, json=body, headers=self._who(user, client, role))
        said = answer.json() if answer.content else None
        if answer.is_success:
            return said
        return Failure(STATUSES[answer.status_code], _text(said))

    async def begin_trip(self) -> UUID:
        """Begin a conversation in which ana says three things and her bot remembers one."""
        made = UUID((await self.http("POST /v1/conversations", {"title": "Trip"}))["id"])
        for text in ("one", "two", "three"):
            await self.http(
                f"POST /v1/conversations/{made}/entries",
                {"contentType": "history", "content": [{"text": text}]},
            )
        body = {"contentType": "x", "channel": "memory", "content": [CONTENT]}
        await self.http(f"POST /v1/conversations/{made}/entries/sync", body, client="bot")
        return made

    async def rpc(
        self, call: str, asked: Message | None = None, *, user: str | None = "ana", client: str | None = None,
        role: str | None = None, **fields: Any,
    ) -> Any:  # fmt: skip
        """Return the message of an answer, or the failure; the request is a message or its fields."""
        service, name = call.split(".")
        method = pb.DESCRIPTOR.services_by_name[service].methods_by_name[name]
        message = GetMessageClass(method.input_type)(**fields) if asked is None else asked
        reader = GetMessageClass(method.output_type).FromString
        ask = self.channel.unary_unary(f"/memory.v1.{service}/{name}", response_deserializer=reader)
        try:
            return await ask(
                message.SerializeToString(), metadata=tuple(self._who(user, client, role).items())
            )
        except grpc.aio.AioRpcError as error:
            return Failure(error.code().name, str(error.details()))


def plain(message: Message) -> Any:
    """Return a message as HTTP writes the same: absent is absent, ids and words are text."""
    return {
        _camel(field.name): _plain(field, value)
        for field, value in message.ListFields()
        if field.name != "page_info"
    }


def _plain(field: Any, value: Any) -> Any:
    if field.is_repeated:
        return [_one(field, one) for one in value]
    return _one(field, value)


def _one(field: Any, value: Any) -> Any:
    if isinstance(value, bytes):
        return str(UUID(bytes=value))
    if field.enum_type is not None:
        return str(field.enum_type.values_by_number[value].name).lower()
    if field.message_type is not None and field.message_type.file.package == "google.protobuf":
        return MessageToDict(value)
    return plain(value) if isinstance(value, Message) else value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _text(body: Mapping[str, Any]) -> str:
    details = body.get("details", {})
    if "resource" in details:
        return f"there is no {details['resource']} {details['id']}"
    return str(details.get("message", body["error"]))


def values(*items: Any) -> list[Value]:
    """Return JSON values as messages."""
    return [ParseDict(item, Value()) for item in items]


def entry(*items: Any, **more: Any) -> pb.CreateEntryRequest:
    """Return an entry with this content."""
    return pb.CreateEntryRequest(content=values(*items), **more)


def page(token: str = "", size: int = 0) -> dict[str, Any]:
    """Return the field that asks for a page."""
    return {"page": pb.PageRequest(page_token=token, page_size=size)}
