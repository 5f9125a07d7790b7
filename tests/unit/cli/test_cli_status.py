"""`elf status`: what is asked of both addresses, what is printed, how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService, error, running_service

PARTS = [
    {"name": "postgres", "state": "ready", "restarts": 0, "last_error": None},
    {"name": "index", "state": "backing_off", "restarts": 2, "last_error": "killed\x07"},
]
OVERVIEW = {
    "version": "1.2.3", "embedding_version": "acme:large:384", "notes": 3000, "deleted_notes": 4,
    "notes_to_embed": 0, "waiting_jobs": 0, "failed_jobs": 0, "oldest_job_seconds": None,
    "disk_bytes": {"postgres": 300 * 1024**2, "index": 5000},
}  # fmt: skip
COUNTS = {"queue": "indexing", "pending": 2, "failed": 1, "given_up": 0, "discarded": 4}


@pytest.fixture
def admin(elf: CommandLine) -> Iterator[FakeService]:
    """The service's admin address."""
    with running_service() as admin:
        text = elf.config.read_text()
        elf.config.write_text(text.replace("127.0.0.1:8767", f"127.0.0.1:{admin.port}"))
        respond(admin, OVERVIEW)
        yield admin


def respond(admin: FakeService, overview: dict[str, Any], *counts: dict[str, Any]) -> None:
    jobs = {"items": [COUNTS, *counts]}
    admin.respond = lambda asked: Answer(body=jobs if asked.path.startswith("/v1/admin/jobs") else overview)


def answers(service: FakeService, *, ready: bool, **more: Any) -> None:
    body = {"ready": ready, "parts": PARTS if not ready else PARTS[:1]} | more
    service.respond = lambda asked: Answer(200 if ready else 503, body)


def test_status_says_what_there_is_in_a_few_lines(
    elf: CommandLine, service: FakeService, admin: FakeService
) -> None:
    answers(service, ready=True)
    code, out, err = elf("status")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"service  ready at 127.0.0.1:{service.port}",
        "version  1.2.3",
        "notes    3,000, and 4 deleted",
        "waiting  no jobs",
        "model    acme:large:384",
        "disk     300 MB: postgres 300 MB, index 4.9 KB",
        f"config   {elf.config}",
        "parts    1 of 1 ready",
    ]
    assert admin.asked == [
        Asked("GET", "/v1/admin/overview", {}, None), Asked("GET", "/v1/admin/jobs/counts", {}, None),
    ]  # fmt: skip


def test_status_says_how_many_jobs_were_given_up_and_how_to_see_them(
    elf: CommandLine, service: FakeService, admin: FakeService
) -> None:
    answers(service, ready=True)
    given_up = [COUNTS | {"queue": "assistant", "given_up": 1}, COUNTS | {"queue": "store", "given_up": 1200}]
    respond(admin, OVERVIEW, *given_up)
    assert (
        "given up  1,201 jobs (assistant 1, store 1,200): `elf admin jobs list --state GIVEN_UP`"
        in elf("status").out.splitlines()
    )


def test_status_says_which_parts_are_not_ready_and_all_of_them_when_asked(
    elf: CommandLine, service: FakeService, admin: FakeService
) -> None:
    answers(service, ready=False)
    code, out, _ = elf("status")
    assert code == 3
    assert out.startswith("service  not ready at")
    assert out.splitlines()[-2:] == [
        "parts    1 of 2 ready",
        "         index backing_off, 2 restarts: killed",
    ]
    assert "         postgres ready" in elf("status", "--parts").out.splitlines()


def test_status_says_how_far_the_embedding_with_a_new_model_is_and_what_waits(
    elf: CommandLine, service: FakeService, admin: FakeService
) -> None:
    answers(service, ready=True)
    waits = {"notes_to_embed": 750, "waiting_jobs": 400, "failed_jobs": 3, "oldest_job_seconds": 61.6}
    respond(admin, OVERVIEW | waits)
    out = elf("status").out
    assert "waiting  400 jobs, 3 of them after a failure, the oldest for 62 s\n" in out
    assert "acme:large:384, 750 of 3,000 notes are still to be embedded with it (75% done)\n" in out


def test_status_does_without_the_admin_address(
    elf: CommandLine, service: FakeService, admin: FakeService
) -> None:
    answers(service, ready=True, process="api-1")
    admin.respond = lambda asked: error(503, "UNAVAILABLE")
    code, out, _ = elf("status")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].endswith("(process api-1, one of several)")
    assert lines[1] == "figures  unknown: UNAVAILABLE: the message"


def test_status_shows_what_is_wrong_beside_the_parts(
    elf: CommandLine, service: FakeService, admin: FakeService
) -> None:
    answers(
        service, ready=True, warnings=["there:2 has the embedding\x07model acme:large:384", "17 jobs wait"]
    )
    assert elf("status").out.splitlines()[-2:] == [
        "warning  there:2 has the embedding model acme:large:384",
        "warning  17 jobs wait",
    ]


def test_with_json_status_is_the_services_own_answer(elf: CommandLine, service: FakeService) -> None:
    answers(service, ready=False)
    outcome = elf("status", "--json")
    assert (outcome.code, outcome.data) == (3, {"ready": False, "parts": PARTS})
