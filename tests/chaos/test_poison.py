"""A text that ends every process whose model is given it: it is given up, and nobody else's work is."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.folders import fresh_folder
from tests.system.fork_server import fork_server
from tests.system.poisoned import POISON
from tests.system.said import ROOT, Speaker
from tests.system.service import RunningService, wait_for, write_config

USERS: Final = 5
ENTRIES: Final = 100  # of each
INDEX: Final = "/v1/admin/index/conversations"
QUEUE: Final = "conversations_indexing"
MOST_DEATHS: Final = 3
DEATHS: Final = 1 + MOST_DEATHS  # it is alone from the first one on


@contextmanager
def poisoned(folder: Path, model_folder: Path) -> Iterator[RunningService]:
    config = write_config(folder, cache_dir=f'"{model_folder}"')
    service = RunningService(config, program=("tests.system.poisoned", folder, "up", "-c", config))
    (folder / "wait").touch()
    yield service
    if service._process is not None:
        service.stop()


def jobs(service: RunningService, **asked: str) -> list[dict[str, Any]]:
    answer = service.admin.get("/v1/admin/jobs", params={"queue": QUEUE, **asked}).raise_for_status()
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def decide(service: RunningService, verb: str, *ids: str) -> Any:
    body = {"queue": QUEUE, "ids": ids}
    return service.admin.post(f"/v1/admin/jobs/{verb}", json=body).raise_for_status().json()


def is_settled(service: RunningService) -> bool:
    """Whether nothing waits any more."""
    return not jobs(service, state="PENDING") and not jobs(service, state="FAILED")


@pytest.mark.timeout(560)
def test_a_text_that_ends_the_process_is_given_up_and_everything_else_is_indexed(model_folder: Path) -> None:
    with fresh_folder() as folder, poisoned(folder, model_folder) as service:
        service.start()
        speakers = [Speaker(service) for _ in range(USERS)]
        homes = [one.begin() for one in speakers]
        said = [(one, one.say(home, f"lamp {number}")) for number in range(ENTRIES // 2)
                for one, home in zip(speakers, homes, strict=True)]  # fmt: skip
        socrates = Speaker(service)
        entry = socrates.say(cell := socrates.begin(), f"a cup of {POISON}")
        said += [(one, one.say(home, f"lamp {number}")) for number in range(ENTRIES // 2, ENTRIES)
                 for one, home in zip(speakers, homes, strict=True)]  # fmt: skip
        (folder / "wait").unlink()
        for _ in range(DEATHS):
            assert service.wait_exit(timeout_s=120) != 0
            service.start()
        wait_for(lambda: is_settled(service), "all but the poison is indexed", timeout_s=120)
        (given_up,) = jobs(service)
        assert (given_up["state"], given_up["subject_id"]) == ("GIVEN_UP", entry)
        assert given_up["process_deaths"] == MOST_DEATHS
        assert POISON not in str(given_up)
        for speaker in speakers:
            found = speaker.search("lamp", searchType="semantic", groupByConversation=False, limit=100)
            assert {one["entryId"] for one in found["data"]} == {id for one, id in said if one is speaker}

        _assert_left_alone(service)
        service.stop()
        service.start()  # a restart
        _assert_left_alone(service)

        listed = _elf(service, "admin", "jobs", "list", "--state", "GIVEN_UP")
        assert given_up["id"] in listed
        assert _elf(service, "admin", "jobs", "discard", QUEUE, given_up["id"]) == "discarded  1\n"
        assert [one["state"] for one in jobs(service)] == ["DISCARDED"]
        _assert_left_alone(service)
        assert socrates.call("GET", f"{ROOT}/{cell}/entries")["data"][0]["id"] == entry  # it is there still

        (folder / "cured").touch()
        other = socrates.say(cell, f"another cup of {POISON}")
        wait_for(lambda: is_settled(service), "what is said now is indexed")
        found = socrates.search("a cup", searchType="semantic", groupByConversation=False)
        assert [one["entryId"] for one in found["data"]] == [other]


@pytest.mark.timeout(560)
def test_a_job_that_was_given_up_is_done_when_an_operator_says_so_and_its_cause_is_gone(
    model_folder: Path,
) -> None:
    with fresh_folder() as folder, poisoned(folder, model_folder) as service:
        service.start()
        (folder / "wait").unlink()
        socrates = Speaker(service)
        entry = socrates.say(socrates.begin(), f"a cup of {POISON}")
        for _ in range(DEATHS):
            assert service.wait_exit(timeout_s=120) != 0
            service.start()
        wait_for(lambda: is_settled(service), "the poison is given up", timeout_s=120)
        (given_up,) = jobs(service)
        (folder / "cured").touch()
        assert decide(service, "retry", given_up["id"]) == {"retried": 1, "not_given_up": []}
        wait_for(lambda: not jobs(service), "it is done")
        assert socrates.found("a cup", searchType="semantic", groupByConversation=False) == [entry]


def _assert_left_alone(service: RunningService) -> None:
    """Whatever brings the index to what Postgres says leaves out what was given up."""
    (before,) = jobs(service)
    for what in ("repair", "rebuild"):
        service.admin.post(f"{INDEX}/{what}", json={}).raise_for_status()
    wait_for(lambda: is_settled(service), "what was asked for is done")
    assert service.process.poll() is None
    (after,) = jobs(service)
    assert (after["id"], after["state"]) == (before["id"], before["state"])


def _elf(service: RunningService, *arguments: str) -> str:
    folder = service.config.parent / "command"
    folder.mkdir(exist_ok=True)
    config = write_config(folder, admin_bind=f'"{service.admin_url.removeprefix("http://")}"')
    command = fork_server().command("elf", *arguments, "-c", config)
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
