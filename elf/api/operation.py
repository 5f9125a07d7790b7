"""What can be asked for, as data: routes, tools, clients and documents are all made from the same objects."""

from __future__ import annotations

import string
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import msgspec
from pydantic import BaseModel

from elf.api.audit import Audit, DataSubject
from elf.api.caller import Caller
from elf.api.error_style import ErrorStyle
from elf.api.json_bounds import USUAL, JsonBounds
from elf.core.errors import ServiceError

Answer: TypeAlias = BaseModel | msgspec.Struct
"""What a handler returns. A struct's JSON is that of the operation's response model, made in a fraction of the time."""

Events: TypeAlias = AsyncGenerator[Answer, None]
"""What the handler of a stream returns; it is closed when it ends, and when the client goes away."""

TextPolicy: TypeAlias = Literal["english", "any"]
"""What language the text of a request may be in; english refuses CJK characters."""

Outcome: TypeAlias = Answer | Events | None
"""An answer; of a stream its events, and of an operation with status 204 nothing."""

Erases: TypeAlias = Callable[[Any, Caller], DataSubject | None]
"""Tells by a request who is gone once it is done; None when it erased nobody whole."""

Handler: TypeAlias = Callable[[Any, Caller], Awaitable[Outcome]]
"""Carries out an operation: takes its request, checked, and who makes it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What can be asked for. A POST, PUT or PATCH fills `request` from its JSON body and the path, a GET or DELETE from
    the query string and the path.

    `name` is its own among all operations of a front. `path` may hold parameters in braces, such as
    `/v1/memory/notes/{note_id}`; each is a field of `request`. `response` is None when the answer has no body, with
    `status` 204, or 200 where existing clients expect that. `tag` is the heading it stands under in documents. `errors`
    are its failures beyond those that any request may meet: bad input, a path that leads nowhere, a fault, and
    something that is away. `brief` is the response to a request whose `detail` is brief. `is_slow` when it waits for a
    language model. `text` says which language its text may be in. `body` names the field of `request` that the whole
    body is, such as a list; without it the body is an object of fields. `max_body_bytes` is the largest body, where it
    is not that of the front. `role` is the role that a caller needs. `reads` when it changes nothing although it has a
    body. `error_style` is the form of its errors, where it is not that of the front. `is_open` when nobody is asked who
    calls, `needs_user` when a caller without a user is refused. `query` names the fields that the query string has
    although there is a body; a DELETE with `takes_body` may have one, too. `json_bounds` says how much its JSON may
    hold. `audit` is told of each of its calls, also of those that are refused. With `is_audited`, each call has a row
    in the audit log, and `counted` are the fields of its response that say how many items it changed or found; without
    them the items of a list are counted, or the one thing that it is about. `erases` is there when it may erase
    somebody. It `spans_tenants` when it is about all of them for a caller who is bound to none and names none. The
    value of the parameter `slashed` of its path may have slashes, percent-encoded.
    """

    name: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    summary: str
    request: type[BaseModel]
    response: type[BaseModel] | None
    tag: str = field(default="", kw_only=True)
    errors: tuple[type[ServiceError], ...] = field(default=(), kw_only=True)
    brief: type[BaseModel] | None = field(default=None, kw_only=True)
    is_slow: bool = field(default=False, kw_only=True)
    text: TextPolicy = field(default="english", kw_only=True)
    status: Literal[200, 201, 204] = field(default=200, kw_only=True)
    body: str | None = field(default=None, kw_only=True)
    max_body_bytes: int | None = field(default=None, kw_only=True)
    role: str | None = field(default=None, kw_only=True)
    reads: bool = field(default=False, kw_only=True)
    error_style: ErrorStyle | None = field(default=None, kw_only=True)
    is_open: bool = field(default=False, kw_only=True)
    needs_user: bool = field(default=False, kw_only=True)
    query: tuple[str, ...] = field(default=(), kw_only=True)
    takes_body: bool = field(default=False, kw_only=True)
    json_bounds: JsonBounds = field(default=USUAL, kw_only=True)
    audit: Audit | None = field(default=None, kw_only=True)
    is_audited: bool = field(default=False, kw_only=True)
    counted: tuple[str, ...] = field(default=(), kw_only=True)
    erases: Erases | None = field(default=None, kw_only=True)
    spans_tenants: bool = field(default=False, kw_only=True)
    slashed: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.response is None and self.status == 201:
            raise ValueError(f"{self.name}: what was made is in the response")
        if self.status == 204 and self.response is not None:
            raise ValueError(f"{self.name}: status 204 has no response")
        if self.is_open and self.method != "GET":
            raise ValueError(f"{self.name}: only what is read may be open to everybody")
        if unknown := [
            name for name in self.counted if self.response is None or name not in self.response.model_fields
        ]:
            raise ValueError(f"{self.name}: its response has no field {unknown[0]}")
        if self.body is not None and not (self.has_body and self.body in self.request.model_fields):
            raise ValueError(f"{self.name}: the body {self.body} is no field of a request that has a body")

    @property
    def has_body(self) -> bool:
        """Whether its request has a JSON body; without one, the query string has the fields."""
        return self.takes_body or self.method in ("POST", "PUT", "PATCH")

    @property
    def changes(self) -> bool:
        """Whether it may change something."""
        return self.method != "GET" and not self.reads

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """The names of the fields that the path carries."""
        return tuple(name for _, name, _, _ in string.Formatter().parse(self.path) if name)


@dataclass(frozen=True, slots=True)
class Stream(Operation):
    """An operation whose answer is a stream of server-sent events, each with the JSON of a `response`.

    Its handler checks the request, raising as any other does, and returns the events. It has its turn among other
    requests until then. What fails later is an event of the type `error`, and the last.
    """


@dataclass(frozen=True, slots=True)
class Watchable(Operation):
    """An operation without an answer whose progress may be watched: by who adds `async=true` to its path, or accepts
    server-sent events.

    Its handler returns `event`s, as that of a Stream does. They are the answer of who watches; for others it is done,
    or has failed, when they end.
    """

    event: type[BaseModel] = field(kw_only=True)

    def __post_init__(self) -> None:
        Operation.__post_init__(self)  # super() does not know the class that slots have made
        if self.response is not None or not self.has_body:
            raise ValueError(f"{self.name}: what may be watched has a body and no answer")


WATCHED_BY: Final = "async"
"""The parameter of the query string by which a Watchable is watched: true or false."""


def for_anyone(handle: Callable[[Any], Awaitable[Outcome]]) -> Handler:
    """Return a handler to which it is all the same who makes a request: the request says what it may see."""

    async def handled(request: Any, _: Caller) -> Outcome:
        return await handle(request)

    return handled
