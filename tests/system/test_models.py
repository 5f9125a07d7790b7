"""Processes with different models or chunkings on one database, and changes of either: told, and healed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elf.cli import main
from tests.folders import fresh_folder
from tests.metrics_kit import Page
from tests.system.fake_chat import FakeChat, running_chat
from tests.system.fake_model import embed, embedded_texts, point_embedding
from tests.system.service import RunningService, note, wait_for, write_config
from tests.system.truth import rows, wait_indexed

LONG = (
    "The pilot boat leaves at four. It carries the mail and two crates of oranges. The crew sleeps on board."
)


@pytest.fixture
def model() -> Iterator[FakeChat]:
    with running_chat() as model:
        model.script(embed)
        yield model


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


def config_of(
    folder: Path,
    model: FakeChat,
    model_folder: Path,
    *,
    named: str = "small",
    file: str = "elf",
    roles: str = "",
    **changes: str,
) -> Path:
    """A config in the folder whose embedding model is `model` under a name; configs of one folder share their data."""
    draft = folder / "draft"
    draft.mkdir(exist_ok=True)
    changes = {"cache_dir": f'"{model_folder}"', "tokenizer_repo": '"all-MiniLM-L6-v2"'} | changes
    config = write_config(draft, **changes)
    point_embedding(config, model.api_base, timeout_ms=1000)
    head, table, rest = config.read_text(encoding="utf-8").partition("[providers.embedding]\n")
    rest, count = re.subn(r"^model = .*$", f'model = "{named}"', rest, count=1, flags=re.MULTILINE)
    assert count == 1
    place = folder / f"{file}.toml"
    place.write_text(head + table + rest + roles, encoding="utf-8")
    return place


class Worker(RunningService):
    """A service that answers nobody but operators."""

    def wait_started(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"elf: ready\n", self.log[-4000:]


def versions(folder: Path) -> set[str]:
    """The models' names by which notes, chunks and vectors are."""
    found = rows(
        folder,
        "SELECT embedding_version FROM memory_notes UNION SELECT embedding_version FROM memory_note_chunks"
        " UNION SELECT embedding_version FROM note_chunk_embeddings"
        " UNION SELECT embedding_version FROM note_embeddings",
    )
    return {row["embedding_version"].split(":")[1] for row in found}


def warnings(service: RunningService) -> list[str]:
    answer = service.client.get("/ready")
    assert answer.status_code == 200
    found: list[str] = answer.json()["warnings"]
    return found


def found(service: RunningService, tenant: str, query: str) -> list[str]:
    return [item["note_id"] for item in service.search(tenant, query)]


def metric(service: RunningService, name: str, **labels: str) -> float:
    return Page(service.admin.get("/metrics").text).value(name, **labels)


def test_two_services_with_different_models_are_told_and_leave_each_others_notes_alone(
    folder: Path, model: FakeChat, model_folder: Path, tenant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunningService(config_of(folder, model, model_folder)) as small:
        mine = [
            small.add(tenant, note(f"Boat {name} is blue.", key=name))[0]["note_id"] for name in ("a", "b")
        ]
        small.wait_found(tenant, "boat a blue", mine[0])
        other_config = config_of(folder, model, model_folder, named="large", file="other")
        with RunningService(other_config, name="other") as large:
            (theirs,) = large.add(tenant, note("The crane is green.", key="crane"))
            large.wait_found(tenant, "crane green", theirs["note_id"])
            (late,) = small.add(tenant, note("Boat c is blue.", key="c"))
            small.wait_found(tenant, "boat c blue", late["note_id"])
            for one, other in (("small", large), ("large", small)):
                (warning,) = wait_for(lambda other=other: warnings(other), "the difference is told")  # type: ignore[misc]
                assert f"local:{one}:384" in warning
                # Its log has it a moment later, when what waits is counted.
                wait_for(
                    lambda other=other, warning=warning: other.events("fleet_differs", warning=warning),  # type: ignore[misc]
                    "its log has it",
                )
            asked_at = folder / "asked.toml"
            text = large.config.read_text(encoding="utf-8")
            asked_at.write_text(re.sub(r"(?m)^http_bind = .*$", f'http_bind = "{large.url[7:]}"', text))
            assert main(["status", "-c", str(asked_at)]) == 0
            assert "local:small:384" in capsys.readouterr().out
            wait_indexed(small)
            assert versions(folder) == {"small", "large"}
            assert set(found(small, tenant, "boat")) == {*mine, late["note_id"]}
            assert found(large, tenant, "crane") == [theirs["note_id"]]
            forms = Page(large.admin.get("/metrics").text).families["elf_note_processes"].samples
            assert {sample.labels["embedding_version"] for sample in forms} == {
                "local:small:384",
                "local:large:384",
            }
            asked = len(embedded_texts(model))
        # The other model is gone: what was its own is taken over, once.
        small.wait_found(tenant, "crane green", theirs["note_id"])
        wait_for(lambda: not warnings(small), "there is nothing to warn of any more")
        wait_indexed(small)
        assert versions(folder) == {"small"}
        assert embedded_texts(model)[asked:].count("The crane is green.") == 1
        assert small.complaints() == []


def test_a_worker_of_the_wrong_model_touches_nothing_and_what_waits_is_shown(
    folder: Path, model: FakeChat, model_folder: Path, tenant: str
) -> None:
    fronts, worker = "[processes]\nworker = 0\n", "[processes]\napi = 0\nmcp = 0\n"
    with RunningService(config_of(folder, model, model_folder, roles=fronts)) as api:
        (added,) = api.add(tenant, note("The lighthouse keeper is called Ida.", key="keeper"))
        wrong = config_of(folder, model, model_folder, named="large", file="large", roles=worker)
        with Worker(wrong, name="large") as large:
            wait_for(lambda: len(warnings(api)) == 2, "the model differs, and a job waits for nobody")
            assert any(
                "1 indexing jobs wait for the embedding model local:small:384" in one for one in warnings(api)
            )
            assert metric(api, "elf_unserved_jobs", embedding_version="local:small:384") == 1
            assert rows(folder, "SELECT * FROM memory_note_chunks") == []
            wait_for(lambda: large.events("fleet_differs"), "the worker tells of it, too")
        right = config_of(folder, model, model_folder, file="small", roles=worker)
        with Worker(right, name="small"):
            api.wait_found(tenant, "lighthouse keeper", added["note_id"])
            wait_for(lambda: not warnings(api), "nothing waits any more")
        assert versions(folder) == {"small"}


def test_after_a_restart_with_another_model_all_notes_are_found_again(
    folder: Path, model: FakeChat, model_folder: Path, tenant: str
) -> None:
    with RunningService(config_of(folder, model, model_folder)) as small:
        (boat,) = small.add(tenant, note("The boat is blue.", key="boat"))
        (gone,) = small.add(tenant, note("The crane is green.", key="crane"))
        small.wait_found(tenant, "boat blue", boat["note_id"])
        small.wait_found(tenant, "crane green", gone["note_id"])
        wait_indexed(small)
    with RunningService(config_of(folder, model, model_folder, named="large"), name="large") as large:
        place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "note_id": gone["note_id"]}
        assert large.post("delete", place).json()["op"] == "DELETE"
        large.wait_found(tenant, "boat blue", boat["note_id"])
        wait_indexed(large)
        assert found(large, tenant, "crane green") in ([], [boat["note_id"]])
        drift = large.admin.get("/v1/admin/index_drift").json()
        assert (drift["missing_count"], drift["stale_count"], drift["orphaned_count"]) == (0, 0, 0)
        active = rows(folder, "SELECT DISTINCT embedding_version FROM memory_notes WHERE status = 'active'")
        assert [row["embedding_version"] for row in active] == ["local:large:384"]
        assert large.complaints() == []


def test_a_changed_chunking_reaches_stored_notes_and_embeds_no_text_that_stays(
    folder: Path, model: FakeChat, model_folder: Path, tenant: str
) -> None:
    with RunningService(config_of(folder, model, model_folder)) as coarse:
        (long,) = coarse.add(tenant, note(LONG, key="pilot"))
        (short,) = coarse.add(tenant, note("A seal lives under the quay.", key="seal"))
        coarse.wait_found(tenant, "pilot boat", long["note_id"])
        wait_indexed(coarse)
        assert chunk_counts(folder) == {long["note_id"]: 1, short["note_id"]: 1}
    model.script(embed)
    finer = config_of(folder, model, model_folder, max_tokens="16", overlap_tokens="4")
    with RunningService(finer, name="fine") as fine:
        wait_for(lambda: chunk_counts(folder)[long["note_id"]] > 1, "the long note is cut anew")
        wait_indexed(fine)
        assert chunk_counts(folder)[short["note_id"]] == 1
        assert "A seal lives under the quay." not in embedded_texts(model)
        drift = fine.admin.get("/v1/admin/index_drift").json()
        assert (drift["missing_count"], drift["stale_count"], drift["orphaned_count"]) == (0, 0, 0)
        fine.wait_found(tenant, "pilot boat mail", long["note_id"])
    model.script(embed)
    with RunningService(config_of(folder, model, model_folder), name="coarse") as coarse:
        wait_for(lambda: chunk_counts(folder)[long["note_id"]] == 1, "it is one chunk again")
        wait_indexed(coarse)
        drift = coarse.admin.get("/v1/admin/index_drift").json()
        assert drift["orphaned_count"] == 0, "the points of the finer cut are gone"


def chunk_counts(folder: Path) -> dict[str, int]:
    counted = rows(
        folder, "SELECT note_id::text, count(*) AS chunks FROM memory_note_chunks GROUP BY note_id"
    )
    return {row["note_id"]: row["chunks"] for row in counted}


@pytest.mark.parametrize("status", [400, 503], ids=["refused", "unanswered"])
def test_one_text_that_the_model_does_not_embed_holds_up_no_other_note(
    folder: Path, model: FakeChat, model_folder: Path, tenant: str, status: int
) -> None:
    def choosy(body: dict[str, Any]) -> tuple[int, Any]:
        if any("poison" in text for text in body["input"]):
            return status, {"error": {"message": "the input is too much"}}
        return embed(body)

    with RunningService(config_of(folder, model, model_folder)) as service:
        (gone,) = service.add(tenant, note("The crane is green.", key="crane"))
        wait_indexed(service)
        model.script(choosy)
        place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "note_id": gone["note_id"]}
        assert service.post("delete", place).json()["op"] == "DELETE"
        added = service.add(
            tenant,
            *(note(f"Boat number {number} is blue.", key=f"boat{number}") for number in range(6)),
            note("This is poison.", key="poison"),
        )
        *boats, poison = [one["note_id"] for one in added]
        for number, boat in enumerate(boats):
            service.wait_found(tenant, f"boat number {number}", boat, top_k=12)
        open_jobs = "SELECT note_id::text, status, last_error FROM indexing_outbox WHERE status <> 'DONE'"
        (job,) = wait_for(lambda: is_single(rows(folder, open_jobs)), "only one job is left")
        assert (job["note_id"], job["status"]) == (poison, "FAILED")
        assert "poison" not in job["last_error"]
        model.script(embed)
        service.wait_found(tenant, "this is poison", poison)


def is_single(found: list[Any]) -> list[Any] | None:
    return found if len(found) == 1 else None
