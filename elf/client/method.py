"""How a function that makes a call becomes a method of both clients, written once."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from elf.client.call import Call, Listing, Stream

if TYPE_CHECKING:
    from elf.client.asynchronous import AsyncClient, AsyncPages
    from elf.client.blocking import Client, Pages
    from elf.client.family import FamilyClient

P = ParamSpec("P")
T = TypeVar("T")
Blocking = TypeVar("Blocking")
Async = TypeVar("Async")


class Method(Generic[P, Blocking, Async]):
    """A function that makes a call, as a method that carries it out and returns what its client returns.

    It is a method of the clients themselves, or of the client of a family. A Client makes it a plain method, an
    AsyncClient one to be awaited; help() shows which.
    """

    def __init__(self, build: Callable[Concatenate[Any, P], Any]) -> None:
        self.build = build
        self._made: dict[type, Callable[..., Any]] = {}

    @overload
    def __get__(self, holder: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, holder: Client | FamilyClient[Client], owner: type) -> Callable[P, Blocking]: ...
    @overload
    def __get__(self, holder: AsyncClient | FamilyClient[AsyncClient], owner: type) -> Callable[P, Async]: ...
    def __get__(self, holder: Any, owner: type) -> Callable[..., Any]:
        client = owner if holder is None else type(holder._client)
        if client not in self._made:
            self._made[client] = _method(self.build, getattr(client, "SHOWN", {}))
        return self._made[client] if holder is None else MethodType(self._made[client], holder)


@overload
def method(build: Callable[Concatenate[Any, P], Call[T]]) -> Method[P, T, Awaitable[T]]: ...
@overload
def method(build: Callable[Concatenate[Any, P], Listing[T]]) -> Method[P, Pages[T], AsyncPages[T]]: ...
@overload
def method(
    build: Callable[Concatenate[Any, P], Stream[T]],
) -> Method[P, AbstractContextManager[Iterator[T]], AbstractAsyncContextManager[AsyncIterator[T]]]: ...
def method(build: Callable[..., Any]) -> Method[..., Any, Any]:
    """Make a method of a function that returns a Call, a Listing or a Stream.

    A call returns its result; a listing Pages or AsyncPages; and a stream a context manager, within which its events
    are gone through as they come.
    """
    return Method(build)


def _carried_out(client: Any, asked: Call[Any] | Listing[Any] | Stream[Any]) -> Any:
    match asked:
        case Call():
            return client.send(asked)
        case Listing():
            return client.pages(asked)
        case Stream():
            return client.stream(asked)


def _method(build: Callable[..., Any], shown: Mapping[str, str]) -> Callable[..., Any]:
    """Return the method, with the name, the documentation and the signature of the function that makes its call."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return _carried_out(self._client, build(self._maker, *args, **kwargs))

    signature = inspect.signature(build)
    kind, _, result = str(signature.return_annotation).partition("[")
    form = shown.get(kind, "{}").format(result.removesuffix("]"))
    method.__name__, method.__qualname__, method.__doc__ = build.__name__, build.__qualname__, build.__doc__
    method.__dict__["__signature__"] = signature.replace(return_annotation=form)
    return method
