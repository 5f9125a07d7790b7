"""Compares the memories of one user: those that are surely one become one, and the rest waits or stays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final
from uuid import UUID

import anyio
import anyio.to_thread
import numpy as np
import structlog
from pgvector import Vector

from elf.core.errors import ProviderBroken, ProviderRefused, ProviderUnavailable
from elf.core.slices import in_slices
from elf.families.assistant.background.consolidation.ledger import Ledger
from elf.families.assistant.background.consolidation.likeness import Pair, find_pairs
from elf.families.assistant.background.consolidation.question import (
    in_questions,
    question,
    read_answers,
    tokens_of,
)
from elf.families.assistant.background.consolidation.report import WAITING, Report, Skip
from elf.families.assistant.background.consolidation.uniting import Uniting
from elf.families.assistant.judging.prompt import Told
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import COMPARED_TYPES, Memory, Place
from elf.families.assistant.rules.bands import RECENT, Bands
from elf.families.assistant.rules.joining import text_of_both, text_of_same
from elf.families.assistant.rules.judging import judged, supported
from elf.families.assistant.store.rows import memory_of
from elf.providers.port import Chat, Prompt

MOST_MEMORIES: Final = 10_000
"""The newest of a user; their vectors take 15 MB at 384 dimensions."""

log = structlog.get_logger()


class Comparing:
    """Compares memories. What rules know is not asked; without a language model, what they do not know stays."""

    def __init__(self, kit: Kit, ledger: Ledger) -> None:
        assert kit.texts is not None, "who works or administers has a model"
        self._kit = kit
        self._sql = kit.queries
        self._ledger = ledger
        self._tokens = kit.texts.tokens
        self._embedder = kit.embedder
        self._uniting = Uniting(kit)
        self._seconds = kit.config.consolidation.seconds_per_user
        merging = kit.config.merging
        self._bands = Bands(merging.auto_update, merging.check_low, merging.fallback_low)

    async def compare(self, place: Place, *, dry_run: bool = False) -> Report:
        """Compare the memories of a user for as long as the config allows.

        With `dry_run` nothing is asked or changed: the report says what would be, as far as no model has to be heard.
        """
        memories, pairs = await self.pairs(place)
        run = _Run(place, anyio.current_time() + self._seconds, Report(users=1, pairs_seen=len(pairs)))
        decided, doubtful = await self._chosen(run, pairs)
        if dry_run:
            await self._foretell(run, decided, doubtful)
            return run.report
        await self._unite_decided(run, decided)
        await self._ask_doubtful(run, doubtful)
        await self._note_compared(place, memories, run)
        return run.report

    async def pairs(self, place: Place) -> tuple[Sequence[Memory], list[Pair]]:
        """Return the memories of a user that are compared, and the pairs that may be one, the likest first."""
        now = self._kit.now()
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["comparable_memories"], *place, COMPARED_TYPES, now - RECENT, self._embedder.version,
                MOST_MEMORIES,
            )  # fmt: skip
        if not rows:
            return [], []
        memories = [memory_of(row) for row in rows]
        vectors = np.stack([row["embedding"].to_numpy() for row in rows])
        pairs = await anyio.to_thread.run_sync(partial(find_pairs, memories, vectors, self._bands, now))
        return memories, pairs

    async def _chosen(self, run: _Run, pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
        """Return the pairs of this day: those that rules decide about, and the others."""
        lately = await self._ledger.compared_lately(run.place)
        fresh = [pair for pair in pairs if pair.fingerprint not in lately]
        run.report.skip("COMPARED_LATELY", len(pairs) - len(fresh))
        left = max(0, await self._ledger.pairs_left(run.place))
        run.wait("PAIRS_CAP", fresh[left:])
        decided: list[Pair] = []
        doubtful: list[Pair] = []
        for pair in fresh[:left]:
            (doubtful if self._is_doubtful(pair) else decided).append(pair)
        return decided, doubtful

    def _is_doubtful(self, pair: Pair) -> bool:
        """Tell whether rules alone do not decide: beside a model, they replace a value only by one that is near."""
        verdict = judged(pair.newer.text, pair.older.text)
        is_near = pair.score >= self._bands.auto_update
        return verdict == "undecided" or (verdict == "changed" and self._kit.chat is not None and not is_near)

    async def _foretell(self, run: _Run, decided: Sequence[Pair], doubtful: Sequence[Pair]) -> None:
        for pair in decided:
            run.count(judged(pair.newer.text, pair.older.text) == "opposite")
        if self._kit.chat is None:
            run.report.skip("UNDECIDED", len(doubtful))
            return
        left = await self._ledger.tokens_left(run.place)
        for pairs in in_questions(doubtful):
            tokens = await in_slices(tokens_of(question(pairs), self._tokens))
            if run.report.tokens + tokens > left:
                run.wait("TOKEN_BUDGET", pairs)
            else:
                run.ask(pairs, tokens)

    async def _unite_decided(self, run: _Run, pairs: Sequence[Pair]) -> None:
        """Carry out what rules decide: they need no question, but each pair counts."""
        for place, pair in enumerate(pairs):
            if run.is_over:
                run.wait("TIME", pairs[place:])
                return
            if not run.is_there(pair):
                continue
            taken = await self._ledger.take(run.place, [pair])
            if isinstance(taken, str):
                run.wait(taken, [pair])
            elif taken:
                verdict = judged(pair.newer.text, pair.older.text)
                await self._carry_out(run, pair, Told(verdict, pair.newer.text), by_rule=True)

    async def _ask_doubtful(self, run: _Run, pairs: Sequence[Pair]) -> None:
        there = [pair for pair in pairs if run.is_there(pair)]
        if self._kit.chat is None:
            taken = await self._ledger.take(run.place, there) if there else []
            if isinstance(taken, str):
                run.wait(taken, there)
            else:
                run.report.skip("UNDECIDED", len(taken))
            return
        questions = in_questions(there)
        for place, asked in enumerate(questions):
            stopped = "TIME" if run.is_over else await self._ask(run, self._kit.chat, asked)
            if stopped is not None:
                for rest in questions[place:]:
                    run.wait(stopped, rest)
                return

    async def _ask(self, run: _Run, chat: Chat, pairs: Sequence[Pair]) -> Skip | None:
        """Ask about pairs and carry out what is answered; returns why these and the following ones wait, if they do."""
        prompt = question(pairs)
        tokens = await in_slices(tokens_of(prompt, self._tokens))
        taken = await self._ledger.take(run.place, pairs, tokens=tokens)
        if isinstance(taken, str):
            return taken
        if len(taken) < len(pairs):  # somebody else asks about the others
            pairs, prompt = taken, question(taken)
        if not pairs:
            return None
        try:
            answer = await self._answer(run, chat, prompt)
        except ProviderUnavailable as error:
            log.warning("assistant.pairs_not_compared", pairs=len(pairs), error=type(error).__name__)
            if not isinstance(error, ProviderRefused | ProviderBroken):
                await self._ledger.give_back(run.place, pairs)
                return "MODEL_AWAY"
            answer = ""
        run.ask(pairs, tokens)
        for pair, told in zip(pairs, read_answers(answer, pairs), strict=True):
            await self._carry_out(run, pair, told and _beside_rules(pair, told))
        return None

    async def _answer(self, run: _Run, chat: Chat, prompt: Prompt) -> str:
        """Return what a model answers, nothing where the user's time is over before."""
        with anyio.move_on_after(run.deadline - anyio.current_time()):
            return await chat.text(prompt)
        return ""

    async def _carry_out(self, run: _Run, pair: Pair, told: Told | None, *, by_rule: bool = False) -> None:
        if told is None:
            run.report.skip("UNREADABLE")
        elif told.verdict == "undecided":
            run.report.skip("UNDECIDED")
        elif told.verdict == "different":
            run.report.skip("DIFFERENT")
        elif not run.is_there(pair):
            run.report.skip("CHANGED")
        elif told.verdict == "opposite":
            if await self._uniting.contradict(pair):
                run.count(is_opposite=True)
            else:
                run.report.skip("CHANGED")
        else:
            await self._unite(run, pair, told, by_rule=by_rule)

    async def _unite(self, run: _Run, pair: Pair, told: Told, *, by_rule: bool) -> None:
        text: str | None = pair.newer.text
        if told.verdict == "same" and by_rule:
            text = text_of_same(pair.newer.text, pair.older.text)
        elif told.verdict == "same":
            text = text_of_both(pair.newer.text, pair.older.text, told.text, pair.newer.type)
        if text is None:
            run.report.skip("NO_TEXT")
        elif await self._uniting.unite(pair, told.verdict, text, await self._vector(text)):
            run.count(is_opposite=False)
            run.gone |= {pair.older.memory_id, pair.newer.memory_id}
        else:
            run.report.skip("CHANGED")

    async def _vector(self, text: str) -> Vector | None:
        (vector,) = (await self._embedder.embed_if_there([text])).vectors
        return vector

    async def _note_compared(self, place: Place, memories: Sequence[Memory], run: _Run) -> None:
        """Note of memories that nobody had compared that they are compared now, but for those that wait."""
        done = [one.memory_id for one in memories if one.unchecked and one.memory_id not in run.waiting]
        if done:
            async with self._kit.database.connection() as connection:
                await connection.execute(self._sql["note_compared"], *place, done)


def _beside_rules(pair: Pair, told: Told) -> Told:
    return told._replace(verdict=supported(told.verdict, pair.newer.text, pair.older.text))


class _Run:
    """How far comparing the memories of a user has come: until when it may go on, what waits, and what is gone."""

    def __init__(self, place: Place, deadline: float, report: Report) -> None:
        self.place = place
        self.deadline = deadline
        self.report = report
        self.waiting: set[UUID] = set()
        self.gone: set[UUID] = set()

    @property
    def is_over(self) -> bool:
        return anyio.current_time() >= self.deadline

    def is_there(self, pair: Pair) -> bool:
        """Whether neither memory became one with another one meanwhile."""
        return self.gone.isdisjoint((pair.older.memory_id, pair.newer.memory_id))

    def ask(self, pairs: Sequence[Pair], tokens: int) -> None:
        self.report.questions += 1
        self.report.pairs_asked += len(pairs)
        self.report.tokens += tokens

    def count(self, is_opposite: bool) -> None:
        self.report.contradictions += is_opposite
        self.report.merged += not is_opposite

    def wait(self, reason: Skip, pairs: Sequence[Pair]) -> None:
        """Leave pairs for another day."""
        assert reason in WAITING
        self.report.skip(reason, len(pairs))
        self.waiting |= {one.memory_id for pair in pairs for one in (pair.older, pair.newer)}
