"""Remote procedure calls as data: what a family answers over gRPC, call by call.

Messages are those that the compiler makes of a .proto file. Nothing here loads gRPC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel

from elf.api.caller import Caller
from elf.api.operation import Operation
from elf.core.slices import Slices

if TYPE_CHECKING:
    from google.protobuf.descriptor import ServiceDescriptor

Fields: TypeAlias = Mapping[str, Any]
"""The fields of an operation's request, by name, with the values that JSON has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rpc:
    """A call that does what an operation does: who may make it, its bounds and its failures are those of the operation.

    `read` makes of a message the fields of the request; it raises InvalidRequest, naming those of the message. `write`
    makes the message of an answer to a message. Either may work in slices. `request` is there where it is not the
    operation's. `trailers` tells of an answer what its message has no field for.
    """

    operation: Operation
    read: Callable[[Any], Fields | Slices[Fields]]
    write: Callable[[Any, Any], Any]
    request: type[BaseModel] | None = None
    trailers: Callable[[Any], Sequence[tuple[str, str]]] = lambda _: ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRpc:
    """A call that is no operation, made by any user, or by any caller where it does not need one.

    `run` takes the caller, and the message or, where the client streams, an async iterator of its messages. It is a
    coroutine function that returns the message of the answer or, where the answer streams, an async generator function.
    What it raises of ServiceError is told to the client. It waits for no turn. `changes` when it may change something.
    `may_pause` when a client that streams may be silent for as long as it likes between two messages.
    """

    run: Callable[[Any, Caller], Any]
    changes: bool = False
    needs_user: bool = True
    may_pause: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Servicer:
    """A service of a .proto file and the calls of it that there are, by name. The others are UNIMPLEMENTED."""

    service: ServiceDescriptor
    rpcs: Mapping[str, Rpc | OwnRpc]

    def __post_init__(self) -> None:
        if unknown := self.rpcs.keys() - self.service.methods_by_name.keys():
            raise ValueError(f"{self.service.full_name} has no call {min(unknown)}")
