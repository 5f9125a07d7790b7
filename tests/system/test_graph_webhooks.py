"""What becomes of memories of orchestrators reaches a webhook: each change once and in order, though the service is
killed while they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from elf.client import NO_RETRIES, Client
from elf.client.errors import Unreachable
from elf.client.families.graph import GraphClient, NewEdge, NewMemory
from tests.folders import fresh_folder
from tests.system.service import RunningService, wait_for, write_config
from tests.system.webhook_receiver import Heard, WebhookReceiver, add_webhook, running_receiver

TENANT = "acme"
KILLS = 2
BETWEEN_KILLS = 10
"""How many writes of each orchestrator are acknowledged before the service is killed."""


class News(NamedTuple):
    """What became of a memory; `by` is the one that contradicts it."""

    event: str
    memory_id: str
    by: str | None = None


class Written(NamedTuple):
    """What a write is told as; where it was not acknowledged nobody knows whether it was made."""

    news: Sequence[News]
    is_acknowledged: bool


Write = tuple[Callable[[], object], Sequence[News]]


def writes(known: GraphClient[Client], number: int) -> Iterator[Write]:
    """Yield writes of three memories, each with what it is told as."""
    a, b, c = (f"{name}{number}" for name in "abc")
    pair = [NewMemory(content=f"It is {one}.", type="Fact", memory_id=one) for one in (b, c)]
    contradiction = NewEdge(from_memory_id=b, to_memory_id=c, edge_type="Contradicts", weight=1.0)
    yield lambda: known.remember(f"It is {a}.", "Fact", memory_id=a), [News("written", a)]
    yield (
        lambda: known.remember_all(pair, edges=[contradiction]),
        [News("written", b), News("written", c), News("contradicted", c, b)],
    )
    yield lambda: known.update(a, content=f"It was {a}."), [News("changed", a)]
    yield lambda: known.supersede(a, by_memory_id=c), [News("forgotten", a)]
    yield lambda: known.retract(b), [News("forgotten", b)]


@dataclass
class Orchestrator:
    """Writes memories of its own, one after the other."""

    name: str
    written: list[Written] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def acknowledged(self) -> int:
        return sum(one.is_acknowledged for one in self.written)

    def write(self, url: str) -> None:
        """Write until the service is gone."""
        with Client(url, tenant_id=TENANT, agent_id=self.name, retries=NO_RETRIES) as client:
            for number in self.numbers:
                for write, news in writes(client.graph, number):
                    try:
                        write()
                    except Unreachable:
                        self.written.append(Written(news, False))
                        return
                    self.written.append(Written(news, True))

    def wait_heard(self, receiver: WebhookReceiver) -> None:
        """Wait until the last write that was acknowledged is heard of."""
        news = next(one.news for one in reversed(self.written) if one.is_acknowledged)
        wait_for(lambda: news[-1] in heard_of(receiver, self), f"{news} is heard")

    def faults(self, heard: Sequence[News]) -> list[str]:
        """Return what was not heard, or heard in another order, more than once or without being written."""
        faults, left = [], [*heard]
        for news, is_acknowledged in self.written:
            if left[: len(news)] == [*news]:
                del left[: len(news)]
            elif is_acknowledged:
                faults.append(f"{news} were not heard, but {left[: len(news)]}")
        return [*faults, *(f"nobody wrote {news}" for news in left)]


def heard_of(receiver: WebhookReceiver, orchestrator: Orchestrator) -> list[News]:
    """Return what was heard of an orchestrator, in the order in which each event came first."""
    first: dict[str, Heard] = {}
    for one in receiver.taken(agent_id=orchestrator.name):
        first.setdefault(one.id, one)
    return [News(one.event, one.data["item_id"], one.data.get("by")) for one in first.values()]


def kill_while_they_write(
    service: RunningService, orchestrators: Sequence[Orchestrator], *, enough: int
) -> None:
    """Kill the service once so many writes of each orchestrator are acknowledged."""
    with ThreadPoolExecutor() as threads:
        writing = [threads.submit(one.write, service.url) for one in orchestrators]

        def is_enough() -> bool:
            return all(one.acknowledged >= enough for one in orchestrators) or any(
                one.done() for one in writing
            )

        wait_for(is_enough, f"each has written {enough} times")
        service.kill()
        for one in writing:
            one.result()


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


def test_each_change_is_heard_once_and_in_order_though_the_service_is_killed_again_and_again(
    folder: Path,
) -> None:
    orchestrators = [Orchestrator("planner"), Orchestrator("writer")]
    with running_receiver() as receiver:
        config = write_config(folder)
        add_webhook(config, "all", receiver, families='["graph"]')
        with RunningService(config) as service:
            for kills in range(KILLS):
                kill_while_they_write(service, orchestrators, enough=(kills + 1) * BETWEEN_KILLS)
                service.start()
            for one in orchestrators:  # what was written at last is heard without any further write
                one.wait_heard(receiver)
            complaints = service.complaints()
    assert not receiver.forged
    assert [one.faults(heard_of(receiver, one)) for one in orchestrators] == [[], []]
    assert {(one.data["family"], one.data["kind"], one.data["tenant_id"]) for one in receiver.heard} == {
        ("graph", one.name, TENANT) for one in orchestrators
    }
    assert complaints == []
