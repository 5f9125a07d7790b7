"""What a family gets whose texts are in the vector index, on the toy family of stories, beside notes in one index."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.families.served import config_of_all, service_of_all
from tests.folders import fresh_folder
from tests.system.service import RunningService, note, wait_for

INDEX = "/v1/admin/index/toy_corpus"
BOTH = ("toy_corpus", "notes")


def place() -> dict[str, str]:
    return {"tenant_id": uuid4().hex, "project_id": "p", "agent_id": "a"}


def told(service: RunningService, here: dict[str, str], text: str) -> str:
    answer = service.client.post("/v1/toy_corpus/stories", json={**here, "text": text})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["story_id"])


def found(service: RunningService, here: dict[str, str], query: str) -> list[str]:
    answer = service.client.post("/v1/toy_corpus/find", json={**here, "query": query})
    if answer.status_code == 503:  # the index is away, and stories have nothing to stand in for it
        return []
    assert answer.status_code == 200, answer.text
    return [story["text"] for story in answer.json()["stories"]]


def admin(service: RunningService, method: str, path: str) -> dict[str, Any]:
    answer = service.admin.request(method, path)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_a_story_is_found_told_anew_ended_and_explained(service: RunningService) -> None:
    here = place()
    story = told(service, here, "The miller's daughter spins straw into gold.")
    wait_for(lambda: found(service, here, "straw into gold"), "the story is found")
    changed = {**here, "story_id": story, "text": "The miller's daughter keeps seven geese."}
    assert service.client.post("/v1/toy_corpus/retell", json=changed).status_code == 200
    wait_for(lambda: found(service, here, "seven geese") == [changed["text"]], "the new text is found")
    search = service.client.post("/v1/toy_corpus/find", json={**here, "query": "seven geese"}).json()
    path = f"/v1/toy_corpus/searches/{search['trace_id']}"
    wait_for(lambda: service.client.get(path, params=here).status_code == 200, "the search is explained")
    explained = service.client.get(path, params=here).json()
    assert (explained["query"], explained["story_ids"]) == ("seven geese", [story])
    assert {"embed", "index"} <= {*explained["stages"]}
    ended = service.client.post("/v1/toy_corpus/end", json={**here, "story_id": story})
    assert ended.status_code == 200
    assert found(service, here, "seven geese") == []
    again = service.client.post("/v1/toy_corpus/end", json={**here, "story_id": story})
    assert (again.status_code, again.json()["fields"]) == (404, ["$.story_id"])


def test_its_index_is_rebuilt_compared_and_collected_like_that_of_notes(service: RunningService) -> None:
    here = place()
    told(service, here, "A fox sells the moon to a crow.")
    wait_for(lambda: found(service, here, "fox and moon"), "the story is found")
    assert admin(service, "POST", f"{INDEX}/rebuild")["rebuilt_count"] >= 1
    assert admin(service, "GET", f"{INDEX}/progress")["state"] == "done"
    compared = admin(service, "GET", f"{INDEX}/drift")
    assert (compared["missing_count"], compared["orphaned_count"]) == (0, 0)
    assert admin(service, "POST", f"{INDEX}/repair")["jobs"] == 0
    assert service.admin.get("/v1/admin/index/nobody/drift").status_code == 404
    counts = admin(service, "POST", "/v1/admin/gc")["counts"]
    assert {"stories_over", "done_jobs_toy_corpus", "done_jobs"} <= counts.keys()
    page = service.admin.get("/metrics").text
    assert 'elf_outbox_jobs{family="toy_corpus",outbox="toy_indexing",status="pending"}' in page


@pytest.fixture
def alone(model_folder: Path) -> Iterator[RunningService]:
    """A service with every family whose index may be lost."""
    with fresh_folder() as folder:
        config = config_of_all(folder, cache_dir=f'"{model_folder}"')
        with service_of_all(config) as service:
            yield service


def test_two_families_of_one_index_keep_apart_through_a_rebuild_a_restart_and_its_loss(
    alone: RunningService,
) -> None:
    here = place()
    story = "The lighthouse keeper writes letters to the sea."
    told(alone, here, story)
    (added,) = alone.add(here["tenant_id"], note("Fact: the lighthouse keeper is called Ida."))

    def both_found() -> bool:
        notes = [item["note_id"] for item in alone.search(here["tenant_id"], "lighthouse keeper")]
        return notes == [added["note_id"]] and found(alone, here, "lighthouse keeper") == [story]

    def agree() -> bool:
        answers = [alone.admin.get(f"/v1/admin/index/{corpus}/drift") for corpus in BOTH]
        drifts = [answer.json() for answer in answers if answer.status_code == 200]
        return len(drifts) == len(BOTH) and not any(
            drift["missing_count"] or drift["orphaned_count"] for drift in drifts
        )

    wait_for(both_found, "both are found")
    for corpus in BOTH:
        assert admin(alone, "POST", f"/v1/admin/index/{corpus}/rebuild")["rebuilt_count"] == 1
        assert both_found()
        assert admin(alone, "POST", f"/v1/admin/index/{corpus}/repair")["jobs"] == 0
    shutil.rmtree(next(alone.config.parent.rglob("index")))
    alone.index_process().kill()
    wait_for(lambda: both_found() and agree(), "both are found again, each in its own index")
    assert alone.stop() == 0
    alone.start()
    wait_for(lambda: both_found() and agree(), "both are found after a restart")
