"""A service on a database that another version of ELF has made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.families import steps_on
from elf.db.embedded import EmbeddedServer
from tests.conftest import run_sql
from tests.folders import fresh_folder
from tests.system.service import RunningService, note, search_body, wait_for, write_config
from tests.system.test_bad_start import UNAVAILABLE, refusal

TENANT = "upgraded"

# What versions had that kept no record of steps; tests/db/test_migration.py shows that the rest is alike.
WITHOUT_RECORD = """
DROP TABLE schema_steps;
CREATE TABLE schema_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  fingerprint text NOT NULL,
  vector_dim int NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO schema_state (fingerprint, vector_dim) VALUES ('that of the version before', 384);
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


def change(folder: Path, statements: str) -> None:
    """Change the embedded database of a service that does not run."""
    asyncio.run(_change(EmbeddedServer(folder / ".elf" / "postgres"), statements))


async def _change(server: EmbeddedServer, statements: str) -> None:
    dsn = await server.start()
    try:
        await run_sql(dsn, statements)
    finally:
        await server.leave()


def filled(service: RunningService) -> tuple[str, str]:
    """Add a note, change it and search it; return its id and the handle of the result, once they are stored."""
    (result,) = service.add(TENANT, note("Green tea is served at noon.", key="tea"))
    service.add(TENANT, note("Green tea is served at four.", key="tea"))
    service.wait_found(TENANT, "When is tea served?", result["note_id"])
    answer = service.post("search", search_body(TENANT, "When is tea served?")).json()
    handle = answer["items"][0]["result_handle"]
    wait_for(lambda: "trace" in explained(service, handle), "the trace is stored")
    return result["note_id"], handle


def explained(service: RunningService, handle: str) -> dict[str, Any]:
    found: dict[str, Any] = service.client.get(
        "/v1/memory/search/explain", params={"result_handle": handle}
    ).json()
    return found


def remembered(service: RunningService, note_id: str, handle: str) -> list[Any]:
    """The note, its history and why it was found."""
    notes = f"/v1/memory/notes/{note_id}"
    said = [service.client.get(path) for path in (notes, f"{notes}/history")]
    return [*(response.raise_for_status().json() for response in said), explained(service, handle)]


def test_a_database_of_the_version_before_is_taken_over_and_one_that_does_not_fit_is_refused(
    folder: Path, model_folder: Path
) -> None:
    config = write_config(folder, cache_dir=f'"{model_folder}"')
    with RunningService(config, name="before") as service:
        note_id, handle = filled(service)
        before = remembered(service, note_id, handle)
    assert len(before[1]["items"]) == 2

    change(folder, WITHOUT_RECORD)
    with RunningService(config, name="after") as service:
        assert remembered(service, note_id, handle) == before
        service.wait_found(TENANT, "When is tea served?", note_id)
        applied = [line["steps"] for line in service.events("schema_applied")]
        assert applied == [str(step) for step in steps_on()]
        assert service.complaints() == []

    change(folder, "INSERT INTO schema_steps VALUES ('notes', '999-newer', 'digest', false)")
    with RunningService(config, name="newer") as service:
        assert remembered(service, note_id, handle) == before

    change(folder, "UPDATE schema_steps SET breaks_older = true WHERE name = '999-newer'")
    message = refusal(config, code=UNAVAILABLE)
    assert "notes/999-newer" in message
    assert "install the newer version" in message

    change(
        folder,
        "DELETE FROM schema_steps WHERE name = '999-newer'; UPDATE schema_steps SET digest = 'another'",
    )
    message = refusal(config, code=UNAVAILABLE)
    assert "common/001-tables is not the one that was applied" in message
    assert "a new step with the next number" in message
