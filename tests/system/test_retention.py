"""What gathers around notes is dropped by its age, and a history says where it begins."""

from __future__ import annotations

from tests.system.service import RunningService, note
from tests.system.truth import rows

KEPT = 20  # versions_kept of the example config


def test_old_versions_and_hits_go_and_the_history_says_so(service: RunningService, tenant: str) -> None:
    (added,) = service.add(tenant, note("The lamp is green."))
    note_id, owner = added["note_id"], {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
    for number in range(KEPT + 4):
        body = owner | {"note_id": note_id, "importance": number / 100}
        assert service.post("update", body).json()["op"] == "UPDATE"
    service.wait_found(tenant, "Which colour is the lamp?", note_id)
    service.search(tenant, "Which colour is the lamp?", record_hits=True)
    history = f"/v1/memory/notes/{note_id}/history"
    whole = service.client.get(history).json()
    assert (len(whole["items"]), whole["dropped_before"]) == (KEPT + 5, None)
    folder = service.config.parent
    for table in ("memory_note_versions", "memory_hits", "memory_ingest_decisions"):
        rows(
            folder, f"UPDATE {table} SET ts = ts - interval '2 years' WHERE note_id = $1::text::uuid", note_id
        )
    counts = service.admin.post("/v1/admin/gc").json()["counts"]
    assert {name: counts[name] for name in ("old_versions", "old_hits", "old_decisions_of_notes")} == {
        "old_versions": 5, "old_hits": 1, "old_decisions_of_notes": 1,
    }  # fmt: skip
    left = service.client.get(history).json()
    assert len(left["items"]) == KEPT
    assert left["dropped_before"] == left["items"][-1]["ts"]
    assert service.client.get(f"/v1/memory/notes/{note_id}").json()["importance"] == (KEPT + 3) / 100
