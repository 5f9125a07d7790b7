"""Names in paths, whatever they are made of: each stands for itself, and leads nowhere else."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from elf.client import Client, InvalidRequest
from tests.system.said import ROOT, Speaker
from tests.system.service import RunningService

ODD = (
    "a/b", "/", "a%b", "100%25", "a%2Fb", "a b", "Jürgen", "https://issuer.example/users/7?x=1#y", "list", "a+b",
    "history/../x",
)  # fmt: skip
USERS = tuple(name for name in ODD if ".." not in name)


def operations(service: RunningService) -> Iterator[tuple[str, str, str]]:
    """Yield the address of each front, with the method and the path of each operation whose path has parameters."""
    for url in (service.url, service.admin_url):
        document = httpx.get(f"{url}/openapi.json", timeout=60).json()
        for path, methods in document["paths"].items():
            if "{" in path:
                yield from ((url, method.upper(), path) for method in methods)


def filled(path: str, value: str) -> str:
    names = [name for _, name, _, _ in string.Formatter().parse(path) if name]
    return path.format_map(dict.fromkeys(names, quote(value, safe="")))


@pytest.mark.parametrize("odd", ODD)
def test_every_operation_takes_an_odd_name_for_one_or_says_why_not(service: RunningService, odd: str) -> None:
    seen = 0
    with httpx.Client(headers={"Authorization": "Bearer odd"}, timeout=60) as http:
        for url, method, path in operations(service):
            response = http.request(method, url + filled(path, odd), json={} if method != "GET" else None)
            assert response.status_code in (200, 204, 400, 403, 404, 409), (method, path, response.text)
            assert "there is nothing at" not in response.text, (method, path)
            if response.is_error:
                assert reason(response.json()), (method, path, response.text)
            seen += 1
    assert seen > 40


def reason(body: Mapping[str, Any]) -> object:
    """Return what is said of a failure beside its code."""
    return body.get("message") or body["details"].get("message") or body["details"].get("id")


@pytest.mark.parametrize("user", USERS)
def test_a_member_of_any_name_is_changed_and_removed(service: RunningService, user: str) -> None:
    ana = Speaker(service)
    trip = ana.begin()
    members = f"{ROOT}/{trip}/memberships"
    ana.call("POST", members, status=201, userId=user, accessLevel="reader")
    one = f"{members}/{quote(user, safe='')}"
    assert ana.call("PATCH", one, accessLevel="writer")["userId"] == user
    assert {each["userId"]: each["accessLevel"] for each in ana.call("GET", members)["data"]}[
        user
    ] == "writer"
    ana.call("DELETE", one, status=204)
    assert [each["userId"] for each in ana.call("GET", members)["data"]] == [ana.name]
    with Client(service.url, token=ana.name) as client:
        client.conversations.share(trip, user, "reader")
        assert client.conversations.change_membership(trip, user, "manager").user_id == user
        client.conversations.remove_membership(trip, user)
        assert [one.user_id for one in client.conversations.memberships(trip)] == [ana.name]


def test_a_name_that_would_be_left_out_of_a_path_is_refused(service: RunningService) -> None:
    with Client(service.url, token="ana") as client:
        for name in (".", "..", "a/../b"):
            with pytest.raises(InvalidRequest, match="user_id: cannot stand in a path"):
                client.conversations.remove_membership(uuid4(), name)


@pytest.mark.parametrize("thread", USERS)
def test_a_thread_of_any_name_has_its_own_checkpoint(
    service: RunningService, tenant: str, thread: str
) -> None:
    path = f"/v1/assistant/threads/{quote(thread, safe='')}/checkpoint"
    headers = {"Authorization": "Bearer ana"}
    saved = service.client.post(
        path, json={"tenant_id": tenant[-60:], "checkpoint_data": {"thread": thread}}, headers=headers
    )
    assert saved.status_code == 200, saved.text
    found = service.client.get(path, params={"tenant_id": tenant[-60:]}, headers=headers)
    assert found.json()["checkpoint_data"] == {"thread": thread}
