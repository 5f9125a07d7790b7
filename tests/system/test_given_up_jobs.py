"""Jobs that were given up, against the whole service: operators see, retry and discard them, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from elf.cli import main
from elf.client import Client
from tests.folders import fresh_folder
from tests.metrics_kit import Page
from tests.system.service import RunningService, note, wait_for, write_config
from tests.system.truth import rows, wait_indexed
from tests.system.webhook_receiver import WebhookReceiver, add_webhook, running_receiver

JOBS = "/v1/admin/jobs"
TEXT = "Fact: the lighthouse keeper collects green bottles."
QUERY = "what does the lighthouse keeper collect?"


@pytest.fixture(scope="module")
def receiver() -> Iterator[WebhookReceiver]:
    with running_receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def service(receiver: WebhookReceiver, model_folder: Path) -> Iterator[RunningService]:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        add_webhook(
            config, "stubborn", receiver, families='["store"]', events='["forgotten"]', attempts="1", timeout_ms="1000"
        )  # fmt: skip
        with RunningService(config) as running:
            yield running


def listed(service: RunningService, **asked: Any) -> list[dict[str, Any]]:
    response = service.admin.get(JOBS, params=asked)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["items"]
    return found


def decide(service: RunningService, what: str, **body: Any) -> dict[str, Any]:
    response = service.admin.post(f"{JOBS}/{what}", json=body)
    assert response.status_code == 200, response.text
    decided: dict[str, Any] = response.json()
    return decided


def problem(response: httpx.Response) -> tuple[int, str, list[str]]:
    body = response.json()
    return response.status_code, body["error_code"], body["fields"]


def poison(service: RunningService, tenant: str) -> str:
    """Write a note whose indexing was given up, as after a model that died of it; return the note's id."""
    (written,) = service.add(tenant, note(TEXT))
    note_id: str = written["note_id"]
    wait_indexed(service)
    folder = service.config.parent
    rows(folder, "DELETE FROM memory_note_chunks WHERE note_id = $1", UUID(note_id))
    rows(
        folder,
        "UPDATE indexing_outbox SET status = 'GIVEN_UP', attempts = 3, last_error = 'ProcessDied: it ended'"
        " WHERE note_id = $1",
        UUID(note_id),
    )
    return note_id


def states(service: RunningService, note_id: str) -> list[str]:
    found = rows(
        service.config.parent,
        "SELECT status FROM indexing_outbox WHERE note_id = $1 ORDER BY created_at",
        UUID(note_id),
    )
    return [row["status"] for row in found]


def place(tenant: str) -> Mapping[str, str]:
    return {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}


def is_found(service: RunningService, tenant: str, note_id: str) -> bool:
    return note_id in {hit["note_id"] for hit in service.search(tenant, QUERY)}


def test_a_note_that_was_given_up_is_listed_without_its_text(service: RunningService, tenant: str) -> None:
    note_id = poison(service, tenant)
    (job,) = listed(service, tenant_id=tenant, state="GIVEN_UP")
    assert {name: value for name, value in job.items() if name not in ("id", "created_at", "updated_at")} == {
        "queue": "indexing", "state": "GIVEN_UP", "tenant_id": tenant, "subject_kind": "note", "subject_id": note_id,
        "attempts": 3, "process_deaths": 0, "last_error": "ProcessDied: it ended",
    }  # fmt: skip
    everything = service.admin.get(JOBS, params={"limit": 200})
    assert job in everything.json()["items"]
    assert "lighthouse" not in everything.text
    assert listed(service, tenant_id=tenant, state="PENDING") == []
    assert listed(service, tenant_id=tenant, queue="store") == []
    assert listed(service, tenant_id=f"{tenant} of others") == []


def test_nothing_but_a_change_enqueues_it_again(service: RunningService, tenant: str) -> None:
    note_id = poison(service, tenant)
    drift = service.admin.get("/v1/admin/index_drift").json()
    assert (drift["missing_count"], drift["orphaned_count"]) == (0, 0)
    assert drift["given_up_count"] >= 1
    repaired = service.admin.post("/v1/admin/index_repair").json()
    assert (repaired["jobs"], repaired["open_jobs"]) == (0, 0)
    assert service.admin.post("/v1/admin/rebuild_qdrant").status_code == 200
    assert service.admin.post("/v1/admin/gc").status_code == 200
    assert states(service, note_id) == ["GIVEN_UP"]
    assert not is_found(service, tenant, note_id)
    assert service.client.get(f"/v1/memory/notes/{note_id}").json()["text"] == TEXT
    assert service.post("update", {**place(tenant), "note_id": note_id, "importance": 0.9}).status_code == 200
    service.wait_found(tenant, QUERY, note_id)
    assert states(service, note_id) == ["DONE"]
    assert listed(service, tenant_id=tenant, queue="indexing") == []


def test_a_retry_does_it_at_once(service: RunningService, tenant: str) -> None:
    note_id = poison(service, tenant)
    (job,) = listed(service, tenant_id=tenant)
    unknown = str(uuid4())
    body = {"queue": "indexing", "ids": [job["id"], unknown]}
    assert decide(service, "retry", **body, tenant_id="others") == {"retried": 0, "not_given_up": body["ids"]}
    assert decide(service, "retry", **body, tenant_id=tenant) == {"retried": 1, "not_given_up": [unknown]}
    service.wait_found(tenant, QUERY, note_id)
    assert decide(service, "retry", **body) == {"retried": 0, "not_given_up": body["ids"]}


def test_the_note_of_a_discarded_job_stays_readable_and_is_erased_with_the_job(
    service: RunningService, tenant: str
) -> None:
    note_id = poison(service, tenant)
    (job,) = listed(service, tenant_id=tenant)
    assert decide(service, "discard", queue="indexing", ids=[job["id"]]) == {
        "discarded": 1,
        "not_given_up": [],
    }
    assert [one["state"] for one in listed(service, tenant_id=tenant)] == ["DISCARDED"]
    assert decide(service, "retry", queue="indexing", ids=[job["id"]]) == {
        "retried": 0, "not_given_up": [job["id"]],
    }  # fmt: skip
    assert service.admin.post("/v1/admin/index_repair").json()["jobs"] == 0
    assert not is_found(service, tenant, note_id)
    assert service.client.get(f"/v1/memory/notes/{note_id}").json()["text"] == TEXT
    assert service.post("delete", {**place(tenant), "note_id": note_id}).status_code == 200
    wait_indexed(service)
    assert states(service, note_id) == ["DONE"]


def test_jobs_are_paged_through_newest_first_over_all_queues(service: RunningService, tenant: str) -> None:
    first, second = poison(service, tenant), poison(service, f"{tenant} of others")
    with Client(service.url, tenant_id=tenant, user="ana") as client:
        client.store.put(["n"], "key", 1, user_id="ana")
    rows(
        service.config.parent,
        "INSERT INTO store_outbox (tenant_id, user_id, revision, status)"
        " SELECT tenant_id, user_id, revision, 'GIVEN_UP' FROM store_items WHERE tenant_id = $1",
        tenant,
    )
    found: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"state": "GIVEN_UP", "limit": 1}
    while True:
        page = service.admin.get(JOBS, params=asked).json()
        found += page["items"]
        assert len(page["items"]) <= 1
        if page["next_cursor"] is None:
            break
        asked["cursor"] = page["next_cursor"]
    made = [one["created_at"] for one in found]
    assert made == sorted(made, reverse=True)
    subjects = [one["subject_id"] for one in found]
    assert len(set(subjects)) == len(subjects)
    assert [one["queue"] for one in found if one["tenant_id"] == tenant] == ["store", "indexing"]
    assert {first, second} < {*subjects}
    other = service.admin.get(JOBS, params={"limit": 1, "cursor": asked["cursor"]})
    assert problem(other) == (400, "INVALID_REQUEST", ["$.cursor"])


@pytest.mark.parametrize(
    ("what", "body", "answer"),
    [
        ("retry", {"queue": "nothing", "ids": [str(uuid4())]}, (404, "NOT_FOUND", ["$.queue"])),
        ("discard", {"queue": "nothing", "ids": [str(uuid4())]}, (404, "NOT_FOUND", ["$.queue"])),
        ("retry", {"queue": "indexing", "ids": []}, (400, "INVALID_REQUEST", ["$.ids"])),
        ("discard", {"queue": "indexing", "ids": ["one"]}, (400, "INVALID_REQUEST", ["$.ids[0]"])),
        ("retry", {"ids": [str(uuid4())]}, (400, "INVALID_REQUEST", ["$.queue"])),
        ("discard", {"queue": "indexing", "ids": [str(uuid4())] * 1001}, (400, "INVALID_REQUEST", ["$.ids"])),
    ],
)
def test_bad_input_names_the_field(
    service: RunningService, what: str, body: Mapping[str, Any], answer: tuple[int, str, list[str]]
) -> None:
    assert problem(service.admin.post(f"{JOBS}/{what}", json=body)) == answer


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ({"queue": "nothing"}, (404, "NOT_FOUND", ["$.queue"])),
        ({"state": "DONE"}, (400, "INVALID_REQUEST", ["$.state"])),
        ({"limit": 201}, (400, "INVALID_REQUEST", ["$.limit"])),
    ],
)
def test_a_bad_filter_is_named(
    service: RunningService, asked: Mapping[str, Any], answer: tuple[int, str, list[str]]
) -> None:
    assert problem(service.admin.get(JOBS, params=dict(asked))) == answer


def test_events_that_a_receiver_never_took_are_counted_shown_retried_and_discarded_by_command(
    service: RunningService, receiver: WebhookReceiver, tenant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.fail()
    with Client(service.url, tenant_id=tenant, user="ana") as client:
        for key in ("one", "two", "three"):
            client.store.put(["n"], key, 1, user_id="ana")
            client.store.delete(["n"], key, user_id="ana")
    queue = "webhook_stubborn"
    asked = {"queue": queue, "state": "GIVEN_UP", "tenant_id": tenant}
    jobs = wait_for(lambda: found if len(found := listed(service, **asked)) == 3 else None, "three jobs")
    assert {(one["subject_kind"], one["attempts"]) for one in jobs} == {("value", 1)}
    page = Page(service.admin.get("/metrics").text)
    assert page.value("elf_outbox_jobs", family="webhooks", outbox=queue, status="given_up") == 3

    def elf(*command: str) -> tuple[int, str, str]:
        code = main([*command, "-c", str(_config_of(service))], [])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    told = elf("status")[1]
    (line,) = (line for line in told.splitlines() if line.startswith("given up"))
    assert f"{queue} 3" in line
    ids = [one["id"] for one in jobs]
    code, out, _ = elf("admin", "jobs", "list", "--queue", queue, "--state", "GIVEN_UP", "--tenant", tenant)
    assert (code, [line.split()[1] for line in out.splitlines()]) == (0, ids)
    receiver.get_well()
    assert elf("admin", "jobs", "retry", queue, *ids[:2]) == (0, "retried  2\n", "")
    assert len(receiver.wait_taken(2, tenant_id=tenant)) == 2
    assert elf("admin", "jobs", "discard", queue, ids[2], "--tenant", tenant) == (0, "discarded  1\n", "")
    assert elf("admin", "jobs", "retry", queue, ids[2]) == (
        1, "retried  0\n", f"elf: this queue has given up no such job: {ids[2]}\n",
    )  # fmt: skip
    (webhook,) = service.admin.get("/v1/admin/webhooks", params={"tenant_id": tenant}).json()["items"]
    assert (webhook["waiting"], webhook["dead_letters"]) == (0, 0)
    assert [one["state"] for one in listed(service, queue=queue, tenant_id=tenant)] == ["DISCARDED"]


def _config_of(service: RunningService) -> Path:
    """A config at whose addresses the service listens."""
    folder = service.config.parent / "beside"
    folder.mkdir(exist_ok=True)

    def at(url: str) -> str:
        return f'"{url.removeprefix("http://")}"'

    return write_config(folder, http_bind=at(service.url), admin_bind=at(service.admin_url))


def test_a_dead_letter_of_knowledge_is_a_job_of_its_queue(service: RunningService, tenant: str) -> None:
    with Client(service.url, tenant_id=tenant, user="ana") as client:
        client.knowledge.store_episode("The lighthouse keeper left.", butler="travel")
    folder = service.config.parent
    rows(
        folder,
        "UPDATE knowledge_episodes SET consolidation_status = 'dead_letter', retry_count = 5, last_error = 'no_json'"
        " WHERE tenant_id = $1",
        tenant,
    )
    (job,) = listed(service, tenant_id=tenant, queue="knowledge_consolidation")
    assert (job["state"], job["subject_kind"], job["subject_id"]) == ("GIVEN_UP", "episode", job["id"])
    counts = service.admin.get(f"{JOBS}/counts", params={"tenant_id": tenant}).json()["items"]
    assert {one["queue"]: one["given_up"] for one in counts if one["given_up"]} == {
        "knowledge_consolidation": 1
    }
    body = {"queue": "knowledge_consolidation", "ids": [job["id"]], "tenant_id": tenant}
    assert decide(service, "discard", **body) == {"discarded": 1, "not_given_up": []}
    assert [one["state"] for one in listed(service, tenant_id=tenant)] == ["DISCARDED"]
    dead = service.admin.get("/v1/admin/knowledge/dead_letters", params={"tenant_id": tenant}).json()
    assert dead["items"] == []


def test_a_restart_does_not_enqueue_it_again(service: RunningService, tenant: str) -> None:
    note_id = poison(service, tenant)
    before = len(service.events("index_reconciled"))
    service.kill()
    service.start()
    service.wait_ready()
    wait_for(lambda: len(service.events("index_reconciled")) > before or None, "the index is compared")
    wait_indexed(service)
    assert states(service, note_id) == ["GIVEN_UP"]
    assert [one["subject_id"] for one in listed(service, tenant_id=tenant, state="GIVEN_UP")] == [note_id]
