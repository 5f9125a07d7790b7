"""Forgetting items of all families: each by its own family, and what a query means only once it was shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

import structlog

from elf.api.caller import Caller
from elf.core.clock import Clock
from elf.core.errors import Conflict, InternalError, InvalidRequest, NotFound, ServiceError, Unavailable
from elf.memory.api import forgetting as g
from elf.memory.api.recalling import RecallAnswer, RecalledItem, RecallMemory
from elf.memory.asking import Asker, Asking
from elf.memory.families_on import refuse_unknown
from elf.memory.forgetting.handles import Address, Handles, digest_of
from elf.memory.reading import ItemReading
from elf.offers import Items, Redaction, Source

log = structlog.get_logger()

Recall: TypeAlias = Callable[[RecallMemory, Caller], Awaitable[RecallAnswer]]


class Forgetting:
    """Carries out the operation `forget_memories`. `families` forget, `recall` finds, and `reading` reads."""

    def __init__(
        self,
        families: Mapping[str, Items],
        recall: Recall,
        reading: ItemReading,
        handles: Handles,
        *,
        asker: Asker,
        clock: Clock,
        said: tuple[str, Redaction] | None = None,
    ) -> None:
        """`said` is the family that keeps what was said, by its name, where there is one."""
        self._said = said
        self._families = families
        self._recall = recall
        self._reading = reading
        self._handles = handles
        self._asker = asker
        self._clock = clock

    async def forget(self, request: g.ForgetMemories, caller: Caller) -> g.Forgotten:
        """Show what a query finds, or forget items, each for itself.

        Raises ScopeDenied for another user, InvalidRequest for a family that is not on and for an item that was not
        shown, and NotFound for a handle that is not good, or not that of who asks.
        """
        asking = self._asker.of(request, caller)
        if request.query is not None:
            return await self._shown(request, request.query, asking)
        asked = [Address(one.family, one.kind, one.id) for one in request.items or ()]
        refuse_unknown([one.family for one in asked], self._families, path="$.items[{}].family")
        shown: Mapping[Address, str] = {}
        if request.handle is not None:
            shown = await self._shown_by(request, asking)
            self._refuse_unshown(asked, shown)
        chosen = asked or list(shown)
        sources: list[Source] = []
        items = [
            await self._forget(one, shown.get(one), asking, request.conversation, sources)
            for one in dict.fromkeys(chosen)
        ]
        away = [one.family for one in items if one.outcome == "unavailable"]
        redacted, remaining = await self._in_conversations(sources, asking, cascade=request.cascade)
        return g.Forgotten(
            handle=None, expires_at=None, candidates=[], items=items, degraded=list(dict.fromkeys(away)),
            remaining=remaining, redacted=redacted,
        )  # fmt: skip

    async def _in_conversations(
        self, sources: Sequence[Source], asking: Asking, *, cascade: bool
    ) -> tuple[list[str], list[str]]:
        """Return the addresses of entries that were redacted, and of those that still hold what was forgotten."""
        if self._said is None or not any(one.quotes for one in sources):
            return [], []
        family, redaction = self._said
        whose = asking.subject, asking.caller
        redacted = await redaction.redact(sources, *whose) if cascade else []
        remaining = await redaction.holding(sources, *whose)
        return _addresses(family, redacted), _addresses(family, remaining)

    async def _shown(self, request: g.ForgetMemories, query: str, asking: Asking) -> g.Forgotten:
        whose = request.model_dump(include={"tenant_id", "user_id", "agent_id", "project_id"})
        asked = RecallMemory(**whose, query=query, top_k=request.top_k, min_relevance=request.min_relevance)
        answer = await self._recall(asked, asking.caller)
        candidates = [one for item in answer.items for one in await self._candidates(item, asking)]
        told = g.Forgotten(
            handle=None, expires_at=None, candidates=candidates, items=[],
            degraded=[name for name in answer.degraded if name in self._families],
        )  # fmt: skip
        if not candidates:
            return told
        texts = {Address(one.family, one.kind, one.id): one.text for one in candidates}
        handle, expires_at = await self._handles.keep(asking, texts, self._clock.now())
        return told.model_copy(update={"handle": handle, "expires_at": expires_at})

    async def _candidates(self, item: RecalledItem, asking: Asking) -> Sequence[g.ForgetCandidate]:
        """Return what was found with all that says the same: who forgets something means each of them."""
        candidates = [
            g.ForgetCandidate(
                family=item.family,
                kind=item.kind,
                id=item.id,
                text=item.text,
                at=item.at,
                relevance=item.relevance,
            )
        ]
        for one in item.also:
            try:
                other = await self._reading.item(one.family, one.kind, one.id, asking)
            except (NotFound, Unavailable) as error:  # it went meanwhile, or cannot be shown
                log.info("memory.same_item_not_shown", family=one.family, error=type(error).__name__)
                continue
            candidates.append(
                g.ForgetCandidate(
                    family=one.family, kind=one.kind, id=one.id, text=other.text, at=other.at, relevance=None
                )
            )
        return candidates

    async def _shown_by(self, request: g.ForgetMemories, asking: Asking) -> Mapping[Address, str]:
        assert request.handle is not None, "it is there"
        shown = await self._handles.read(request.handle, asking, self._clock.now())
        if shown is None:
            raise NotFound(
                "$.handle: nothing was shown by it to who asks, or too long ago: ask by a query again",
                fields=["$.handle"],
            )
        return shown

    async def _forget(
        self,
        address: Address,
        digest: str | None,
        asking: Asking,
        conversation: str | None,
        sources: list[Source],
    ) -> g.ForgottenItem:
        """Forget an item, or that it was said in a conversation, and add what it rested on.

        `digest` is that of the text that was shown, where it was.
        """
        outcome: g.Outcome = "forgotten"
        refusal: ServiceError | None = None
        try:
            item = await self._reading.item(*address, asking)
            if digest is not None and digest != digest_of(item.text):
                raise Conflict("it is not as it was shown any more: look at it again")
            await self._families[address.family].forget(
                address.kind, address.id, asking.subject, asking.caller, conversation
            )
            sources.append(Source(item.provenance, item.quotes))
        except NotFound:
            outcome = "not_found"
        except InternalError:
            raise
        except Unavailable as error:
            outcome, refusal = "unavailable", error
        except ServiceError as error:
            outcome, refusal = "refused", error
        return g.ForgottenItem(
            **address._asdict(),
            outcome=outcome,
            error_code=None if refusal is None else refusal.error_code,
            message=None if refusal is None else refusal.message,
        )

    def _refuse_unshown(self, asked: Sequence[Address], shown: Mapping[Address, str]) -> None:
        unshown = [place for place, one in enumerate(asked) if one not in shown]
        if unshown:
            raise InvalidRequest(
                "was not shown by this handle", fields=[f"$.items[{place}]" for place in unshown]
            )


def _addresses(family: str, entries: Sequence[UUID]) -> list[str]:
    return [f"{family}/entry/{id}" for id in entries]
