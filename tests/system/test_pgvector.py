"""The service with no index server: it searches in its Postgres."""

from __future__ import annotations

from pathlib import Path

from tests.folders import fresh_folder
from tests.system.service import RunningService, note, write_config


def test_a_service_on_pgvector_finds_what_it_is_told_and_forgets_what_is_deleted(
    model_folder: Path, tenant: str
) -> None:
    with fresh_folder() as folder:
        config = write_config(folder, url='"pgvector:"', cache_dir=f'"{model_folder}"')
        with RunningService(config) as service:
            kept, gone = service.add(
                tenant, note("The deployment runs every Friday."), note("Anna is allergic to peanuts.")
            )
            service.wait_found(tenant, "When do we ship releases?", kept["note_id"])
            service.wait_found(tenant, "peanuts", gone["note_id"])
            assert service.index_process_or_none() is None
            context = {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
            assert service.post("delete", context | {"note_id": gone["note_id"]}).json()["op"] == "DELETE"
            items = service.search(tenant, "peanuts")
            assert [item["note_id"] for item in items] == [kept["note_id"]]
            assert service.complaints() == []
