"""`elf admin jobs`: what is asked of the admin address, what is printed, how it ends."""

from __future__ import annotations

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService, error

ONE, TWO = "7b0e1d9a-3f0a-4e0c-9d53-3b5f1e7c1a11", "01890a5d-ac96-774b-bcce-b302099a8057"
JOB = {
    "queue": "indexing", "id": ONE, "state": "GIVEN_UP", "tenant_id": "acme", "subject_kind": "note", "subject_id": TWO,
    "attempts": 3, "process_deaths": 3, "last_error": "Broken:\x07 no vectors", "created_at": "2026-03-01T12:00:00Z",
    "updated_at": "2026-03-01T13:00:00Z",
}  # fmt: skip


@pytest.fixture
def admin(elf: CommandLine, service: FakeService) -> CommandLine:
    """A command line whose config has the fake service at the admin address, and nothing at the other."""
    text = elf.config.read_text().replace(f"127.0.0.1:{service.port}", "127.0.0.1:1")
    elf.config.write_text(text.replace("127.0.0.1:8767", f"127.0.0.1:{service.port}"))
    return elf


def test_jobs_are_listed_one_a_line_and_it_is_said_that_there_are_more(
    admin: CommandLine, service: FakeService
) -> None:
    service.respond = lambda asked: Answer(body={"items": [JOB], "next_cursor": "abc"})
    flags = (
        "--queue",
        "indexing",
        "--state",
        "GIVEN_UP",
        "--tenant",
        "acme",
        "--limit",
        "1",
        "--cursor",
        "c",
    )
    code, out, err = admin("admin jobs list", *flags)
    assert code == 0
    assert out.split() == [
        "indexing", ONE, "GIVEN_UP", "acme", "note", TWO, "3", "3", "2026-03-01T13:00:00Z", "Broken:", "no", "vectors",
    ]  # fmt: skip
    assert err == "elf: there are more; continue with --cursor abc\n"
    params = {"queue": "indexing", "state": "GIVEN_UP", "tenant_id": "acme", "limit": "1", "cursor": "c"}
    assert service.asked == [Asked("GET", "/v1/admin/jobs", params, None)]


def test_without_flags_the_jobs_of_all_are_listed(admin: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(body={"items": [], "next_cursor": None})
    assert admin("admin jobs list") == (0, "", "")
    assert service.asked == [Asked("GET", "/v1/admin/jobs", {}, None)]


@pytest.mark.parametrize(("verb", "done"), [("retry", "retried"), ("discard", "discarded")])
def test_jobs_are_decided_on_by_their_ids(
    admin: CommandLine, service: FakeService, verb: str, done: str
) -> None:
    service.respond = lambda asked: Answer(body={done: 2, "not_given_up": []})
    assert admin(f"admin jobs {verb}", "indexing", ONE, TWO, "--tenant", "acme") == (0, f"{done}  2\n", "")
    body = {"queue": "indexing", "ids": [ONE, TWO], "tenant_id": "acme"}
    assert service.asked == [Asked("POST", f"/v1/admin/jobs/{verb}", {}, body)]


@pytest.mark.parametrize(("verb", "done"), [("retry", "retried"), ("discard", "discarded")])
def test_ids_of_jobs_that_were_not_given_up_are_named_and_end_with_1(
    admin: CommandLine, service: FakeService, verb: str, done: str
) -> None:
    service.respond = lambda asked: Answer(body={done: 1, "not_given_up": [TWO]})
    code, out, err = admin(f"admin jobs {verb}", "indexing", ONE, TWO)
    assert (code, out) == (1, f"{done}  1\n")
    assert err == f"elf: this queue has given up no such job: {TWO}\n"


def test_an_unknown_queue_ends_with_1_and_says_which_there_are(
    admin: CommandLine, service: FakeService
) -> None:
    service.respond = lambda asked: error(
        404, "NOT_FOUND", message="there is no queue 'x'; there are indexing"
    )
    code, _, err = admin("admin jobs list", "--queue", "x")
    assert (code, err) == (1, "elf: NOT_FOUND: there is no queue 'x'; there are indexing\n")


def test_a_state_that_there_is_not_is_a_wrong_command_line(admin: CommandLine, service: FakeService) -> None:
    code, _, err = admin("admin jobs list", "--state", "DONE")
    assert code == 2
    assert "PENDING, FAILED, GIVEN_UP, DISCARDED" in err.replace("'", "")
    assert service.asked == []
