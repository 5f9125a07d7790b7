"""What is done to the parts of a running service."""

from __future__ import annotations

import random
import time

import psutil

from tests.system.service import RunningService, wait_for

RECOVERY_S = 40.0


def kill_postgres(service: RunningService) -> None:
    """SIGKILL the main process of Postgres."""
    service.postmaster().kill()


def kill_backend(service: RunningService) -> None:
    """SIGKILL one session of Postgres, upon which Postgres ends all sessions and recovers."""
    sessions = [child for child in service.postmaster().children() if _serves_a_client(child)]
    assert sessions, "Postgres serves nobody"
    random.choice(sessions).kill()


def kill_index(service: RunningService) -> None:
    """SIGKILL the index process."""
    service.index_process().kill()


def hang_index(service: RunningService) -> None:
    """SIGSTOP the index process: it stays, but answers no more."""
    service.index_process().suspend()


def status(service: RunningService) -> int:
    """What /ready says."""
    return service.client.get("/ready").status_code


def seconds_until_back(service: RunningService) -> float:
    """Wait until /ready answers 503 and then 200 again; return how long both took together."""
    started = time.monotonic()
    wait_for(lambda: status(service) == 503, "/ready notices", timeout_s=RECOVERY_S)
    wait_for(lambda: status(service) == 200, "/ready recovers", timeout_s=RECOVERY_S)
    return time.monotonic() - started


def _serves_a_client(process: psutil.Process) -> bool:
    try:
        return "[local]" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False
