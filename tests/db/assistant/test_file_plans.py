"""The plans of what reads and writes files: rows of one user, and of a folder those below it, by an index."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from elf.db import migration
from elf.db.queries import sql_folder
from elf.db.schema import schema_steps
from elf.families.assistant.kit import assistant_queries
from elf.families.assistant.model import FAMILY
from tests.conftest import TEMPLATE, VECTOR_DIM, dsn_of, run_sql
from tests.db.notes.test_query_plans import nodes_of_plan
from tests.notes_kit import NOW

pytestmark = pytest.mark.anyio

NAME: Final = "assistant_file_plans"
SEED: Final = """
INSERT INTO assistant_files (
  tenant_id, user_id, path, file_id, version, text, size_bytes, created_at, updated_at)
SELECT 'acme', 'user ' || i % 60, '/memories/folder ' || i % 10 || '/' || i, md5('file' || i)::uuid, 3,
  'seat ' || md5(i::text), 37, now(), now()
FROM generate_series(1, 6000) AS i;

INSERT INTO assistant_file_versions (tenant_id, user_id, file_id, version, text, size_bytes, written_at)
SELECT f.tenant_id, f.user_id, f.file_id, v, f.text, 37, now() FROM assistant_files AS f, generate_series(1, 2) AS v;

VACUUM ANALYZE;
"""
PLACE: Final = ("acme", "user 7")
FOLDER: Final = "/memories/folder 7"
FILE: Final = f"{FOLDER}/7"
PLANS: Final[Mapping[str, Sequence[Any]]] = {
    "get_file": (*PLACE, FILE),
    "lock_file": (*PLACE, FILE),
    "look_into_folder": (*PLACE, FOLDER),
    "what_stands_at": (*PLACE, FOLDER),
    "file_among": (*PLACE, ["/memories/a", FOLDER]),
    "update_file": (*PLACE, FILE, "text", NOW, 20),
    "delete_files": (*PLACE, FOLDER),
    "measure_files": (*PLACE, FOLDER),
    "move_files": (*PLACE, FOLDER, "/memories/b"),
    "list_files": (*PLACE, FOLDER, FILE, 50),
    "get_file_version": (*PLACE, FILE, 1),
    "list_file_versions": (*PLACE, FILE),
    "search_files": (*PLACE, "/memories", ["seat"], 10),
    "count_files": PLACE,
}
WITHOUT_PATH: Final = {"search_files", "count_files"}


@pytest.fixture(scope="module")
def seeded_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    dsn = dsn_of(postgres_dsn, NAME)
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE {NAME} TEMPLATE {TEMPLATE}"))
    asyncio.run(migration.apply(dsn, schema_steps([(FAMILY, sql_folder() / FAMILY)]), vector_dim=VECTOR_DIM))
    for statement in SEED.split(";\n\n"):
        asyncio.run(run_sql(dsn, statement))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, f"DROP DATABASE {NAME} WITH (FORCE)"))


def _conditions(node: Mapping[str, Any]) -> str:
    own = "".join(str(node.get(name, "")) for name in ("Index Cond", "Recheck Cond"))
    return own + "".join(_conditions(child) for child in node.get("Plans", []))


@pytest.mark.parametrize("kind", ["custom", "generic"])
@pytest.mark.parametrize("name", PLANS)
async def test_rows_of_one_user_are_found_by_an_index(seeded_dsn: str, name: str, kind: str) -> None:
    nodes = [node async for node in nodes_of_plan(seeded_dsn, assistant_queries()[name], PLANS[name], kind)]
    scans = [node for node in nodes if node.get("Relation Name") and "Scan" in node["Node Type"]]
    assert scans
    for scan in scans:
        assert scan["Node Type"] != "Seq Scan", scan
        of_versions = scan["Relation Name"] == "assistant_file_versions"
        wanted = {"tenant_id", "user_id", "file_id" if of_versions else "path"}
        for column in wanted - ({"path"} if name in WITHOUT_PATH else set()):
            assert column in _conditions(scan), scan
