"""`elf rebuild` and `elf drift`: what is asked, what is printed, how they end."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService, error

REPORT = {"rebuilt_count": 812, "missing_vector_count": 1, "error_count": 0, "removed_count": 3}
CHUNK, NOTE = "7b0e1d9a-3f0a-5e0c-9d53-3b5f1e7c1a11", "01890a5d-ac96-474b-bcce-b302099a8057"


def found(missing: int = 0, stale: int = 0, orphaned: int = 0, **more: Any) -> dict[str, Any]:
    counts = {"missing_count": missing, "stale_count": stale, "orphaned_count": orphaned, "moving_count": 4}
    return counts | more


def no_examples() -> dict[str, list[Any]]:
    return {"missing": [], "stale": [], "orphaned": []}


@pytest.fixture
def admin(elf: CommandLine, service: FakeService) -> CommandLine:
    """A command line whose config has the fake service at the admin address, and nothing at the other."""
    text = elf.config.read_text().replace(f"127.0.0.1:{service.port}", "127.0.0.1:1")
    elf.config.write_text(text.replace("127.0.0.1:8767", f"127.0.0.1:{service.port}"))
    return elf


def test_a_rebuild_is_asked_for_at_the_admin_address_and_its_report_shown(
    admin: CommandLine, service: FakeService
) -> None:
    service.respond = lambda asked: Answer(body=REPORT)
    code, out, err = admin("rebuild")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "rebuilt         812",
        "missing_vector  1",
        "error           0",
        "removed         3",
    ]
    assert service.asked == [Asked("POST", "/v1/admin/rebuild_qdrant", {}, {})]


def test_points_that_the_index_refused_make_a_rebuild_end_with_1(
    admin: CommandLine, service: FakeService
) -> None:
    service.respond = lambda asked: Answer(body=REPORT | {"error_count": 2})
    assert admin("rebuild", "--json").code == 1
    assert admin("rebuild", "--json").data == REPORT | {"error_count": 2}


def test_a_rebuild_that_runs_already_is_said(admin: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: error(
        400, "INVALID_REQUEST", message="the index is being rebuilt already"
    )
    assert admin("rebuild") == (1, "", "elf: INVALID_REQUEST: the index is being rebuilt already\n")


def test_a_rebuild_that_gave_up_ends_with_3(admin: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: error(503, "UNAVAILABLE", message="the index is away")
    assert admin("rebuild").code == 3


def test_on_a_terminal_a_rebuild_is_followed_until_its_report_comes(
    admin: CommandLine, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Asked] = []
    seen = threading.Event()
    monkeypatch.setattr("elf.cli.index.LOOK_EVERY_S", 0.01)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    followed = service.answer

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            looks.append(asked)
            seen.set()
            return Answer(body={"state": "running", "done": 100, "total": 812})
        assert seen.wait(10), "nobody looks how far it is"
        return followed(asked)

    service.answer = answer  # type: ignore[method-assign]
    service.respond = lambda asked: Answer(body=REPORT)
    outcome = admin("rebuild")
    assert outcome.code == 0
    assert outcome.out.startswith("rebuilt ")
    assert {(asked.method, asked.path) for asked in looks} == {("GET", "/v1/admin/rebuild_qdrant")}


def test_drift_is_counted_and_shown_with_examples_and_ends_with_1(
    admin: CommandLine, service: FakeService
) -> None:
    examples = no_examples() | {"stale": [{"chunk_id": CHUNK, "note_id": NOTE}]}
    service.respond = lambda asked: Answer(body=found(stale=1, examples=examples))
    code, out, err = admin("drift", "--examples", "3")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "missing   0", "stale     1", "orphaned  0", "moving    4", f"  stale: chunk {CHUNK} of note {NOTE}",
    ]  # fmt: skip
    assert service.asked == [Asked("GET", "/v1/admin/index_drift", {"examples": "3"}, None)]


def test_an_index_without_drift_ends_with_0(admin: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(body=found(examples=no_examples()))
    assert admin("drift").code == 0
    assert service.asked == [Asked("GET", "/v1/admin/index_drift", {}, None)]
    assert admin("drift", "--json").data == found(examples=no_examples())


def test_a_repair_that_mended_everything_ends_with_0(admin: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(body=found(missing=2, jobs=2, open_jobs=0))
    code, out, err = admin("drift", "--repair")
    assert (code, err) == (0, "")
    assert out.startswith("missing   2\n")
    assert service.asked == [Asked("POST", "/v1/admin/index_repair", {}, {})]


def test_a_repair_that_is_not_done_yet_says_so_and_ends_with_1(
    admin: CommandLine, service: FakeService
) -> None:
    service.respond = lambda asked: Answer(body=found(missing=2, jobs=2, open_jobs=1))
    code, _, err = admin("drift", "--repair")
    assert (code, err) == (1, "elf: 1 of 2 notes are still being worked on\n")


def test_a_drift_that_is_refused_ends_with_1_and_an_absent_service_with_3(
    admin: CommandLine, service: FakeService
) -> None:
    service.respond = lambda asked: error(400, "INVALID_REQUEST", fields=["$.examples"])
    code, _, err = admin("drift", "--examples", "101")
    assert code == 1
    assert "$.examples" in err
    text = admin.config.read_text().replace(f"127.0.0.1:{service.port}", "127.0.0.1:2")
    admin.config.write_text(text)
    assert admin("rebuild").code == admin("drift").code == 3
