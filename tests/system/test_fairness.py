"""A flood does not shut others out, whatever names it takes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import anyio
import httpx
import pytest

from tests.folders import fresh_folder
from tests.system.service import RunningService, note, search_body, wait_for, write_config

CLIENTS = 40  # more than there are places to work and to wait


@contextmanager
def flood_of_new_names(service: RunningService) -> Iterator[Counter[int]]:
    """Clients that search without pause, each time as a tenant never seen before; yields how they were answered."""
    answered: Counter[int] = Counter()
    stopped = threading.Event()
    names = count()

    async def client(http: httpx.AsyncClient) -> None:
        while not stopped.is_set():
            body = search_body(f"nobody {next(names)}", "Where is the tea?")
            answered[(await http.post("/v1/memory/search", json=body)).status_code] += 1

    async def flood() -> None:
        limits = httpx.Limits(max_connections=CLIENTS)
        async with (
            httpx.AsyncClient(base_url=service.url, limits=limits, timeout=60.0) as http,
            anyio.create_task_group() as group,
        ):
            for _ in range(CLIENTS):
                group.start_soon(client, http)

    thread = threading.Thread(target=anyio.run, args=(flood,))
    thread.start()
    try:
        yield answered
    finally:
        stopped.set()
        thread.join()


@pytest.fixture
def narrow(model_folder: Path) -> Iterator[RunningService]:
    """A service that works on one request at a time and lets a few wait."""
    with (
        fresh_folder() as folder,
        RunningService(
            write_config(folder, cache_dir=f'"{model_folder}"', max_concurrent="1", max_waiting="16")
        ) as service,
    ):
        yield service


@pytest.mark.timeout(240)
def test_a_tenant_is_served_amid_a_flood_that_takes_a_new_name_for_each_request(
    narrow: RunningService, tenant: str
) -> None:
    service = narrow
    (added,) = service.add(tenant, note("Fact: the tea is in the blue tin."))
    service.wait_found(tenant, "Where is the tea?", added["note_id"])
    with flood_of_new_names(service) as answered:
        wait_for(lambda: answered[503] > 0, "the flood is more than can be served")
        for _ in range(20):  # a refusal would be a 503, which this fails on
            (item,) = service.search(tenant, "Where is the tea?")
            assert item["note_id"] == added["note_id"]
        newcomer = f"new {tenant}"[-128:]
        wait_for(
            lambda: service.post("search", search_body(newcomer, "tea")).is_success, "a newcomer is served"
        )
    assert set(answered) == {200, 503}
