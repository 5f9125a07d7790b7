"""The service with a replica that lags: what was deleted or replaced is shown no more, however far it is behind."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from tests.replica_kit import Pair, streaming_replica
from tests.system.service import RunningService, note, wait_for, write_config


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, for unix sockets."""
    folder = Path(tempfile.mkdtemp(prefix="elf-rep-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def pair(folder: Path) -> Iterator[Pair]:
    with asyncio.Runner() as runner, ExitStack() as stack:
        servers = streaming_replica(folder)
        pair = runner.run(servers.__aenter__())
        stack.callback(lambda: runner.run(servers.__aexit__(None, None, None)))
        yield pair


@pytest.mark.parametrize("url", ["pgvector:", "edge:index"])
def test_a_search_shows_nothing_that_was_deleted_or_replaced_although_the_replica_still_has_it(
    folder: Path, pair: Pair, model_folder: Path, tenant: str, url: str
) -> None:
    config = write_config(
        folder,
        dsn=f'"{pair.primary}"',
        read_dsn=f'"{pair.replica}"',
        url=f'"{url}"',
        cache_dir=f'"{model_folder}"',
    )
    context = {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
    with RunningService(config) as service:
        wait_for(lambda: service.events("replica_linked"), "the replica is read from")
        kept, gone, changed = service.add(
            tenant,
            note("The deployment runs every Friday.", key="deploy"),
            note("The deployment password hint is the cat.", key="hint"),
            note("The deployment is led by Maria.", key="lead"),
        )
        for one in (kept, gone, changed):
            service.wait_found(tenant, "deployment", one["note_id"])
        anyio.run(pair.catch_up)
        anyio.run(pair.hold_back)
        assert service.post("delete", context | {"note_id": gone["note_id"]}).json()["op"] == "DELETE"
        new = {"note_id": changed["note_id"], "text": "The deployment is led by Anna."}
        assert service.post("update", context | new).json()["op"] == "UPDATE"
        seen: list[dict[str, str]] = []

        def is_shown_anew() -> bool:
            seen.append(shown(service, tenant))
            return changed["note_id"] in seen[-1]  # once it is indexed again

        wait_for(is_shown_anew, "the changed note is found")
        assert gone["note_id"] not in {note_id for found in seen for note_id in found}
        assert "The deployment is led by Maria." not in {text for found in seen for text in found.values()}
        found = seen[-1]
        assert found == {
            kept["note_id"]: "The deployment runs every Friday.",
            changed["note_id"]: "The deployment is led by Anna.",
        }
        assert service.client.get(f"/v1/memory/notes/{gone['note_id']}").json()["status"] == "deleted"
        listed = service.client.get("/v1/memory/list", params={"tenant_id": tenant, "project_id": "p"}).json()
        assert {item["text"] for item in listed["items"]} == set(found.values())
        anyio.run(pair.let_go)
        anyio.run(pair.catch_up)
        assert shown(service, tenant) == found
        assert service.complaints() == []


def shown(service: RunningService, tenant: str) -> dict[str, str]:
    """The texts that a search shows, by note."""
    return {item["note_id"]: item["snippet"] for item in service.search(tenant, "deployment")}
