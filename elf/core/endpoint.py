"""An HTTP endpoint as data: what a family offers, without a web framework.

The web front turns endpoints into routes; tools and documents are generated from the same objects.
"""

from __future__ import annotations

import string
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

import msgspec
from pydantic import BaseModel

from elf.core.errors import ServiceError

Answer: TypeAlias = BaseModel | msgspec.Struct
"""What a handler returns. A struct's JSON is that of the operation's response model, made in a fraction of the time."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What can be asked for. A POST fills `request` from its JSON body and the path, a GET from the query string
    and the path.

    `path` may hold parameters in braces, such as `/v1/memory/notes/{note_id}`; each is a field of `request`. `tag` is
    the heading it stands under in documents. `errors` are its failures beyond those that any request may meet: bad
    input, a path that leads nowhere, a fault, and something that is away. `brief` is the response to a request
    whose `detail` is brief. `is_slow` when it waits for a language model.
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

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """The names of the fields that the path carries."""
        return tuple(name for _, name, _, _ in string.Formatter().parse(self.path) if name)

    def handled_by(self, handle: Callable[[Any], Awaitable[Answer]]) -> Endpoint:
        """Return the endpoint at which `handle` does this."""
        return Endpoint(**{own.name: getattr(self, own.name) for own in fields(self)}, handle=handle)


@dataclass(frozen=True, slots=True)
class Endpoint(Operation):
    """An operation together with what carries it out."""

    handle: Callable[[Any], Awaitable[Answer]]
