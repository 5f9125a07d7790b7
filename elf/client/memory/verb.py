"""How what a memory does becomes a method of both memories, written once."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

if TYPE_CHECKING:
    from elf.client.memory.asynchronous import AsyncMemory
    from elf.client.memory.blocking import Memory

P = ParamSpec("P")
T = TypeVar("T")


class Verb(Generic[P, T]):
    """A coroutine function of what a memory does, as a method: Memory returns its result, AsyncMemory an awaitable."""

    def __init__(self, does: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        self.does = does
        self._made: dict[type, Callable[..., Any]] = {}

    @overload
    def __get__(self, holder: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, holder: Memory, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, holder: AsyncMemory, owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, holder: Any, owner: type) -> Callable[..., Any]:
        if owner not in self._made:
            self._made[owner] = _method(self.does, getattr(owner, "SHOWN", "{}"))
        return self._made[owner] if holder is None else MethodType(self._made[owner], holder)


def verb(does: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Verb[P, T]:
    """Make a method of a coroutine function."""
    return Verb(does)


def _method(does: Callable[..., Coroutine[Any, Any, Any]], shown: str) -> Callable[..., Any]:
    """Return the method, with the name, the documentation and the signature of the function."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._carried_out(does, args, kwargs)

    signature = inspect.signature(does)
    method.__name__, method.__qualname__, method.__doc__ = does.__name__, does.__qualname__, does.__doc__
    returned = shown.format(signature.return_annotation)
    method.__dict__["__signature__"] = signature.replace(return_annotation=returned)
    return method
