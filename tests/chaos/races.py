"""Rounds of races over processes that share a database: how they are run, and what is said when something is wrong."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

import anyio

from elf.core.errors import ServiceError
from elf.db.database import Database

T = TypeVar("T")


@dataclass
class Races:
    """Rounds of all races, each in a tenant of its own.

    `databases` are the connections of each process. `faults` say what should not be. A race is a function of this.
    """

    databases: Sequence[Database]
    seed: int
    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    tenant: str = ""

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    async def run_all(self, races: Sequence[Callable[..., Awaitable[None]]], rounds: int) -> list[str]:
        """Run so many rounds of every race; returns the faults."""
        for _ in range(rounds):
            for race in races:
                self.tenant = f"race-{uuid4()}"
                with anyio.fail_after(120):
                    await race(self)
                self.counts[race.__name__] += 1
        return self.faults

    def expect(self, is_so: bool, what: str) -> None:
        if not is_so:
            self.faults.append(f"{what} (seed {self.seed}, {self.tenant})")

    async def meet(
        self,
        calls: Sequence[Callable[[], Awaitable[Any]]],
        *,
        spread_s: float,
        refusals: tuple[type[ServiceError], ...],
    ) -> list[Any]:
        """Make calls at about one moment, in any order; returns what each came to, be it one of these refusals.

        Any other error is a fault.
        """
        results: list[Any] = []

        async def one(call: Callable[[], Awaitable[Any]], after_s: float) -> None:
            await anyio.sleep(after_s)
            try:
                results.append(await call())
            except refusals as refused:
                results.append(refused)
            except ServiceError as error:
                self.expect(False, f"{type(error).__name__}: {error}")

        async with anyio.create_task_group() as group:
            for call in self._rng.sample(calls, len(calls)):
                group.start_soon(one, call, self._rng.random() * spread_s)
        return results
