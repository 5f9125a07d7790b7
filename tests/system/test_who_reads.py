"""Who may read what: an agent's own notes never leave it, by whatever way they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import httpx
import pytest

from tests.folders import fresh_folder
from tests.system.service import RunningService, note, search_body, wait_for, write_config

EXPLAIN = "/v1/memory/search/explain"
TRACES = "/v1/memory/search/traces"
TEA = "The tea is kept in the blue tin."


class Notes(NamedTuple):
    """The ids of one note of each kind, all of the same project and about the same thing."""

    own: str
    shared: str
    of_another: str


@pytest.fixture(scope="module", params=["edge", "pgvector"])
def house(request: pytest.FixtureRequest, model_folder: Path) -> Iterator[RunningService]:
    """A service with a read profile that reads nothing."""
    url = {"edge": '"edge:.elf/index"', "pgvector": '"pgvector:"'}[request.param]
    with fresh_folder() as folder:
        config = write_config(
            folder,
            url=url,
            cache_dir=f'"{model_folder}"',
            private_only='["agent_private"]\nnothing = []',
        )
        with RunningService(config) as service:
            yield service


@pytest.fixture
def notes(house: RunningService, tenant: str) -> Notes:
    (own,) = house.add(tenant, note(f"{TEA} A"), scope="agent_private")
    (shared,) = house.add(tenant, note(f"{TEA} B"))
    (of_another,) = house.add(tenant, note(f"{TEA} C"), scope="agent_private", agent_id="b")
    house.wait_found(tenant, TEA, own["note_id"])
    house.wait_found(tenant, TEA, shared["note_id"])
    house.wait_found(tenant, TEA, of_another["note_id"], agent_id="b")
    return Notes(own["note_id"], shared["note_id"], of_another["note_id"])


def place(tenant: str, **changes: str) -> dict[str, str]:
    return {"tenant_id": tenant, "project_id": "p", "agent_id": "a"} | changes


def searched(house: RunningService, tenant: str, **fields: Any) -> dict[str, Any]:
    response = house.post("search", search_body(tenant, TEA, **fields))
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def stored(house: RunningService, path: str, params: dict[str, str]) -> dict[str, Any]:
    """Ask until the trace has been stored."""

    def ask() -> dict[str, Any] | None:
        response = house.client.get(path, params=params)
        return response.json() if response.status_code == 200 else None

    return wait_for(ask, f"{path} answers 200")


def assert_not_found(response: httpx.Response) -> None:
    assert (response.status_code, response.json()["error_code"]) == (404, "NOT_FOUND"), response.text


# Pages by read profile


def test_a_page_shows_what_its_read_profile_reads(house: RunningService, tenant: str, notes: Notes) -> None:
    def listed(**fields: str) -> httpx.Response:
        return house.client.get("/v1/memory/list", params=place(tenant) | fields)

    def ids(**fields: str) -> set[str]:
        return {item["note_id"] for item in listed(**fields).json()["items"]}

    assert ids() == {notes.shared}
    assert ids(read_profile="all_scopes") == {notes.own, notes.shared}
    assert ids(read_profile="all_scopes", agent_id="b") == {notes.of_another, notes.shared}
    assert ids(read_profile="private_only") == {notes.own}
    assert ids(read_profile="private_plus_project", scope="project_shared") == {notes.shared}
    assert ids(read_profile="nothing") == set()
    for fields, code, path in (
        ({"read_profile": "private_only", "scope": "project_shared"}, "SCOPE_DENIED", "$.scope"),
        ({"read_profile": "everything"}, "INVALID_REQUEST", "$.read_profile"),
    ):
        body = listed(**fields).json()
        assert (body["error_code"], body["fields"]) == (code, [path])
    params = {"tenant_id": tenant, "project_id": "p", "read_profile": "all_scopes"}
    nobody = house.client.get("/v1/memory/list", params=params).json()
    assert (nobody["error_code"], nobody["fields"]) == ("INVALID_REQUEST", ["$.agent_id"])


# A profile that reads nothing


def test_a_profile_that_reads_nothing_finds_nothing_and_its_trace_names_no_note(
    house: RunningService, tenant: str, notes: Notes
) -> None:
    found = searched(house, tenant, read_profile="nothing")
    assert (found["items"], found["degraded"]) == ([], [])
    trace = stored(house, f"{TRACES}/{found['trace_id']}", place(tenant))
    assert (trace["items"], trace["dropped"], trace["trace"]["candidate_count"]) == ([], [], 0)
    assert trace["trace"]["allowed_scopes"] == []


def test_a_trace_names_no_private_note_of_another_agent(
    house: RunningService, tenant: str, notes: Notes
) -> None:
    found = searched(house, tenant, candidate_k=100)
    trace = stored(house, f"{TRACES}/{found['trace_id']}", place(tenant))
    named = {one["note_id"] for one in [*trace["items"], *trace["dropped"]]}
    assert named == {notes.own, notes.shared}
    assert notes.of_another not in str(trace)


# By id


@pytest.mark.parametrize("what", ["", "/history"])
def test_a_shared_note_opens_by_its_id_alone_and_a_private_one_does_not(
    house: RunningService, tenant: str, notes: Notes, what: str
) -> None:
    assert house.client.get(f"/v1/memory/notes/{notes.shared}{what}").status_code == 200
    unknown = house.client.get(f"/v1/memory/notes/{uuid4()}{what}")
    assert_not_found(unknown)
    hidden = house.client.get(f"/v1/memory/notes/{notes.own}{what}")
    assert_not_found(hidden)
    assert hidden.json()["fields"] == unknown.json()["fields"]


@pytest.mark.parametrize("what", ["", "/history"])
def test_a_private_note_opens_to_its_agent_alone(
    house: RunningService, tenant: str, notes: Notes, what: str
) -> None:
    path = f"/v1/memory/notes/{notes.own}{what}"
    assert house.client.get(path, params=place(tenant)).status_code == 200
    for name in place(tenant):
        less = {key: value for key, value in place(tenant).items() if key != name}
        assert_not_found(house.client.get(path, params=less))
        assert_not_found(house.client.get(path, params=place(tenant, **{name: "b"})))


def test_the_history_of_a_deleted_private_note_opens_to_its_agent_alone(
    house: RunningService, tenant: str, notes: Notes
) -> None:
    assert house.post("delete", place(tenant) | {"note_id": notes.own}).json()["op"] == "DELETE"
    path = f"/v1/memory/notes/{notes.own}/history"
    assert_not_found(house.client.get(path))
    assert_not_found(house.client.get(path, params=place(tenant, agent_id="b")))
    assert house.client.get(path, params=place(tenant)).json()["items"][0]["op"] == "DELETE"


@pytest.mark.parametrize("slash", ["%2F", "%2f"])
def test_an_id_that_holds_a_slash_reaches_no_other_endpoint(
    house: RunningService, tenant: str, notes: Notes, slash: str
) -> None:
    for response in (
        house.client.get(f"/v1/memory/notes/{notes.shared}{slash}history"),
        house.client.post(f"/v1/memory/notes/{notes.shared}{slash}history/restore", json=place(tenant)),
    ):
        assert (response.status_code, response.json()["fields"]) == (400, ["$.note_id"])


# By the handle of a result


def test_a_handle_alone_explains_a_shared_result_and_names_no_private_note(
    house: RunningService, tenant: str, notes: Notes
) -> None:
    found = searched(house, tenant)
    handles = {item["note_id"]: item["result_handle"] for item in found["items"]}
    assert handles.keys() == {notes.own, notes.shared}
    told = stored(house, EXPLAIN, {"result_handle": handles[notes.shared], **place(tenant)})
    assert [one["note_id"] for one in told["other_items"]] == [notes.own]
    for less in ({}, {"tenant_id": tenant}, {"tenant_id": tenant, "project_id": "p"}):
        alone = house.client.get(EXPLAIN, params={"result_handle": handles[notes.shared], **less})
        assert alone.json()["item"]["note_id"] == notes.shared
        assert alone.json()["other_items"] == []
        assert notes.own not in alone.text


def test_a_handle_alone_does_not_explain_a_private_result(
    house: RunningService, tenant: str, notes: Notes
) -> None:
    found = searched(house, tenant, read_profile="private_only")
    (item,) = found["items"]
    handle = {"result_handle": item["result_handle"]}
    assert stored(house, EXPLAIN, handle | place(tenant))["item"]["note_id"] == notes.own
    unknown = house.client.get(EXPLAIN, params={"result_handle": str(uuid4())})
    hidden = house.client.get(EXPLAIN, params=handle)
    assert (hidden.status_code, hidden.json()["fields"]) == (400, unknown.json()["fields"])
    assert notes.own not in hidden.text


def test_candidates_of_a_private_note_are_not_told_to_a_handle_alone(
    house: RunningService, tenant: str, notes: Notes
) -> None:
    found = searched(house, tenant, top_k=1)
    (item,) = found["items"]
    told = stored(house, EXPLAIN, {"result_handle": item["result_handle"], **place(tenant)})
    assert len(told["dropped"]) == 1
    alone = house.client.get(EXPLAIN, params={"result_handle": item["result_handle"]})
    assert notes.own not in alone.text
