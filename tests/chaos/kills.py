"""What is done to the parts of a running service, and how long it takes to recover."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import httpx
import psutil

from tests.system.service import (
    RunningService,
    add_body,
    is_index_process,
    note,
    processes_of,
    search_body,
    wait_for,
)

RECOVERY_S = 60.0
PROBE_TENANT = "probe"


def kill_postgres(service: RunningService) -> psutil.Process:
    """SIGKILL the main process of Postgres."""
    return _killed(service.postmaster())


def kill_backend(service: RunningService) -> psutil.Process:
    """SIGKILL one session of Postgres, upon which Postgres ends all sessions and recovers."""
    return _killed(random.choice(wait_for(lambda: _sessions(service), "Postgres serves somebody")))


def kill_index(service: RunningService) -> psutil.Process:
    """SIGKILL the index process."""
    return _killed(service.index_process())


def hang_index(service: RunningService) -> psutil.Process:
    """SIGSTOP the index process: it stays, but answers no more."""
    process = service.index_process()
    process.suspend()
    return process


def hang_postgres(service: RunningService) -> psutil.Process:
    """SIGSTOP Postgres with all its sessions."""
    postmaster = service.postmaster()
    for process in (postmaster, *postmaster.children()):
        process.suspend()
    return postmaster


@dataclass(frozen=True, slots=True)
class Recovery:
    """How long it took until the service did its work again, and what /ready answered meanwhile."""

    seconds: float
    ready: frozenset[int]


def wait_recovered(service: RunningService, hit: psutil.Process) -> Recovery:
    """Wait until the process that was hit is gone, and the service is ready, takes a note and answers a search."""
    started = time.monotonic()
    seen: set[int] = set()

    def works() -> bool:
        ready = service.client.get("/ready").status_code
        seen.add(ready)
        return ready == httpx.codes.OK and not _is_there(hit) and _has_index(service) and _works(service)

    wait_for(works, f"the service recovers from the loss of {hit.pid}", timeout_s=RECOVERY_S)
    return Recovery(time.monotonic() - started, frozenset(seen))


def given_up_jobs(service: RunningService) -> dict[str, int]:
    """How many jobs of each queue, over all tenants, are given up; queues without any are left out."""
    response = service.admin.get("/v1/admin/jobs/counts")
    assert response.is_success, response.text
    return {one["queue"]: one["given_up"] for one in response.json()["items"] if one["given_up"]}


def _has_index(service: RunningService) -> bool:
    """Whether an index process runs, its own or another's: until its loss is noticed, searches do without it."""
    return any(is_index_process(process) for process in processes_of(service.config.parent))


def _works(service: RunningService) -> bool:
    """Whether a note is taken and a search is answered; other answers than 200 must be 503."""
    probe = note("The probe was here.", key="probe")
    answers = [
        service.post("add_note", add_body(PROBE_TENANT, probe)),
        service.post("search", search_body(PROBE_TENANT, "probe")),
    ]
    for answer in answers:
        assert answer.status_code in (200, 503), answer.text
    return all(answer.status_code == httpx.codes.OK for answer in answers)


def _killed(process: psutil.Process) -> psutil.Process:
    process.kill()
    return process


def _sessions(service: RunningService) -> list[psutil.Process]:
    return [child for child in service.postmaster().children() if _serves_a_client(child)]


def _serves_a_client(process: psutil.Process) -> bool:
    try:
        return "[local]" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def _is_there(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
