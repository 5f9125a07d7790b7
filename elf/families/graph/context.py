"""What an orchestrator puts before a model: for selecting a workflow, for a step of one, and for diagnostics.

It always gets an answer: without a memory, or with one that fails, it works on with what there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import msgspec
import structlog

from elf.config.tables.graph import Recall as RecallRules
from elf.core.blank_text import is_blank
from elf.core.errors import Conflict, InvalidRequest, Unavailable
from elf.families.graph import model as m
from elf.families.graph.bulletin_files import Bulletin
from elf.families.graph.bulletins import Bulletins
from elf.families.graph.errors import FileUnusable, GraphDisabled, NoSuchOrchestrator
from elf.families.graph.recall.bundle import Bundle, Citation, Told, bundle_of, citation_of
from elf.families.graph.recall.finding import Found, contradictions_around, edges_around
from elf.families.graph.recall.grants import Grants
from elf.families.graph.recall.legs import Where
from elf.families.graph.recall.place import Folders, Place
from elf.families.graph.recall.recaller import Question, Recaller
from elf.families.graph.rules.texts import beginning
from elf.families.graph.store.statements import Snapshot

Purpose: TypeAlias = Literal["selector", "step", "diagnostics"]
ContextStatus: TypeAlias = Literal["ok", "fallback", "disabled"]

MAX_EVIDENCE: Final = 20
MAX_EVIDENCE_CHARS: Final = 8_000

log = structlog.get_logger()


class Evidence(Told, frozen=True, kw_only=True):
    """A memory as diagnostics are shown it: `text` is its content, or as much of it as there is room for."""

    memory_id: str
    type: m.NodeType
    status: m.Status
    importance: int
    confidence: float
    text: str
    final_score: float
    unresolved_contradiction: bool


class Findings(Told, frozen=True, kw_only=True):
    """What diagnostics are shown: at most 20 memories of at most 8,000 characters, and what stands around them."""

    evidence: Sequence[Evidence]
    edges: Sequence[m.MemoryEdge]
    contradictions: Sequence[m.MemoryEdge]
    citations: Sequence[Citation]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to whoever asks for a context; what does not belong to its purpose is None."""

    status: ContextStatus
    bulletin: Bulletin | None = None
    recall: Bundle | None = None
    findings: Findings | None = None
    degraded: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What a context is for. `message` is what the bulletin is about, `prompt` what is looked for beside it.

    `user` is the user for whom it is: what is other users' is not in it.
    """

    purpose: Purpose
    message_id: str
    message: str
    prompt: str
    max_chars: int
    user: str | None = None

    def unusable(self) -> list[str]:
        """Return the names of the texts, of those that its purpose needs, that cannot be looked for."""
        needed = {"selector": ("message",), "step": ("message", "prompt"), "diagnostics": ("prompt",)}
        return [name for name in needed[self.purpose] if not _is_usable(getattr(self, name))]


class Contexts:
    """Puts contexts together."""

    def __init__(self, recaller: Recaller, bulletins: Bulletins, rules: RecallRules) -> None:
        self._recaller = recaller
        self._bulletins = bulletins
        self._rules = rules

    async def of(self, place: Place, occasion: Occasion) -> Context:
        """Return the context of an occasion. Where there is no memory, it is `disabled`."""
        if unusable := occasion.unusable():
            return await self._of_unusable(place, occasion, unusable)
        try:
            if occasion.purpose == "diagnostics":
                return await self._diagnostics(place, occasion)
            return await self._with_bulletin(place, occasion)
        except (FileUnusable, GraphDisabled) as error:
            return await self.without(place, occasion, error)

    async def without(
        self, folders: Folders | None, occasion: Occasion, error: Unavailable | NoSuchOrchestrator | Conflict
    ) -> Context:
        """Return what there is of a context where the memory cannot be used, or not now: a bulletin, if any."""
        log.warning("graph.context_without_memory", error=error.error_code)
        is_for_long = isinstance(error, FileUnusable | GraphDisabled | NoSuchOrchestrator | Conflict)
        status: ContextStatus = "disabled" if is_for_long else "fallback"
        if occasion.purpose == "diagnostics":
            return Context(status=status)
        bulletin = await self._bulletins.instead(
            folders, occasion.message_id, max_chars=occasion.max_chars, error=error, user=occasion.user
        )
        return Context(status=status, bulletin=bulletin)

    async def _of_unusable(self, place: Place, occasion: Occasion, unusable: Sequence[str]) -> Context:
        """Return the context of an occasion whose texts cannot be looked for, with what can be made of it."""
        log.warning("graph.context_of_unusable_text", fields=list(unusable))
        if occasion.purpose == "diagnostics":
            return Context(status="fallback", degraded=unusable)
        at = (occasion.message_id, occasion.message)
        folders = place if place.is_there else None
        bulletin = (
            await self._bulletins.instead(
                folders,
                occasion.message_id,
                max_chars=occasion.max_chars,
                error=InvalidRequest("$.message: is blank, too long, or no text"),
                user=occasion.user,
            )
            if "message" in unusable
            else await self._bulletins.of(place, *at, max_chars=occasion.max_chars, user=occasion.user)
        )
        is_step = occasion.purpose == "step" and "prompt" not in unusable
        recall = await self._recalled(place, occasion.prompt) if is_step else None
        degraded = () if recall is None else recall.degraded
        return Context(status="fallback", bulletin=bulletin, recall=recall, degraded=[*unusable, *degraded])

    async def _with_bulletin(self, place: Place, occasion: Occasion) -> Context:
        bulletin = await self._bulletins.of(
            place, occasion.message_id, occasion.message, max_chars=occasion.max_chars, user=occasion.user
        )
        recall = await self._recalled(place, occasion.prompt) if occasion.purpose == "step" else None
        complete = bulletin.status == "fresh" and (recall is not None or occasion.purpose != "step")
        return Context(
            status="ok" if complete else "fallback",
            bulletin=bulletin,
            recall=recall,
            degraded=() if recall is None else recall.degraded,
        )

    async def _recalled(self, place: Place, prompt: str) -> Bundle | None:
        """Recall what there is about a step; None where that fails: the step is taken with the bulletin alone."""
        question = self._question(prompt, Where(), self._rules.top_n)
        try:
            return bundle_of(await self._recaller.recall(place, question, edges_around), explain=False)
        except (FileUnusable, GraphDisabled):
            raise
        except Exception as error:
            log.warning("graph.context_without_recall", error=type(error).__name__, exc_info=error)
            return None

    async def _diagnostics(self, place: Place, occasion: Occasion) -> Context:
        where = Where(statuses=("active", "superseded"))
        question = self._question(occasion.prompt, where, min(self._rules.top_n, MAX_EVIDENCE))
        try:
            recalled = await self._recaller.recall(place, question, _around)
        except (FileUnusable, GraphDisabled):
            raise
        except Exception as error:
            log.warning("graph.context_without_findings", error=type(error).__name__, exc_info=error)
            return Context(status="fallback")
        edges, contradictions = recalled.beside
        findings = Findings(
            evidence=_evidence(recalled.found),
            edges=edges,
            contradictions=contradictions,
            citations=[citation_of(found.memory) for found in recalled.found],
        )
        return Context(status="ok", findings=findings, degraded=recalled.degraded)

    def _question(self, query: str, where: Where, top_n: int) -> Question:
        rules = self._rules
        return Question(
            query=query,
            where=where,
            top_n=top_n,
            rrf_k=rules.rrf_k,
            top_k_text=rules.top_k_text,
            top_k_vector=rules.top_k_vector,
        )


def _is_usable(text: str) -> bool:
    return len(text) <= m.MAX_QUERY_CHARS and "\0" not in text and not is_blank(text)


def _around(
    snapshot: Snapshot, found: Sequence[Found], grants: Grants
) -> tuple[Sequence[m.MemoryEdge], Sequence[m.MemoryEdge]]:
    return edges_around(snapshot, found, grants), contradictions_around(snapshot, found, grants)


def _evidence(found: Sequence[Found]) -> list[Evidence]:
    """Return memories with as much of their contents as there is room for: each has an equal share of what is left."""
    shown: list[Evidence] = []
    room = MAX_EVIDENCE_CHARS
    for place, one in enumerate(found):
        text = beginning(one.memory.content, room // (len(found) - place))
        room -= len(text)
        shown.append(
            Evidence(
                memory_id=one.memory.memory_id,
                type=one.memory.type,
                status=one.memory.status,
                importance=one.memory.importance,
                confidence=one.memory.confidence,
                text=text,
                final_score=one.ranked.terms.final,
                unresolved_contradiction=one.contradicted,
            )
        )
    return shown
