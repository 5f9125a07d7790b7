"""The embedding model away and back, against the whole service; the model is a scripted one behind a real socket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.system.fake_chat import FakeChat, running_chat
from tests.system.fake_model import AWAY, embed, embedded_texts, point_embedding
from tests.system.service import RunningService, note, search_body, wait_for, write_config
from tests.system.truth import rows, sound_vectors, wait_indexed


@pytest.fixture(scope="module")
def model() -> Iterator[FakeChat]:
    with running_chat() as model:
        model.script(embed)
        yield model


@pytest.fixture(scope="module")
def remote(model: FakeChat, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service whose embedding model is `model`, and that cuts long notes into several chunks."""
    config = write_config(tmp_path_factory.mktemp("remote"), max_tokens="16", overlap_tokens="4")
    point_embedding(config, model.api_base)
    with RunningService(config) as running:
        yield running


def jobs(service: RunningService, note_id: str) -> list[Mapping[str, Any]]:
    return rows(
        service.config.parent,
        "SELECT status, attempts, last_error FROM indexing_outbox WHERE note_id = $1",
        note_id,
    )


def open_jobs(service: RunningService, note_id: str) -> list[tuple[str, int, str | None]]:
    return [
        (job["status"], job["attempts"], job["last_error"])
        for job in jobs(service, note_id)
        if job["status"] != "DONE"
    ]


def test_an_outage_of_the_model_delays_indexing_and_loses_nothing(
    remote: RunningService, model: FakeChat, tenant: str
) -> None:
    (before,) = remote.add(tenant, note("The harbour opens at dawn.", key="harbour"))
    remote.wait_found(tenant, "harbour dawn", before["note_id"])

    model.script(lambda body: AWAY)
    (keyed,) = remote.add(tenant, note("The lighthouse keeper is called Ida.", key="keeper"))
    (unkeyed,) = remote.add(tenant, note("Ida paints boats in winter."))
    (again,) = remote.add(tenant, note("Ida paints boats in winter."))
    assert (keyed["op"], keyed["reason_code"]) == ("ADD", None)
    assert (unkeyed["op"], unkeyed["reason_code"]) == ("ADD", "SIMILARITY_UNCHECKED")
    assert (again["op"], again["note_id"]) == ("NONE", unkeyed["note_id"])

    def failed() -> bool:
        jobs = open_jobs(remote, keyed["note_id"])
        return any(status == "FAILED" and attempts >= 1 and error for status, attempts, error in jobs)

    wait_for(failed, "the job has failed and says why")
    answer = remote.post("search", search_body(tenant, "When does the harbour open?")).json()
    assert answer["degraded"] == ["embedding"]
    assert [item["note_id"] for item in answer["items"]] == [before["note_id"]]

    model.script(embed)
    wait_indexed(remote, timeout_s=60.0)
    assert embedded_texts(model).count("The lighthouse keeper is called Ida.") == 1
    assert {job["status"] for job in jobs(remote, keyed["note_id"])} == {"DONE"}
    for text, added in (("lighthouse keeper Ida", keyed), ("Who paints boats?", unkeyed)):
        assert added["note_id"] in [item["note_id"] for item in remote.search(tenant, text)]
    chunked, pooled = sound_vectors(remote, tenant)
    assert {before["note_id"], keyed["note_id"], unkeyed["note_id"]} == chunked == pooled


def test_no_text_is_embedded_twice(remote: RunningService, model: FakeChat, tenant: str) -> None:
    model.script(embed)
    texts = ["The ferry leaves from pier four.", "Tickets are sold on board."]
    results = remote.add(tenant, note(texts[0]), note(texts[1], key="tickets"))
    for query, result in zip(("ferry pier", "tickets board"), results, strict=True):
        remote.wait_found(tenant, query, result["note_id"])
    wait_indexed(remote)
    asked = embedded_texts(model)
    assert [asked.count(text) for text in texts] == [1, 1]
    (unchanged,) = remote.add(tenant, note(texts[1], key="tickets"))
    assert unchanged["op"] == "NONE"
    wait_indexed(remote)
    assert len(embedded_texts(model)) == len(asked)


def test_every_chunk_of_an_active_note_has_its_vector_and_every_note_the_mean_of_them(
    remote: RunningService, model: FakeChat, tenant: str
) -> None:
    model.script(embed)
    long = "The pilot boat leaves at four. It carries the mail and two crates of oranges. The crew sleeps on board."
    added, changed, deleted, single = remote.add(
        tenant,
        note(long, key="pilot"),
        note("The crane is red.", key="crane"),
        note(long.upper(), key="gone"),
        note("A seal lives under the quay."),
    )
    remote.add(tenant, note(f"{long} The crane is blue.", key="crane"))
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "note_id": deleted["note_id"]}
    assert remote.post("delete", place).json()["op"] == "DELETE"
    wait_indexed(remote)
    active = {one["note_id"] for one in (added, changed, single)}
    chunked, pooled = sound_vectors(remote, tenant)
    assert chunked == pooled == active
    asked, chunks = embedded_texts(model), chunks_of(remote, tenant)
    assert len(chunks) > 2 * len(active)
    assert all(text in asked for text in chunks), "every vector came over the wire"
    assert farthest_from_mean(remote, tenant) < 1e-5


def chunks_of(service: RunningService, tenant: str) -> list[str]:
    chunks = rows(
        service.config.parent,
        "SELECT c.text FROM memory_note_chunks c JOIN memory_notes USING (note_id) WHERE tenant_id = $1",
        tenant,
    )
    return [row["text"] for row in chunks]


def farthest_from_mean(service: RunningService, tenant: str) -> float:
    """The largest distance of a note's pooled vector from the mean of its chunks' vectors."""
    (row,) = rows(
        service.config.parent,
        "SELECT max(pooled.vec <-> mean.vec) AS distance FROM memory_notes JOIN note_embeddings pooled USING (note_id)"
        " JOIN (SELECT note_id, avg(vec) AS vec FROM memory_note_chunks JOIN note_chunk_embeddings USING (chunk_id)"
        "       GROUP BY note_id) mean USING (note_id) WHERE tenant_id = $1",
        tenant,
    )
    return float(row["distance"])


def test_a_model_that_answers_nonsense_fails_the_job_and_not_the_service(
    remote: RunningService, model: FakeChat, tenant: str
) -> None:
    model.script(lambda body: (200, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}))
    (added,) = remote.add(tenant, note("The tide table hangs in the hall.", key="tide"))
    wait_for(
        lambda: any(status == "FAILED" for status, *_ in open_jobs(remote, added["note_id"])),
        "the job has failed",
    )
    assert remote.client.get("/ready").status_code == 200
    model.script(embed)
    remote.wait_found(tenant, "tide table", added["note_id"])
