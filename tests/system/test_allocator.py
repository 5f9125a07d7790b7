"""The threads of a service have their memory from one arena, not from one each that keeps what it once needed."""

from __future__ import annotations

import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.system.service import RunningService, add_body, note, search_body

ARENA_BYTES = 64 << 20
"""Where glibc maps the arenas of threads: each at a multiple of this."""
IMPORTED = 1
"""What the process that the tests fork services from may have, as it has imported their code before."""

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")


def arenas(pid: int) -> int:
    """Count the arenas of a process but for the first, which is its heap."""
    lines = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    unnamed = [
        where for where, access, *_, inode in (line[:5] for line in lines) if (access, inode) == ("rw-p", "0")
    ]
    return sum(int(where.split("-")[0], 16) % ARENA_BYTES == 0 for where in unnamed)


def test_the_threads_of_a_service_share_an_arena(service: RunningService, tenant: str) -> None:
    def work(number: int) -> None:
        text = f"Preference: Ana likes the tea called {number}."
        service.client.post("/v1/memory/add_note", json=add_body(tenant, note(text))).raise_for_status()
        service.client.post("/v1/memory/search", json=search_body(tenant, text)).raise_for_status()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))

    assert arenas(service.process.pid) <= IMPORTED
