"""Which path leads where."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from elf.core.errors import InvalidRequest, NotFound

if TYPE_CHECKING:
    from elf.api.operation import Operation
    from elf.web.exchange import Exchange
    from elf.web.response import Response

Answer: TypeAlias = "Callable[[Exchange], Awaitable[Response]]"


class MethodNotAllowed(InvalidRequest):
    """There is something at the path, but not with this method; `allowed` are those that it has."""

    status = 405

    def __init__(self, allowed: list[str]) -> None:
        super().__init__("The method is not allowed for the requested URL.")
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class Route:
    """What answers the requests with one of these methods at a path, which may hold parameters in braces."""

    path: str
    methods: tuple[str, ...]
    answer: Answer
    operation: Operation | None = None


@dataclass(slots=True)
class _Place:
    """What is at a path, and below it: by the next part of the path, or at any."""

    routes: list[Route] = field(default_factory=list)
    named: dict[str, _Place] = field(default_factory=dict)
    any: _Place | None = None


class Routes:
    """All routes of an application. A path that is named is found before one with a parameter in its place."""

    def __init__(self) -> None:
        self._root = _Place()

    def add(self, route: Route) -> None:
        """Have a path lead somewhere."""
        place = self._root
        for part in _parts(route.path):
            if part.startswith("{"):
                place.any = place.any or _Place()
                place = place.any
            else:
                place = place.named.setdefault(part, _Place())
        place.routes.append(route)

    def find(self, path: str, method: str) -> tuple[Route, dict[str, str]]:
        """Return the route of a request and the values of the parameters of its path.

        Raises NotFound for a path that leads nowhere, MethodNotAllowed for one that does not with this method.
        """
        return self.find_parts(_parts(path), method, path=path)

    def find_parts(self, parts: list[str], method: str, *, path: str) -> tuple[Route, dict[str, str]]:
        """Return what `find` does for the decoded parts of a path, of which one may have slashes."""
        allowed: set[str] = set()
        for route in _found(self._root, parts, 0):
            if method in route.methods:
                return route, _values(route, parts)
            allowed.update(route.methods)
        if allowed:
            raise MethodNotAllowed(sorted(allowed))
        raise NotFound(f"there is nothing at {path}")


def _parts(path: str) -> list[str]:
    return path.split("/")[1:]


def _found(place: _Place, parts: list[str], at: int) -> Iterator[Route]:
    if at == len(parts):
        yield from place.routes
        return
    if (named := place.named.get(parts[at])) is not None:
        yield from _found(named, parts, at + 1)
    if place.any is not None and parts[at]:
        yield from _found(place.any, parts, at + 1)


def _values(route: Route, parts: list[str]) -> dict[str, Any]:
    pairs = zip(_parts(route.path), parts, strict=True)
    return {name[1:-1]: part for name, part in pairs if name.startswith("{")}
