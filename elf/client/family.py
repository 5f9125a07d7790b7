"""The client of one family of memory, over a client of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

from elf.client.connection import Connection
from elf.client.context import Given
from elf.client.method import Method

C_co = TypeVar("C_co", bound=Connection[Any], covariant=True)


class FamilyClient(Generic[C_co]):
    """What a family can be asked, over a client: Client, AsyncClient, or one of `elf.client.local`.

    A family derives from it, and has a function for each of its calls, made a method by `method`:

        class Stories(FamilyClient[C_co]):
            name = "stories"
            about = "stories, found by what they tell"

            @method
            def find(self, query: str, *, limit: int = 5) -> Call[Found]:
                return post("/v1/stories/find", {**self.owner, "query": query, "limit": limit}, reader(Found))

    `Stories(client).find("a bear")` then returns Found, and with an AsyncClient an awaitable of it. `name` and `about`
    are the command of the command line that has the same methods as its verbs. `owned_by` are the names of the context
    that say whose memory it is.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    owned_by: ClassVar[Sequence[str]] = ("tenant_id", "project_id", "agent_id")

    def __init__(self, client: C_co) -> None:
        self._client = client

    @property
    def _maker(self) -> Self:
        return self

    @property
    def owner(self) -> dict[str, Given]:
        """The fields of the client's context that say whose memory it is; what is None was not given."""
        context = self._client.calls.owner()
        return {name: context[name] for name in self.owned_by}


def methods_of(family: type[FamilyClient[Any]]) -> Mapping[str, Method[..., Any, Any]]:
    """Return the methods of a family's client by name, in the order they stand in."""
    return {
        name: value
        for kind in reversed(family.__mro__)
        for name, value in vars(kind).items()
        if isinstance(value, Method)
    }
