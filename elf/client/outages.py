"""Calls that may fail with the service, so that whoever makes them goes on."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, overload

from elf.client.errors import Unavailable

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("elf.client")


@overload
def fail_open(ask: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T | None]]: ...
@overload
def fail_open(ask: Callable[P, T]) -> Callable[P, T | None]: ...
def fail_open(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a client that logs, and returns None, while the service or its storage is away.

    That is where the method raises Unavailable, after all its tries; whatever else it raises it still raises.
    """

    @wraps(ask)
    def asked(*args: Any, **kwargs: Any) -> Any:
        try:
            answer = ask(*args, **kwargs)
        except Unavailable as error:
            return _gone_on(ask, error)
        return awaited(answer) if inspect.isawaitable(answer) else answer

    async def awaited(answer: Awaitable[Any]) -> Any:
        try:
            return await answer
        except Unavailable as error:
            return _gone_on(ask, error)

    return asked


def _gone_on(ask: Callable[..., Any], error: Unavailable) -> None:
    name = getattr(ask, "__name__", "a call")
    log.warning("gone on without %s: %s", name, "; ".join([error.message, *getattr(error, "__notes__", ())]))
