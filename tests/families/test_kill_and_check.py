"""Two services over the same data, at work together and killed in turn: nothing acknowledged is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.kills import kill_postgres, wait_recovered
from tests.families.every import PROOFS, Proof
from tests.families.notes_work import NoteClaim, NotesWork
from tests.families.served import config_of_all, service_of_all
from tests.families.work import Crew, Task
from tests.folders import fresh_folder
from tests.system.service import RunningService, note, processes_of

EACH = 15  # pieces of work before the next thing happens


@pytest.fixture(scope="module")
def pair(model_folder: Path) -> Iterator[tuple[RunningService, RunningService]]:
    """Two services with one config. What a killed one had leased comes back soon."""
    with fresh_folder() as folder:
        config = config_of_all(folder, cache_dir=f'"{model_folder}"', lease_seconds="5")
        try:
            with (
                service_of_all(config, name="first") as first,
                service_of_all(config, name="second") as second,
            ):
                yield first, second
        finally:
            for process in processes_of(folder):
                process.kill()


@pytest.fixture(params=PROOFS, ids=lambda family: family.name)
def task(
    request: pytest.FixtureRequest, pair: tuple[RunningService, RunningService], tenant: str
) -> Task[Any]:
    family: Proof = request.param
    return Task(family.work, pair, {"tenant_id": tenant, "project_id": "p", "agent_id": "a"})


def test_what_one_of_two_acknowledges_both_have(task: Task[Any]) -> None:
    with Crew(task, seed=1) as crew:
        crew.wait_done(2 * EACH)
    assert crew.faults == []
    assert task.problems(crew.claims) == []


def test_nothing_is_lost_when_one_of_two_is_killed_and_then_the_database(
    task: Task[Any], pair: tuple[RunningService, RunningService]
) -> None:
    first, second = pair
    with Crew(task, seed=2) as crew:
        crew.wait_done(EACH)
        second.kill()
        crew.wait_done(EACH)
        second.start()
        killed = kill_postgres(first)
        for service in pair:
            wait_recovered(service, killed)
        crew.wait_done(EACH)
    assert crew.faults == []
    assert task.problems(crew.claims) == []
    assert first.complaints() == []


def test_what_is_lost_changed_or_doubled_would_be_told(
    pair: tuple[RunningService, RunningService], tenant: str
) -> None:
    service = pair[0]
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
    texts = [f"Fact: the {name} lamp hangs in the hall." for name in ("lost", "changed", "doubled")]
    added = service.add(tenant, *(note(text, key=text) for text in texts))
    claims = [
        NoteClaim(result["note_id"], frozenset([text])) for result, text in zip(added, texts, strict=True)
    ]
    lost, changed, _ = (claim.note_id for claim in claims)
    assert service.post("delete", place | {"note_id": lost}).is_success
    assert service.post("update", place | {"note_id": changed, "text": "Fact: it is dark."}).is_success
    service.add(tenant, note(texts[2], key="another key"))
    problems = Task(NotesWork(), [service], place).problems(claims)
    assert [problem.split(" says ")[0] for problem in problems[:2]] == [f"first: {lost}", f"first: {changed}"]
    assert problems[2:] == [f"first: {texts[2]!r} is there 2 times"]
