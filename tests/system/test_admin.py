"""The admin front, history and restoring against the running service."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.system.service import RunningService, note, wait_for
from tests.system.truth import rows, wait_indexed
from tests.system.writers import Writers

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SOON = 1e-7  # days: some 9 ms


def place(tenant: str) -> dict[str, str]:
    return {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}


def collect(service: RunningService) -> dict[str, int]:
    """Collect garbage, once nobody else does, and return the counts of all steps."""

    def ask() -> dict[str, int] | None:
        response = service.admin.post("/v1/admin/gc")
        assert response.status_code == 200, response.text
        counts: dict[str, int] = response.json()["counts"]
        return counts if response.json()["ran"] else None

    return wait_for(ask, "nobody else collects")


def read_note(service: RunningService, note_id: str) -> dict[str, Any] | None:
    response = service.client.get(f"/v1/memory/notes/{note_id}")
    assert response.status_code in (200, 404)
    found: dict[str, Any] = response.json()
    return found if response.status_code == 200 else None


def history(service: RunningService, note_id: str, **params: Any) -> dict[str, Any]:
    response = service.client.get(f"/v1/memory/notes/{note_id}/history", params=params)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def restore(service: RunningService, tenant: str, note_id: str, /, **body: Any) -> httpx.Response:
    return service.client.post(f"/v1/memory/notes/{note_id}/restore", json=place(tenant) | body)


def decisions(service: RunningService, **params: Any) -> dict[str, Any]:
    response = service.admin.get("/v1/admin/ingest_decisions", params=params)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def an_expired_note(service: RunningService, tenant: str, text: str) -> str:
    (result,) = service.add(tenant, note(text, ttl_days=SOON))
    note_id: str = result["note_id"]
    wait_for(
        lambda: note_id in {item["note_id"] for item in expired(service, tenant)}, "the note has expired"
    )
    return note_id


def expired(service: RunningService, tenant: str) -> list[dict[str, Any]]:
    params = {"tenant_id": tenant, "project_id": "p", "status": "expired"}
    found: list[dict[str, Any]] = service.client.get("/v1/memory/list", params=params).json()["items"]
    return found


# The front


def test_the_admin_front_has_its_own_address_and_the_admin_operations_are_only_there(
    service: RunningService,
) -> None:
    assert service.admin_url.startswith("http://127.0.0.1:")
    assert service.admin_url != service.url
    assert service.admin.get("/health").json() == {"status": "ok"}
    parts = {part["name"]: part["state"] for part in service.admin.get("/ready").json()["parts"]}
    assert parts["admin_front"] == parts["gc_ticker"] == "ready"
    assert service.client.post("/v1/admin/gc", json={}).status_code == 404
    assert service.client.get("/v1/admin/ingest_decisions").status_code == 404
    assert service.admin.post("/v1/memory/search", json={}).status_code == 404


def test_a_collection_that_is_asked_for_something_unknown_is_refused(service: RunningService) -> None:
    response = service.admin.post("/v1/admin/gc", json={"purge": "everything"})
    assert (response.status_code, response.json()["fields"]) == (400, ["$.purge"])


# The index of a corpus


def test_the_index_of_any_corpus_is_kept_by_its_name_and_that_of_notes_is_the_same(
    service: RunningService, tenant: str
) -> None:
    service.add(tenant, note("The ferry to the island leaves at noon."))
    wait_indexed(service)
    rebuilt = service.admin.post("/v1/admin/index/notes/rebuild").raise_for_status().json()
    assert rebuilt["rebuilt_count"] > 0
    assert (rebuilt["error_count"], rebuilt["removed_count"]) == (0, 0)
    progress = service.admin.get("/v1/admin/index/notes/progress").json()
    assert (progress["state"], progress["report"]) == ("done", rebuilt)
    assert service.admin.get("/v1/admin/rebuild_qdrant").json() == progress
    compared = service.admin.get("/v1/admin/index/notes/drift", params={"examples": 1}).json()
    assert (compared["missing_count"], compared["orphaned_count"]) == (0, 0)
    assert compared["examples"]["missing"] == []
    repaired = service.admin.post("/v1/admin/index/notes/repair").json()
    assert repaired["jobs"] >= repaired["open_jobs"] == 0


@pytest.mark.parametrize(
    ("method", "asked"), [("POST", "rebuild"), ("GET", "progress"), ("GET", "drift"), ("POST", "repair")]
)
def test_a_corpus_that_is_not_there_is_not_found(service: RunningService, method: str, asked: str) -> None:
    response = service.admin.request(method, f"/v1/admin/index/nobodys/{asked}")
    body = response.json()
    assert (response.status_code, body["error_code"], body["fields"]) == (404, "NOT_FOUND", ["$.corpus"])
    assert "nobodys" in body["message"]
    assert service.client.request(method, f"/v1/admin/index/notes/{asked}").status_code == 404


# Collecting


def test_an_expired_note_is_deleted_by_a_collection_and_leaves_the_index(
    service: RunningService, tenant: str
) -> None:
    note_id = an_expired_note(service, tenant, "The lift is out of order until noon.")
    assert collect(service)["expired_notes"] >= 1
    found = read_note(service, note_id)
    assert found is not None
    assert found["status"] == "deleted"
    assert [item["reason"] for item in history(service, note_id)["items"]] == ["expired", "new note"]
    assert service.search(tenant, "the lift is out of order") == []


def test_a_purged_note_leaves_only_blank_versions(service: RunningService, tenant: str) -> None:
    (result,) = service.add(
        tenant, note("The old boiler hums at night.", key="boiler", source_ref={"by": "Ines"})
    )
    note_id = result["note_id"]
    service.wait_found(tenant, "boiler hums", note_id)
    assert service.post("delete", place(tenant) | {"note_id": note_id}).status_code == 200
    folder = service.config.parent
    ago = (
        "UPDATE memory_notes SET updated_at = now() - interval '31 days' WHERE note_id = $1::uuid RETURNING 1"
    )
    assert rows(folder, ago, note_id)
    assert collect(service)["purged_deleted_notes"] >= 1
    assert read_note(service, note_id) is None
    blank = history(service, note_id)["items"]
    assert [item["op"] for item in blank] == ["PURGE", "DELETE", "ADD"]
    assert "oiler" not in str(blank)
    assert "Ines" not in str(blank)
    refused = restore(service, tenant, note_id)
    assert (refused.status_code, refused.json()["error_code"]) == (400, "INVALID_REQUEST")
    wait_indexed(service)
    for table in ("memory_note_chunks", "note_embeddings", "memory_hits", "memory_ingest_decisions"):
        assert rows(folder, f"SELECT 1 FROM {table} WHERE note_id = $1::uuid", note_id) == []


def test_two_services_that_collect_at_once_do_the_work_once(service: RunningService, tenant: str) -> None:
    texts = [f"The parcel number {number} waits at the gate." for number in range(30)]
    service.add(tenant, *(note(text, key=f"parcel {text}", ttl_days=SOON) for text in texts))
    wait_for(lambda: len(expired(service, tenant)) == len(texts), "all have expired")
    with RunningService(service.config, name="second") as other, ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(collect, [service, other]))
    mine = "SELECT count(*) AS deletions FROM memory_note_versions v JOIN memory_notes n USING (note_id)"
    mine += " WHERE n.tenant_id = $1 AND v.op = 'DELETE'"
    assert rows(service.config.parent, mine, tenant)[0]["deletions"] == len(texts)
    assert all("expired_notes" in done for done in counts)


def test_collections_do_not_disturb_those_who_write_and_search(service: RunningService, tenant: str) -> None:
    service.add(tenant, *(note(f"Visitor {n} leaves soon.", key=f"v{n}", ttl_days=SOON) for n in range(40)))
    with Writers(service, tenant, clients=4) as writers:
        for _ in range(12):
            collect(service)
            service.search(tenant, "who leaves soon?", record_hits=True)
        writers.stop()
    assert writers.faults == []
    assert len(writers.acknowledged) > 0
    assert expired(service, tenant) == []


# History


def test_a_history_is_paged_and_keeps_every_state(service: RunningService, tenant: str) -> None:
    (result,) = service.add(tenant, note("The gate is green."))
    note_id = result["note_id"]
    for colour in ("red", "blue"):
        changed = place(tenant) | {"note_id": note_id, "text": f"The gate is {colour}."}
        assert service.post("update", changed).json()["op"] == "UPDATE"
    first = history(service, note_id, limit=2)
    rest = history(service, note_id, limit=2, cursor=first["next_cursor"])
    assert rest["next_cursor"] is None
    items = first["items"] + rest["items"]
    assert [item["new_snapshot"]["text"] for item in items] == [
        "The gate is blue.", "The gate is red.", "The gate is green.",
    ]  # fmt: skip
    assert [item["prev_snapshot"] for item in items] == [*(item["new_snapshot"] for item in items[1:]), None]
    assert {item["actor"] for item in items} == {"update", "add_note"}


def test_a_history_outside_the_context_is_not_found(service: RunningService, tenant: str) -> None:
    (result,) = service.add(tenant, note("Mine alone."), scope="agent_private")
    for params in (place(tenant) | {"agent_id": "b"}, place("another tenant")):
        response = service.client.get(f"/v1/memory/notes/{result['note_id']}/history", params=params)
        assert (response.status_code, response.json()["error_code"]) == (404, "NOT_FOUND")
    assert service.client.get(f"/v1/memory/notes/{uuid4()}/history").status_code == 404


# Restoring


def test_a_deleted_note_is_restored_and_found_again(service: RunningService, tenant: str) -> None:
    (result,) = service.add(tenant, note("The spare key hangs behind the door."))
    note_id = result["note_id"]
    service.wait_found(tenant, "Where is the spare key?", note_id)
    service.post("delete", place(tenant) | {"note_id": note_id})
    assert service.search(tenant, "Where is the spare key?") == []
    answer = restore(service, tenant, note_id)
    assert (answer.status_code, answer.json()["op"]) == (200, "UPDATE")
    service.wait_found(tenant, "Where is the spare key?", note_id)
    assert history(service, note_id)["items"][0]["reason"] == "restore"
    assert restore(service, tenant, note_id).json()["op"] == "NONE"


def test_the_old_text_is_found_after_a_restore_and_the_newer_one_never_again(
    service: RunningService, tenant: str
) -> None:
    (result,) = service.add(tenant, note("The meeting is on Monday morning."))
    note_id = result["note_id"]
    service.post("update", place(tenant) | {"note_id": note_id, "text": "The picnic is on Sunday evening."})
    service.wait_found(tenant, "picnic Sunday evening", note_id)
    added = history(service, note_id)["items"][-1]["version_id"]
    assert restore(service, tenant, note_id, version_id=added).json()["version_id"] == added
    wait_indexed(service)
    (item,) = service.search(tenant, "picnic Sunday evening")
    assert item["snippet"] == "The meeting is on Monday morning."


@pytest.mark.parametrize(
    ("body", "field"),
    [({"note_id": str(uuid4())}, "$.note_id"), ({"version_id": "x"}, "$.version_id"), ({"when": 1}, "$.when"),
     ({"version_id": str(uuid4())}, "$.version_id")],
)  # fmt: skip
def test_a_restore_of_what_is_not_there_is_refused(
    service: RunningService, tenant: str, body: dict[str, Any], field: str
) -> None:
    (result,) = service.add(tenant, note("A note."))
    response = restore(service, tenant, result["note_id"], **body)
    assert (response.status_code, response.json()["fields"]) == (400, [field])
    assert restore(service, tenant, "no-id").json()["fields"] == ["$.note_id"]


# Decisions


def test_decisions_are_listed_newest_first_and_filtered(service: RunningService, tenant: str) -> None:
    (kept,) = service.add(tenant, note("The well is deep.", key="well"))
    service.add(tenant, note("The well is deep.", key="well"), note(" "))
    found = decisions(service, tenant_id=tenant, limit=2)
    older = decisions(service, tenant_id=tenant, limit=2, cursor=found["next_cursor"])
    assert [item["op"] for item in found["items"] + older["items"]] == ["REJECTED", "NONE", "ADD"]
    assert older["next_cursor"] is None
    assert [item["op"] for item in decisions(service, tenant_id=tenant, note_id=kept["note_id"])["items"]] == [
        "NONE", "ADD",
    ]  # fmt: skip
    assert decisions(service, tenant_id=tenant, op="REJECTED")["items"][0]["reason_code"] == "REJECT_EMPTY"
    assert decisions(service, tenant_id=tenant, project_id="q")["items"] == []
    assert decisions(service, tenant_id=tenant, agent_id="a", project_id="p", op="ADD")["items"][0]["note_id"]
    for params in ({}, {"tenant_id": tenant, "cursor": "x"}, {"tenant_id": tenant, "op": "MAYBE"}):
        assert service.admin.get("/v1/admin/ingest_decisions", params=params).status_code == 400


def test_no_decision_holds_a_secret_or_a_rejected_word(service: RunningService, tenant: str) -> None:
    service.add(tenant, note(f"The token is {SECRET}."), note("Sesame opens.", type=f"type {SECRET}"))
    service.add(tenant, note("Sesame opens."), scope=f"scope {SECRET}")
    found = decisions(service, tenant_id=tenant)
    assert len(found["items"]) == 3
    stored = rows(
        Path(service.config.parent),
        "SELECT d::text AS line FROM memory_ingest_decisions d WHERE tenant_id = $1",
        tenant,
    )
    for text in (str(found), " ".join(row["line"] for row in stored), service.log):
        assert SECRET not in text
        assert "Sesame" not in text
