"""What the parts of a process tell about themselves, on one page."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any, NamedTuple, cast

import anyio
import pytest
from anyio.abc import TaskStatus

from actors.assembly.fleet import fleet_gauges
from actors.kernel import Channel, RestartPolicy, Supervisor
from actors.telemetry.metrics import Metrics
from elf.core.errors import ProviderUnavailable
from elf.core.log_writer import LogStream
from elf.db.database import Database
from elf.indexing.fleet import Fleet, Member
from elf.search.breaker import CircuitBreaker
from elf.search.cache import AnswerCache, CacheCounts
from elf.web.metrics import metrics_page
from tests.metrics_kit import Page
from tests.traces_kit import a_trace

pytestmark = pytest.mark.anyio


async def page_of(metrics: Metrics) -> Page:
    page = Page(metrics_page(await metrics.collect()).decode())
    assert page.problems() == []
    return page


async def test_dropped_lines_of_the_log_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await page_of(Metrics())).value("elf_log_lines_dropped_total") == 0
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb"):
        log = LogStream(writing, "utf-8")
        monkeypatch.setattr(sys, "stderr", log)
        log.write("one\n")
        log.lines.close()
        assert (await page_of(Metrics())).value("elf_log_lines_dropped_total") == 1


class Crashing:
    """An actor that crashes a number of times before it stays."""

    name = "shaky"

    def __init__(self, crashes: int) -> None:
        self._crashes = crashes

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        if self._crashes:
            self._crashes -= 1
            raise RuntimeError
        task_status.started()
        await anyio.sleep_forever()


async def test_actors_are_up_when_ready_and_their_restarts_are_counted() -> None:
    supervisor = Supervisor(policy=RestartPolicy(initial_s=0.01, max_s=0.01))
    supervisor.add(Crashing(2))
    metrics = Metrics()
    metrics.watch_actors(supervisor.snapshot)
    before = await page_of(metrics)
    assert (before.value("elf_ready"), before.value("elf_actor_up", actor="shaky")) == (0, 0)
    async with anyio.create_task_group() as group:
        await group.start(supervisor.run)
        running = await page_of(metrics)
        group.cancel_scope.cancel()
    assert (running.value("elf_ready"), running.value("elf_actor_up", actor="shaky")) == (1, 1)
    assert running.value("elf_actor_restarts_total", actor="shaky") == 2


async def test_channels_show_how_full_they_are_and_what_they_dropped() -> None:
    channel: Channel[int] = Channel("traces", 2, "drop")
    metrics = Metrics()
    metrics.watch_channels(channel)
    for number in range(5):
        channel.send_nowait(number)
    page = await page_of(metrics)
    assert page.value("elf_channel_items", channel="traces") == 2
    assert page.value("elf_channel_capacity_items", channel="traces") == 2
    assert page.value("elf_channel_sent_total", channel="traces") == 2
    assert page.value("elf_channel_dropped_total", channel="traces") == 3


async def test_failures_of_the_steps_of_a_collection_are_counted() -> None:
    failures = {("notes", "done_jobs"): 0}
    metrics = Metrics()
    metrics.watch_garbage(failures)
    failures["notes", "done_jobs"] += 2
    labels = {"family": "notes", "step": "done_jobs"}
    assert (await page_of(metrics)).value("elf_gc_step_failures_total", **labels) == 2


async def test_processes_are_counted_by_their_models_and_so_is_what_waits_for_nobody() -> None:
    own = Member("here:1", "acme:small:384", "1:240:40:aa", True)
    fleet = Fleet(own.embedding_version, own.chunking)
    metrics = Metrics()
    metrics.watch_gauges(fleet_gauges(fleet, own))
    mine = {"embedding_version": "acme:small:384", "chunking": "1:240:40:aa", "indexes": "true"}
    assert (await page_of(metrics)).value("elf_note_processes", **mine) == 1
    mate = replace(own, name="there:2")
    fleet.see(frozenset([mate, replace(mate, embedding_version="acme:large:384", indexes=False)]))
    fleet.waiting = {"acme:large:384": 3}
    page = await page_of(metrics)
    assert page.value("elf_note_processes", **mine) == 2
    theirs = mine | {"embedding_version": "acme:large:384", "indexes": "false"}
    assert page.value("elf_note_processes", **theirs) == 1
    assert page.value("elf_unserved_jobs", embedding_version="acme:large:384") == 3


async def test_circuits_are_called_by_what_they_guard() -> None:
    async def away() -> None:
        raise ProviderUnavailable("away")

    breakers = [CircuitBreaker("providers.rerank (acme)"), CircuitBreaker("the index")]
    metrics = Metrics()
    metrics.watch_breakers(breakers)
    for _ in range(5):
        with pytest.raises(ProviderUnavailable):
            await breakers[0].call(away)
    page = await page_of(metrics)
    assert page.value("elf_circuit_open", circuit="rerank") == 1
    assert page.value("elf_circuit_openings_total", circuit="rerank") == 1
    assert page.value("elf_circuit_refused_calls_total", circuit="rerank") == 2
    assert page.has("elf_circuit_open", circuit="index")
    assert page.value("elf_circuit_open", circuit="index") == 0


async def test_the_cache_shows_hits_and_misses_of_each_kind_of_answer() -> None:
    class Cache:
        counts = {"rerank": CacheCounts(hits=3, misses=2, errors=1)}  # noqa: RUF012 - stands for a property

    metrics = Metrics()
    metrics.watch_cache(cast("AnswerCache", Cache()))
    page = await page_of(metrics)
    assert page.value("elf_cache_reads_total", kind="rerank", result="hit") == 3
    assert page.value("elf_cache_reads_total", kind="rerank", result="miss") == 2
    assert page.value("elf_cache_errors_total", kind="rerank") == 1


async def test_requests_that_are_let_in_wait_and_are_refused_are_shown_by_kind() -> None:
    class Counts(NamedTuple):
        at_work: int
        waiting: int
        refused: int

    metrics = Metrics()
    metrics.watch_admission(lambda: {"quick": Counts(16, 4, 7), "slow": Counts(1, 0, 0)})
    page = await page_of(metrics)
    assert page.value("elf_admission_requests", kind="quick", state="at_work") == 16
    assert page.value("elf_admission_requests", kind="quick", state="waiting") == 4
    assert page.value("elf_admission_refused_total", kind="quick") == 7
    assert page.value("elf_admission_requests", kind="slow", state="at_work") == 1


async def test_a_pool_that_is_not_open_has_no_connections_and_its_limit() -> None:
    metrics = Metrics()
    metrics.watch_pools({"replica": Database(max_conns=7)})
    page = await page_of(metrics)
    for state in ("idle", "in_use"):
        assert page.has("elf_database_connections", pool="replica", state=state)
        assert page.value("elf_database_connections", pool="replica", state=state) == 0
    assert page.value("elf_database_connections_max", pool="replica") == 7


async def test_searches_are_counted_by_their_traces_which_go_on_their_way() -> None:
    sunk: list[Any] = []
    metrics = Metrics()
    sink = metrics.count_searches(sunk.append)
    trace = a_trace(degraded=["rerank"])
    sink(trace)
    page = await page_of(metrics)
    assert sunk == [trace]
    assert page.value("elf_searches_total", family="notes") == 1
    assert page.value("elf_searches_degraded_total", family="notes", part="rerank") == 1
    assert page.value("elf_search_stage_duration_seconds_count", family="notes", stage="index") == 1


async def test_the_page_says_what_runs_and_what_the_process_uses() -> None:
    page = await page_of(Metrics())
    assert page.labels_of("elf_build_info") == {"version", "python"}
    assert page.value("process_resident_memory_bytes") > 1e6
