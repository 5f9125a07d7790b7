"""What can be asked for, as data: routes, tools, clients and documents are all made from the same objects."""

from __future__ import annotations

import string
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec
from pydantic import BaseModel

from elf.api.caller import Caller
from elf.core.errors import ServiceError

Answer: TypeAlias = BaseModel | msgspec.Struct
"""What a handler returns. A struct's JSON is that of the operation's response model, made in a fraction of the time."""

TextPolicy: TypeAlias = Literal["english", "any"]
"""What language the text of a request may be in; english refuses CJK characters."""

Handler: TypeAlias = Callable[[Any, Caller], Awaitable[Answer]]
"""Carries out an operation: takes its request, checked, and who makes it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What can be asked for. A POST fills `request` from its JSON body and the path, a GET from the query string
    and the path.

    `name` is its own among all operations of a front. `path` may hold parameters in braces, such as
    `/v1/memory/notes/{note_id}`; each is a field of `request`. `tag` is the heading it stands under in documents.
    `errors` are its failures beyond those that any request may meet: bad input, a path that leads nowhere, a fault, and
    something that is away. `brief` is the response to a request whose `detail` is brief. `is_slow` when it waits for
    a language model. `text` says which language its text may be in.
    """

    name: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    request: type[BaseModel]
    response: type[BaseModel]
    tag: str = field(default="", kw_only=True)
    errors: tuple[type[ServiceError], ...] = field(default=(), kw_only=True)
    brief: type[BaseModel] | None = field(default=None, kw_only=True)
    is_slow: bool = field(default=False, kw_only=True)
    text: TextPolicy = field(default="english", kw_only=True)

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """The names of the fields that the path carries."""
        return tuple(name for _, name, _, _ in string.Formatter().parse(self.path) if name)


def for_anyone(handle: Callable[[Any], Awaitable[Answer]]) -> Handler:
    """Return a handler to which it is all the same who makes a request: the request says what it may see."""

    async def handled(request: Any, _: Caller) -> Answer:
        return await handle(request)

    return handled
