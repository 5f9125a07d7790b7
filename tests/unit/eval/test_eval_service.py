"""An evaluation begins when all notes are indexed."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from elf.client import Client
from ops.eval import service
from ops.eval.service import Service


def indexing(waiting: Iterator[int]) -> Service:
    """A service with as many waiting jobs as said, one number a look."""

    def respond(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/v1/admin/overview"
        return httpx.Response(200, json={"waiting_jobs": next(waiting), "failed_jobs": 1, "notes": 9})

    client = Client("http://elf.example", transport=httpx.MockTransport(respond))
    return Service(client, client)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "LOOK_EVERY_S", 0.0)


def test_it_waits_until_no_job_is_left() -> None:
    left = iter([3, 3, 1, 0, 99])
    indexing(left).wait_until_indexed(60.0)
    assert next(left) == 99


def test_it_gives_up_when_nothing_is_done_for_too_long() -> None:
    def stuck() -> Iterator[int]:
        yield 3
        while True:
            yield 2

    with pytest.raises(SystemExit, match=r"2 notes still wait to be indexed, 1 of them after a failure"):
        indexing(stuck()).wait_until_indexed(0.01)
