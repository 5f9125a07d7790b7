"""What is known of pairs of memories while one piece of work goes on: by rules, and by a model that is asked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from pgvector import Vector

from elf.core.errors import ProviderUnavailable
from elf.families.assistant.judging.asking import told_of
from elf.families.assistant.judging.prompt import MOST_PAIRS, Pair
from elf.families.assistant.model import MemoryType
from elf.families.assistant.rules.joining import text_of_both
from elf.families.assistant.rules.judging import Verdict, judged, supported
from elf.memory_embedding import MemoryEmbedder
from elf.providers.port import Chat

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OneText:
    """The text of two memories that are one, and its vector."""

    text: str
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class _Answer:
    verdict: Verdict
    both: OneText | None


class Judgement:
    """Judges by rules, and what these leave undecided as a model has answered before.

    Transactions wait for no provider, so a model is asked between them; `unforeseen` are the pairs, newer and older
    text, of which one would have had to be asked. Without a model nothing ever is.
    """

    def __init__(self, chat: Chat | None, embedder: MemoryEmbedder, type: MemoryType) -> None:
        self._chat = chat
        self._embedder = embedder
        self._type: MemoryType = type
        self._answers: dict[Pair, _Answer] = {}
        self.unforeseen: list[Pair] = []
        self.is_away = False

    def verdict(self, newer: str, older: str, *, is_near: bool) -> Verdict:
        """Return what is known of two texts. Where there is a model, rules replace a value only by one that is near."""
        by_rule = judged(newer, older)
        if by_rule != "undecided" and (by_rule != "changed" or is_near or self._chat is None):
            return by_rule
        pair = Pair(newer, older)
        answer = self._answers.get(pair)
        if answer is not None:
            return answer.verdict
        if self._chat is not None:
            self.unforeseen.append(pair)
        return "undecided"

    def text_of(self, newer: str, older: str) -> OneText | None:
        """Return the text for a pair that a model judged to be one; None where rules did, or there is none."""
        answer = self._answers.get(Pair(newer, older))
        return None if answer is None else answer.both

    def is_by_model(self, newer: str, older: str) -> bool:
        """Tell whether a model has judged a pair."""
        return Pair(newer, older) in self._answers

    async def ask(self, pairs: Sequence[Pair]) -> None:
        """Ask the model about pairs, by one question; where it is away they stay undecided."""
        if self._chat is None or not pairs:
            return
        asked = pairs[:MOST_PAIRS]
        try:
            told = await told_of(asked, self._chat)
        except ProviderUnavailable as error:
            log.warning("assistant.judge_away", pairs=len(asked), error=type(error).__name__)
            self.is_away = True
            return
        verdicts = [supported(one.verdict, *pair) for pair, one in zip(asked, told, strict=True)]
        texts = [
            text_of_both(*pair, one.text, self._type) if verdict == "same" else None
            for pair, one, verdict in zip(asked, told, verdicts, strict=True)
        ]
        vectors = await self._vectors([text for text in texts if text is not None])
        for pair, verdict, text in zip(asked, verdicts, texts, strict=True):
            both = None if text is None else OneText(text, vectors[text])
            self._answers[pair] = _Answer(verdict, both)

    async def _vectors(self, texts: list[str]) -> dict[str, Vector | None]:
        embedded = await self._embedder.embed_if_there(texts) if texts else None
        return {} if embedded is None else dict(zip(texts, embedded.vectors, strict=True))
