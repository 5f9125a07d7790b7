"""Two services over the same data, at work together and killed in turn: nothing acknowledged is lost or doubled.

All families are at work while something is killed, so that it is killed once and not for each of them. More of it, and
in any order, is done by ops/chaos/families.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.kills import kill_postgres, wait_recovered
from tests.families.every import PROOFS, Proof
from tests.families.notes_work import NoteClaim, NotesWork
from tests.families.served import config_of_all, service_of_all
from tests.families.webhooks_proof import other_complaints, other_given_up_jobs
from tests.families.work import Crew, Task
from tests.folders import fresh_folder
from tests.system.service import RunningService, note, processes_of

EACH = 2  # pieces of work of each family before the next thing happens
CLIENTS = 2  # of each family
# Of each client between two pieces: what was killed has to start beside the work of all families.
PAUSE_S = 1.0


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


@pytest.fixture(scope="module")
def crews(
    pair: tuple[RunningService, RunningService],
) -> Mapping[str, tuple[Task[Any], Crew[Any]]]:
    """The work of each family, and who did it: at both, while one of them was killed and then the database."""
    first, second = pair
    tasks = {
        proof.name: Task(
            proof.work, pair, {"tenant_id": f"kills {proof.name}", "project_id": "p", "agent_id": "a"}
        )
        for proof in PROOFS
    }
    with ExitStack() as stack:
        crews = {
            name: stack.enter_context(Crew(task, clients=CLIENTS, seed=2, pause_s=PAUSE_S))
            for name, task in tasks.items()
        }
        _wait_done(crews.values())
        second.kill()
        _wait_done(crews.values())
        second.start()
        killed = kill_postgres(first)
        for service in pair:
            wait_recovered(service, killed)
        _wait_done(crews.values())
    return {name: (tasks[name], crew) for name, crew in crews.items()}


def _wait_done(crews: Iterable[Crew[Any]]) -> None:
    for crew in crews:
        crew.wait_done(EACH)


@pytest.mark.parametrize("family", PROOFS, ids=lambda family: family.name)
def test_what_one_of_two_acknowledges_both_have(
    pair: tuple[RunningService, RunningService], tenant: str, family: Proof
) -> None:
    task = Task(family.work, pair, {"tenant_id": tenant, "project_id": "p", "agent_id": "a"})
    with Crew(task, seed=1) as crew:
        crew.wait_done(2 * EACH)
    assert crew.faults == []
    assert task.problems(crew.claims) == []


@pytest.mark.timeout(600)  # the first of them starts three services and loads them
@pytest.mark.parametrize("family", PROOFS, ids=lambda family: family.name)
def test_nothing_is_lost_when_one_of_two_is_killed_and_then_the_database(
    crews: Mapping[str, tuple[Task[Any], Crew[Any]]], family: Proof
) -> None:
    task, crew = crews[family.name]
    assert crew.faults == []
    assert len(crew.claims) >= 3 * EACH
    assert task.problems(crew.claims) == []


def test_nobody_complains_of_what_was_killed(
    crews: Mapping[str, tuple[Task[Any], Crew[Any]]], pair: tuple[RunningService, RunningService]
) -> None:
    assert crews
    assert other_complaints(pair[0]) == []
    assert other_given_up_jobs(pair[0]) == {}


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
