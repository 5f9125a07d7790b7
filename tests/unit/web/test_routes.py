"""Which path leads where, and what is told of one that leads nowhere."""

from __future__ import annotations

import pytest

from elf.core.errors import NotFound
from elf.web.exchange import Exchange
from elf.web.response import Response
from elf.web.routes import MethodNotAllowed, Route, Routes


async def answer(_: Exchange) -> Response:
    return Response()


def routes_of(*routes: tuple[str, str]) -> Routes:
    made = Routes()
    for method, path in routes:
        made.add(Route(path, (method,), answer))
    return made


NOTES = routes_of(
    ("POST", "/notes/list"), ("GET", "/notes/{note_id}"), ("PATCH", "/notes/{note_id}"),
    ("GET", "/notes/{note_id}/history"), ("PUT", "/users/{user}/keys/{key}"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "led_to", "values"),
    [
        ("POST", "/notes/list", "/notes/list", {}),
        ("GET", "/notes/7", "/notes/{note_id}", {"note_id": "7"}),
        ("PATCH", "/notes/7", "/notes/{note_id}", {"note_id": "7"}),
        ("GET", "/notes/7/history", "/notes/{note_id}/history", {"note_id": "7"}),
        ("GET", "/notes/list/history", "/notes/{note_id}/history", {"note_id": "list"}),
        ("GET", "/notes/list", "/notes/{note_id}", {"note_id": "list"}),
        ("PUT", "/users/a%20b/keys/{}", "/users/{user}/keys/{key}", {"user": "a b", "key": "{}"}),
        ("GET", "/notes/a%2Fhistory", "/notes/{note_id}", {"note_id": "a/history"}),
        ("GET", "/notes/%252F/history", "/notes/{note_id}/history", {"note_id": "%2F"}),
    ],
)
def test_a_path_that_is_named_comes_before_a_parameter(
    method: str, path: str, led_to: str, values: dict[str, str]
) -> None:
    route, found = NOTES.find(path, method)
    assert (route.path, found) == (led_to, values)
    assert method in route.methods


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/notes",
        "/notes/",
        "/notes//history",
        "/notes/7/",
        "/notes/7/history/x",
        "/Notes/7",
        "/{x}",
        "/notes%2F7",
    ],
)
def test_a_path_that_leads_nowhere_is_not_found(path: str) -> None:
    with pytest.raises(NotFound, match="there is nothing at"):
        NOTES.find(path, "GET")


def test_another_method_is_told_those_that_there_are() -> None:
    with pytest.raises(MethodNotAllowed) as refused:
        NOTES.find("/notes/list", "DELETE")
    assert refused.value.allowed == ["GET", "PATCH", "POST"]
