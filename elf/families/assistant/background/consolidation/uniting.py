"""Makes one memory of two, as turns do: announced, in the history, and with the ids of both."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pgvector import Vector

from elf.db.errors import retrying
from elf.families.assistant.background.consolidation.likeness import Pair
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import WORKER, Memory
from elf.families.assistant.rules.judging import Verdict
from elf.families.assistant.rules.uniting import brought_up_to_date, united
from elf.families.assistant.store.changes import Changes

MERGED_FROM: Final = "merged_from"
"""In the meta of the history: the ids of the memories that one was made of."""


class Uniting:
    """Carries out what was decided about pairs."""

    def __init__(self, kit: Kit) -> None:
        self._writer = kit.writer
        self._recreates = kit.config.merging.mode == "recreate"

    async def unite(self, pair: Pair, verdict: Verdict, text: str, vector: Vector | None) -> bool:
        """Make one memory of two that says this text; False when one of them is not as it was any more."""

        async def once() -> bool:
            async with self._writer.changing(
                pair.older.place, {pair.older.category}, actor=WORKER
            ) as changes:
                both = await _as_they_were(changes, pair)
                if both is None:
                    return False
                older, newer = both
                told = replace(newer, text=text, updated_at=changes.now)
                if verdict == "changed" or not self._recreates:
                    ids = [str(older.memory_id), str(newer.memory_id)]
                    made = await changes.update(
                        older, brought_up_to_date(older, told), vector, node="worker", sim=pair.score,
                        meta={MERGED_FROM: ids},
                    )  # fmt: skip
                else:
                    made = await changes.recreate(
                        older, united(older, told), vector, node="worker", sim=pair.score
                    )
                await changes.fold(newer, made)
                return True

        return await retrying(once)

    async def contradict(self, pair: Pair) -> bool:
        """Keep that two memories cannot both be so; False when one of them is not as it was any more."""

        async def once() -> bool:
            async with self._writer.changing(
                pair.older.place, {pair.older.category}, actor=WORKER
            ) as changes:
                if await _as_they_were(changes, pair) is None:
                    return False
                await changes.contradict(pair.newer, pair.older, pair.score)
                return True

        return await retrying(once)


async def _as_they_were(changes: Changes, pair: Pair) -> tuple[Memory, Memory] | None:
    """Return both memories of a pair; None when one is gone or says something else by now."""
    older, newer = await changes.read(pair.older.memory_id), await changes.read(pair.newer.memory_id)
    if older is None or newer is None:
        return None
    for now, was in ((older, pair.older), (newer, pair.newer)):
        if now.state != "active" or (now.text, now.category) != (was.text, was.category):
            return None
    return older, newer
