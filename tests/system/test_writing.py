"""Writing, reading, changing and deleting notes over HTTP, against the whole service."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest

from tests.system.service import RunningService, add_body, note, wait_for


def test_a_note_is_stored_as_given_and_read_back(service: RunningService, tenant: str) -> None:
    (result,) = service.add(
        tenant,
        note("Fact: The build takes 7 minutes.", key="build_time", source_ref={"file": "ci.log", "line": 3}),
    )
    assert result["op"] == "ADD"
    assert result["reason_code"] is None
    read = service.client.get(f"/v1/memory/notes/{result['note_id']}").json()
    assert read["text"] == "Fact: The build takes 7 minutes."
    assert read["key"] == "build_time"
    assert (read["importance"], read["confidence"]) == (0.5, 0.9)
    assert read["source_ref"] == {"file": "ci.log", "line": 3}
    assert read["status"] == "active"


def test_the_same_payload_twice_says_none(service: RunningService, tenant: str) -> None:
    payload = [note("Alice prefers tea.", key="drink"), note("The office closes at six on Fridays.")]
    first = service.add(tenant, *payload)
    second = service.add(tenant, *payload)
    assert [result["op"] for result in first] == ["ADD", "ADD"]
    assert [result["op"] for result in second] == ["NONE", "NONE"]
    assert [result["note_id"] for result in first] == [result["note_id"] for result in second]


def test_a_note_with_a_known_key_is_changed_in_place(service: RunningService, tenant: str) -> None:
    (first,) = service.add(tenant, note("Alice prefers tea.", key="drink"))
    (second,) = service.add(tenant, note("Alice prefers coffee now.", key="drink"))
    assert second["op"] == "UPDATE"
    assert second["note_id"] == first["note_id"]
    before = service.client.get(f"/v1/memory/notes/{first['note_id']}").json()
    assert before["text"] == "Alice prefers coffee now."
    item = service.wait_found(tenant, "What does Alice prefer?", first["note_id"])
    assert item["snippet"] == "Alice prefers coffee now."


def test_keys_of_different_types_scopes_and_agents_are_different_notes(
    service: RunningService, tenant: str
) -> None:
    a = service.add(tenant, note("One.", key="k"))
    b = service.add(tenant, note("One.", key="k", type="decision"))
    c = service.add(tenant, note("One.", key="k"), scope="org_shared")
    d = service.add(tenant, note("One.", key="k"), agent_id="b")
    assert len({results[0]["note_id"] for results in (a, b, c, d)}) == 4
    assert {results[0]["op"] for results in (a, b, c, d)} == {"ADD"}


def test_a_rewording_without_key_is_known_and_what_differs_is_new(
    service: RunningService, tenant: str
) -> None:
    (first,) = service.add(tenant, note("The weekly sync meeting is on Monday at 10 am in room Berlin."))
    (near,) = service.add(tenant, note("The weekly sync meeting is on Monday at 10:00 am in room Berlin."))
    (moved,) = service.add(tenant, note("The weekly sync meeting is on Monday at 11 am in room Berlin."))
    (other,) = service.add(tenant, note("Bob owns a red bicycle."))
    assert near["op"] in {"NONE", "UPDATE"}
    assert near["note_id"] == first["note_id"]
    assert (moved["op"], moved["similar_to"]) == ("ADD", first["note_id"])
    assert other["op"] == "ADD"


def test_notes_of_one_request_are_resolved_in_order(service: RunningService, tenant: str) -> None:
    results = service.add(
        tenant, note("Port is 1.", key="port"), note("Port is 2.", key="port"), note("Port is 2.", key="port")
    )
    assert [result["op"] for result in results] == ["ADD", "UPDATE", "NONE"]
    assert len({result["note_id"] for result in results}) == 1


def test_rejected_notes_do_not_stop_the_others(service: RunningService, tenant: str) -> None:
    results = service.add(
        tenant,
        note("   "),
        note("x" * 241),
        note("Fine.", type="opinion"),
        note("My key is " + "sk-" + "ant-api03-" + "a1B2" * 23 + "-" + "c3D4" * 2 + "AA"),
        note("Fact: the sky is blue."),
    )
    assert [result["reason_code"] for result in results] == [
        "REJECT_EMPTY",
        "REJECT_TOO_LONG",
        "REJECT_INVALID_TYPE",
        "REJECT_SECRET",
        None,
    ]
    assert [result["note_id"] is None for result in results] == [True, True, True, True, False]
    assert all("sk-" not in str(result) for result in results)


def test_an_unknown_scope_is_a_rejection(service: RunningService, tenant: str) -> None:
    (result,) = service.add(tenant, note("Fine."), scope="everyone")
    assert (result["op"], result["reason_code"]) == ("REJECTED", "REJECT_SCOPE_DENIED")


def test_update_changes_only_what_is_given(service: RunningService, tenant: str) -> None:
    (added,) = service.add(tenant, note("The limit is 10.", key="limit", ttl_days=5))
    before = service.client.get(f"/v1/memory/notes/{added['note_id']}").json()
    context = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "note_id": added["note_id"]}
    changed = service.post("update", context | {"text": "The limit is 20."}).json()
    assert changed["op"] == "UPDATE"
    after = service.client.get(f"/v1/memory/notes/{added['note_id']}").json()
    assert after["text"] == "The limit is 20."
    assert after["expires_at"] == before["expires_at"]
    assert after["importance"] == before["importance"]
    assert service.post("update", context | {"text": "The limit is 20."}).json()["op"] == "NONE"
    assert service.post("update", context | {"text": " "}).json()["reason_code"] == "REJECT_EMPTY"


def test_update_with_a_ttl_of_zero_takes_the_default_of_the_type(
    service: RunningService, tenant: str
) -> None:
    (added,) = service.add(tenant, note("We never deploy on Fridays.", type="constraint", ttl_days=5))
    context = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "note_id": added["note_id"]}
    assert service.post("update", context | {"ttl_days": 0}).json()["op"] == "UPDATE"
    assert service.client.get(f"/v1/memory/notes/{added['note_id']}").json()["expires_at"] is None


def test_a_deleted_note_is_gone_from_search_and_list_and_says_none_again(
    service: RunningService, tenant: str
) -> None:
    (added,) = service.add(tenant, note("The mascot is a purple llama.", key="mascot"))
    service.wait_found(tenant, "purple llama mascot", added["note_id"])
    context = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "note_id": added["note_id"]}
    assert service.post("delete", context).json()["op"] == "DELETE"
    assert service.search(tenant, "purple llama mascot") == []
    assert service.post("delete", context).json()["op"] == "NONE"
    assert service.post("update", context | {"text": "It lives."}).status_code == 404
    listing = {"tenant_id": tenant, "project_id": "p"}
    assert service.client.get("/v1/memory/list", params=listing).json()["items"] == []
    deleted = service.client.get("/v1/memory/list", params=listing | {"status": "deleted"}).json()["items"]
    assert [item["note_id"] for item in deleted] == [added["note_id"]]
    (again,) = service.add(tenant, note("The mascot is a purple llama.", key="mascot"))
    assert again["op"] == "ADD"
    assert again["note_id"] != added["note_id"]


def test_the_list_pages_through_every_note_newest_first(service: RunningService, tenant: str) -> None:
    texts = [f"Item {number} of the list." for number in range(7)]
    for text in texts:
        service.add(tenant, note(text, key=text))
    params = {"tenant_id": tenant, "project_id": "p", "limit": "3"}
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = service.client.get(
            "/v1/memory/list", params=params | ({"cursor": cursor} if cursor else {})
        ).json()
        seen += [item["text"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        assert len(page["items"]) == 3
    assert seen == texts[::-1]


def test_a_private_note_never_leaves_its_agent(service: RunningService, tenant: str) -> None:
    (private,) = service.add(tenant, note("Agent a hides the silver key."), scope="agent_private")
    note_id = private["note_id"]
    service.wait_found(tenant, "silver key", note_id)
    assert service.search(tenant, "silver key", agent_id="b") == []
    get = f"/v1/memory/notes/{note_id}"
    place = {"tenant_id": tenant, "project_id": "p"}
    assert service.client.get(get, params=place | {"agent_id": "b"}).status_code == 404
    assert service.client.get(get, params=place | {"agent_id": "a"}).status_code == 200
    assert service.client.get(get).status_code == 200
    listing = service.client.get(
        "/v1/memory/list", params=place | {"scope": "agent_private", "agent_id": "b"}
    ).json()
    assert listing["items"] == []
    assert service.client.get("/v1/memory/list", params=place).json()["items"] == []
    for name in ("update", "delete"):
        body = place | {"agent_id": "b", "note_id": note_id} | ({"text": "mine"} if name == "update" else {})
        assert service.post(name, body).status_code == 404


def test_one_tenant_never_sees_another(service: RunningService, tenant: str) -> None:
    (mine,) = service.add(tenant, note("The vault opens at noon."))
    service.wait_found(tenant, "vault opens", mine["note_id"])
    other = f"{tenant[:100]}-other"
    assert service.search(other, "vault opens") == []
    assert service.search(tenant, "vault opens", project_id="q") == []
    response = service.client.get(f"/v1/memory/notes/{mine['note_id']}", params={"tenant_id": other})
    assert response.status_code == 404
    assert response.json()["error_code"] == "NOT_FOUND"
    assert service.add(other, note("The vault opens at noon."))[0]["op"] == "ADD"


@pytest.mark.parametrize("key", ["same", None])
def test_many_writers_of_one_note_leave_one_note(
    service: RunningService, tenant: str, key: str | None
) -> None:
    body = add_body(tenant, note("All of us say this at once.", key=key))
    with ThreadPoolExecutor(16) as pool:
        responses = list(pool.map(lambda _: service.post("add_note", body), range(32)))
    assert [response.status_code for response in responses] == [200] * 32
    results = [response.json()["results"][0] for response in responses]
    assert sorted(result["op"] for result in results) == ["ADD"] + ["NONE"] * 31
    assert len({result["note_id"] for result in results}) == 1


def test_an_idle_service_indexes_a_note_by_itself(service: RunningService, tenant: str) -> None:
    (added,) = service.add(tenant, note("Zanzibar exports cloves.", key="cloves"))
    item = service.wait_found(tenant, "Which island sells cloves?", added["note_id"])
    assert item["explain"]["retrieval_rank"] == 1


def test_an_unknown_note_is_not_found(service: RunningService, tenant: str) -> None:
    response = service.client.get(f"/v1/memory/notes/{uuid4()}")
    assert response.status_code == 404
    body = response.json()
    assert body["error_code"] == "NOT_FOUND"
    assert UUID(response.headers["X-Request-Id"])


def test_a_short_lived_note_expires(service: RunningService, tenant: str) -> None:
    (added,) = service.add(tenant, note("This lives for two seconds.", key="brief", ttl_days=2 / 86_400))
    listing = {"tenant_id": tenant, "project_id": "p"}

    def expired() -> bool:
        items = service.client.get("/v1/memory/list", params=listing | {"status": "expired"}).json()["items"]
        return [item["note_id"] for item in items] == [added["note_id"]]

    wait_for(expired, "the note is listed as expired")
    assert service.client.get("/v1/memory/list", params=listing).json()["items"] == []
    assert service.search(tenant, "lives for two seconds") == []
    (again,) = service.add(tenant, note("This lives for two seconds.", key="brief"))
    assert again["op"] == "ADD"
    assert again["note_id"] != added["note_id"]
