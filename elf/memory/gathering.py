"""Asking all families at once for candidates: one that is away, or slow, is done without, and named."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Self

import anyio
import structlog
from msgspec import Struct

from elf.api.caller import Caller
from elf.core.errors import NonEnglishInput, ServiceError
from elf.offers import Item, Question, Recall

ROLE: Final = re.compile(r"(?:user|assistant|tool): (?=\S)")
"""Who says it, which some families write before what was said, and others keep beside it."""

log = structlog.get_logger()


class Offered(Struct, frozen=True):
    """A candidate: its family, and how many that family names before it.

    `said` is its text without who says it: what it is compared by, and by which it is the same as others.
    """

    family: str
    place: int
    item: Item
    said: str

    @classmethod
    def of(cls, family: str, place: int, item: Item) -> Self:
        role = ROLE.match(item.text)
        return cls(family, place, item, item.text if role is None else item.text[role.end() :])

    @property
    def address(self) -> tuple[str, str, str]:
        return self.family, self.item.kind, self.item.id

    @property
    def chars(self) -> int:
        """How long all of it is, of which its text may be a passage."""
        return self.item.whole_chars or len(self.said)


@dataclass(slots=True)
class Gathered:
    """What families offered, each best first, those that could not be asked, and those that do not take the question.

    `milliseconds` are how long each took.
    """

    offers: dict[str, Sequence[Item]] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)

    def add(self, more: Gathered) -> None:
        """Put what some families offered when they were asked again in the place of what they had offered."""
        self.offers |= more.offers
        self.degraded += more.degraded
        for name, took in more.milliseconds.items():
            self.milliseconds[name] += took

    def in_turn(self, most: int) -> tuple[list[Offered], list[Offered]]:
        """Return the candidates, the best of each family first, and then those beyond the first `most` texts.

        A text that several families have counts once, so that those who keep the same leave room for more.
        """
        offered = [
            Offered.of(family, place, item) for family, items in self.offers.items() for place, item in enumerate(items)
        ]  # fmt: skip
        offered.sort(key=lambda one: one.place)
        texts = set(islice(dict.fromkeys(one.said for one in offered), most))
        return (
            [one for one in offered if one.said in texts],
            [one for one in offered if one.said not in texts],
        )


async def gather(
    families: Mapping[str, Recall], question: Question, caller: Caller, *, patience_s: float | None
) -> Gathered:
    """Ask families at once, each for at most `patience_s` seconds; None: for as long as it takes."""
    gathered = Gathered()
    async with anyio.create_task_group() as group:
        for name, recall in families.items():
            group.start_soon(_ask, name, recall, question, caller, patience_s, gathered)
    # In the order of the families, whichever answered first.
    gathered.offers = {name: gathered.offers[name] for name in families if name in gathered.offers}
    return gathered


async def _ask(
    name: str,
    recall: Recall,
    question: Question,
    caller: Caller,
    patience_s: float | None,
    gathered: Gathered,
) -> None:
    began = time.perf_counter()
    try:
        with anyio.fail_after(patience_s):
            gathered.offers[name] = (await recall(question, caller))[: question.limit]
    except NonEnglishInput as error:
        gathered.skipped[name] = error.error_code
    except (ServiceError, TimeoutError) as error:
        log.warning("memory.family_left_out", family=name, error=type(error).__name__)
        gathered.degraded.append(name)
    gathered.milliseconds[name] = round((time.perf_counter() - began) * 1000.0, 3)
