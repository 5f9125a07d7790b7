"""The page of metrics while Postgres does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from tests.metrics_kit import Page
from tests.system.service import RunningService, wait_for


@contextmanager
def held_up(processes: list[psutil.Process]) -> Iterator[None]:
    """Stop processes for a while, as a machine that swaps does."""
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def page_of(service: RunningService) -> Page:
    response = service.admin.get("/metrics")
    assert response.status_code == 200, response.text
    return Page(response.text)


def test_while_postgres_is_silent_the_page_comes_and_says_so(service: RunningService) -> None:
    postmaster = service.postmaster()
    with held_up([postmaster, *postmaster.children(recursive=True)]):
        page = page_of(service)
    assert page.problems() == []
    assert page.has("elf_database_up")
    assert page.value("elf_database_up") == 0
    assert not {"elf_outbox_jobs", "elf_notes"} & page.families.keys()
    assert page.has("elf_ready")
    wait_for(lambda: page_of(service).value("elf_database_up") == 1, "Postgres answers again")
