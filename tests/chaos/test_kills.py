"""Parts of a running service are killed during an import: it goes on by itself and loses nothing."""

from __future__ import annotations

from collections.abc import Callable

import psutil
import pytest

from tests.chaos.kills import (
    hang_index,
    kill_backend,
    kill_index,
    kill_postgres,
    wait_recovered,
)
from tests.system.service import RunningService, note, wait_for
from tests.system.truth import assert_all_there
from tests.system.writers import Writers

BLOWS = 2

Blow = Callable[[RunningService], psutil.Process]


def wait_written(writers: Writers, more: int) -> None:
    enough = len(writers.acknowledged) + more
    wait_for(lambda: len(writers.acknowledged) >= enough, f"{more} more notes are acknowledged")


@pytest.mark.parametrize("kill", [kill_postgres, kill_index], ids=["postgres", "index"])
def test_a_part_that_is_killed_again_and_again_during_an_import_comes_back(
    service: RunningService, tenant: str, kill: Blow
) -> None:
    with Writers(service, tenant, pause_s=0.02) as writers:
        for _ in range(BLOWS):
            wait_written(writers, 10)
            recovery = wait_recovered(service, kill(service))
            assert recovery.ready == {200, 503}
            assert service.client.get("/health").status_code == 200
        wait_written(writers, 10)
    assert writers.faults == []
    assert_all_there(service, tenant, writers.acknowledged)


def test_killed_sessions_of_postgres_cost_nothing_that_was_acknowledged(
    service: RunningService, tenant: str
) -> None:
    postmaster = service.postmaster()
    with Writers(service, tenant, pause_s=0.02) as writers:
        for _ in range(BLOWS):
            wait_written(writers, 10)
            wait_recovered(service, kill_backend(service))
        wait_written(writers, 10)
    assert writers.faults == []
    assert service.postmaster() == postmaster
    assert_all_there(service, tenant, writers.acknowledged)


def test_an_index_process_that_hangs_is_replaced(service: RunningService, tenant: str) -> None:
    with Writers(service, tenant, clients=2, pause_s=0.05) as writers:
        wait_written(writers, 10)
        assert wait_recovered(service, hang_index(service)).ready == {200, 503}
        wait_written(writers, 10)
    assert writers.faults == []
    assert_all_there(service, tenant, writers.acknowledged)


def test_two_services_recover_from_the_loss_of_the_postgres_they_share(
    service: RunningService, tenant: str
) -> None:
    with RunningService(service.config, name="other") as other:
        killed = kill_postgres(service)
        for each in (service, other):
            wait_recovered(each, killed)
        (first,) = service.add(tenant, note("The lift in building four is broken."))
        (second,) = other.add(tenant, note("Lunch is served from noon until two."))
        service.wait_found(tenant, "When is lunch?", second["note_id"])
        other.wait_found(tenant, "What about the lift?", first["note_id"])
    assert other.complaints() == []


def test_kills_leave_no_files_open_and_no_dead_children(service: RunningService) -> None:
    process = psutil.Process(service.process.pid)
    after: list[int] = []
    for kill in (kill_postgres, kill_index) * 2:
        wait_recovered(service, kill(service))
        after.append(process.num_fds())
    children = process.children(recursive=True)
    assert [child.pid for child in children if child.status() == psutil.STATUS_ZOMBIE] == []
    assert [child.pid for child in children] == [service.index_process().pid]
    assert after[3] <= after[1] + 2  # as many as a round before, but for a connection that comes and goes
