"""Storing what is worth keeping of a conversation: an extractor proposes notes, each with words that prove it.

No message with a secret leaves for the extractor as it came: it sees the message redacted. A note's evidence must
stand word for word both in what the client sent and in what the extractor saw, so no quote can carry a secret.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, TypeAlias
from uuid import UUID

import anyio.to_thread
import structlog

from elf.core.blank_text import is_blank
from elf.core.cjk import contains_cjk
from elf.core.evidence import EvidenceBounds, Quote, evidence_fault
from elf.core.scopes import AGENT_PRIVATE
from elf.core.secrets import find_secret, redact, redact_json
from elf.db.database import Connection
from elf.families.notes.api.requests import AddEventRequest, AddEventResponse, EventMessage, WriteResult
from elf.families.notes.writing.decisions import Attempt, Refused
from elf.families.notes.writing.extraction import Candidate, Extracted, NoteExtractor, read_candidate
from elf.families.notes.writing.resolver import Incoming, Outcome
from elf.families.notes.writing.service import NotePolicy, NoteService, context_of
from elf.families.notes.writing.write_rules import Rejection
from elf.providers.local.extractor import SECRET, unkept
from elf.providers.local.statements import UnkeptReason

MAX_REASON_CHARS = 512
NO_REASON = "the extractor gave no reason"
MOST_CONTEXT: Final = 8
MOST_CONTEXT_CHARS: Final = 16_384
BEYOND: Final = Rejection("CAP_REACHED", "there are more notes than are kept at once")
UNREAD: Final = Rejection("CAP_REACHED", "there are more messages than are read at once")
UNKEPT: Final[Mapping[UnkeptReason, str]] = {
    SECRET: "it holds a secret or personal data",
    "REJECT_QUESTION": "it is a question",
    "REJECT_NO_ANTECEDENT": "it says nothing without what was said before",
    "REJECT_UNSURE": "it is not sure",
    "REJECT_TOO_SHORT": "it is too short to state something",
    "REJECT_TOO_LONG": "it is too long for a note",
}
"""Why what somebody asked to remember is not kept, for people."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where messages are from, beyond what they say of it: what notes refer to, and the entry that each became."""

    reference: Mapping[str, Any] = field(default_factory=dict)
    entries: Sequence[UUID | None] = ()


Told: TypeAlias = Callable[[Connection, Sequence[WriteResult]], Awaitable[None]]
"""Is told what became of notes, with the transaction that stores them."""

NOWHERE: Final = Origin()


@dataclass(frozen=True, slots=True, kw_only=True)
class EachMessage:
    """Has each message of a user's, with the answers to it, extracted by itself, so that the maximum is of one.

    `most` is how many are, None: all. The extractor sees what was said before each as its context.
    """

    most: int | None


@dataclass(frozen=True, slots=True)
class _Conversation:
    """The messages as the client sent them, and as the extractor sees them, place by place.

    Notes may rest on those of `own`.
    """

    sent: Sequence[EventMessage]
    seen: Sequence[dict[str, Any]]
    origin: Origin
    own: range

    def fault(self, quotes: Sequence[Quote], bounds: EvidenceBounds) -> str | None:
        """Return why the quotes do not prove a note, or None when they do."""
        of_others = {*range(len(self.sent))} - {*self.own}
        if any(quote.message_index in of_others for quote in quotes):
            return "a quote is of a message that the note is not taken from"
        return evidence_fault(quotes, [message.content for message in self.sent], bounds) or evidence_fault(
            quotes, [message["content"] for message in self.seen], bounds
        )

    def cite(self, quote: Quote) -> dict[str, Any]:
        """Return a quote with what is known of its message."""
        message = self.sent[quote.message_index]
        entries = self.origin.entries
        entry = entries[quote.message_index] if entries else None
        known = {
            "role": message.role,
            "msg_id": message.msg_id,
            "ts": message.ts,
            "entry_id": None if entry is None else str(entry),
        }
        return {
            "message_index": quote.message_index,
            "quote": quote.quote,
            **{name: value for name, value in known.items() if value is not None},
        }


class EventService:
    """The use case behind add_event: an extraction, then evidence, gate and resolver for each proposed note.

    `by_rules` tells whether rules extract, and no language model.
    """

    def __init__(
        self,
        *,
        extractor: NoteExtractor,
        by_rules: bool = False,
        notes: NoteService,
        policy: NotePolicy,
        evidence: EvidenceBounds,
    ) -> None:
        self._extractor = extractor
        self._by_rules = by_rules
        self._notes = notes
        self._policy = policy
        self._evidence = evidence

    async def add_event(
        self,
        request: AddEventRequest,
        *,
        origin: Origin = NOWHERE,
        told: Told | None = None,
        each: EachMessage | None = None,
    ) -> AddEventResponse:
        """Extract notes from messages and store those that pass, all in one transaction, with which `told` is told.

        They are one event unless it is `each` message. Notes beyond the maximum are rejected, and told of.

        Raises ProviderUnavailable when the extractor is away or its answer unusable; then nothing is stored.
        """
        # Large texts take the detectors a while; other requests go on meanwhile.
        seen = await anyio.to_thread.run_sync(_redacted, request.messages)
        extracted: list[Any] = []
        attempts: list[Attempt] = []
        for number, own in enumerate(_events(request.messages, each)):
            talk = _Conversation(request.messages, seen, origin, own)
            if each is not None and each.most is not None and number >= each.most:
                attempts.append(self._refused(UNREAD, request))
                continue
            found = await self._extractor.extract(seen[own.start : own.stop], self._context(seen, own))
            extracted += found.notes
            attempts += await anyio.to_thread.run_sync(self._attempts, found, request, talk)

        async def stored(connection: Connection, outcomes: Sequence[Outcome]) -> None:
            if told is not None:
                await told(connection, _results(attempts, outcomes, dry_run=request.dry_run))

        outcomes = await self._notes.store_incoming(
            context_of(request),
            attempts,
            actor="add_event",
            dry_run=request.dry_run,
            stored=None if told is None else stored,
        )
        results = _results(attempts, outcomes, dry_run=request.dry_run)
        _log_results(request, results)
        shown = await anyio.to_thread.run_sync(_presentable, extracted)
        return AddEventResponse(extracted=shown, results=results)

    def _context(self, seen: Sequence[dict[str, Any]], own: range) -> Sequence[dict[str, Any]]:
        """Return the last of what was said before an event. Rules read each sentence by itself."""
        if self._by_rules:
            return ()
        first, chars = own.start, 0
        while first and own.start - first < MOST_CONTEXT:
            chars += len(seen[first - 1]["content"])
            if chars > MOST_CONTEXT_CHARS:
                break
            first -= 1
        return seen[first : own.start]

    def _attempts(self, found: Extracted, request: AddEventRequest, talk: _Conversation) -> list[Attempt]:
        return [
            *[self._attempt(raw, request, talk) for raw in found.notes],
            *[self._refused(BEYOND, request, _type_of(raw)) for raw in found.dropped],
            *[self._refused(rejection, request) for rejection in self._unkept(talk)],
        ]

    def _refused(self, rejection: Rejection, request: AddEventRequest, type: str = "") -> Refused:
        scope = AGENT_PRIVATE if request.scope is None else request.scope
        return self._policy.refused(rejection, type=type, scope=scope, key=None, text="")

    def _unkept(self, talk: _Conversation) -> list[Rejection]:
        """Return why what was to be remembered is not: a language model judges all but secrets itself."""
        own = [talk.seen[place] for place in talk.own]
        found = unkept(own, max_note_chars=self._policy.gate.max_note_chars)
        return [
            Rejection(one.reason, UNKEPT[one.reason])
            for one in found
            if self._by_rules or (one.is_asked and one.reason == SECRET)
        ]

    def _attempt(self, raw: object, request: AddEventRequest, talk: _Conversation) -> Attempt:
        candidate = read_candidate(raw)
        # What the extractor suggests is only told: else the words of a conversation could have it publish.
        scope = AGENT_PRIVATE if request.scope is None else request.scope
        if isinstance(candidate, Rejection):
            return self._policy.refused(candidate, type="", scope=scope, key=None, text="")
        rejection = self._rejection(candidate, scope, talk)
        if rejection is None:
            return self._incoming(candidate, scope, talk)
        return self._policy.refused(
            rejection, type=candidate.type, scope=scope, key=candidate.key, text=candidate.text
        )

    def _rejection(self, candidate: Candidate, scope: str, talk: _Conversation) -> Rejection | None:
        quotes = _quotes(candidate)
        fault = talk.fault(quotes, self._evidence)
        if fault is not None:
            return Rejection("REJECT_EVIDENCE_MISMATCH", fault)
        rejection = self._policy.gate.check(
            type=candidate.type, scope=scope, key=candidate.key, text=candidate.text
        )
        return rejection or _secret_in(quotes)

    def _incoming(self, candidate: Candidate, scope: str, talk: _Conversation) -> Incoming:
        source_ref = {
            **talk.origin.reference,
            "evidence": [talk.cite(quote) for quote in _quotes(candidate)],
            "reason": _reason(candidate),
        }
        return Incoming(
            scope=scope,
            type=candidate.type,
            key=candidate.key,
            text=candidate.text,
            importance=candidate.importance,
            confidence=candidate.confidence,
            ttl_days=candidate.ttl_days,
            source_ref=redact_json(source_ref) if self._policy.redact else source_ref,
            is_said=True,
        )


def _events(messages: Sequence[EventMessage], each: EachMessage | None) -> list[range]:
    """Return the places of the messages of each event: one of a user's, with what comes before the first of them, and
    with what is answered to each.
    """
    users = [place for place, one in enumerate(messages) if one.role == "user"]
    if each is None or not users:
        return [range(len(messages))]
    return [range(first, end) for first, end in pairwise([0, *users[1:], len(messages)])]


def _type_of(raw: object) -> str:
    type = raw.get("type") if isinstance(raw, dict) else None
    return type if isinstance(type, str) else ""


def _redacted(messages: Iterable[EventMessage]) -> list[dict[str, Any]]:
    """Return the messages as the extractor sees them: numbered, without what is not given, and without secrets."""
    return [
        {
            "message_index": index,
            **{name: redact(text) for name, text in message.model_dump(exclude_none=True).items()},
        }
        for index, message in enumerate(messages)
    ]


def _quotes(candidate: Candidate) -> list[Quote]:
    return [Quote(cited.message_index, cited.quote) for cited in candidate.evidence]


def _secret_in(quotes: Iterable[Quote]) -> Rejection | None:
    # Cut out of its sentence, a text that was innocent there may read as a secret.
    kinds = [finding.kind for quote in quotes if (finding := find_secret(quote.quote)) is not None]
    if not kinds:
        return None
    return Rejection("REJECT_SECRET", f"the evidence holds a secret or personal data of kind {kinds[0]}")


def _reason(candidate: Candidate) -> str:
    """Return the extractor's reason as it may be shown: without secrets or CJK, and not too long."""
    reason = candidate.reason.strip()
    return NO_REASON if is_blank(reason) or contains_cjk(reason) else redact(reason)[:MAX_REASON_CHARS]


def _results(attempts: Sequence[Attempt], outcomes: Sequence[Outcome], *, dry_run: bool) -> list[WriteResult]:
    imaginary = {outcome.note_id for outcome in outcomes if dry_run and outcome.op == "ADD"}
    remaining = iter(outcomes)
    results = []
    for attempt in attempts:
        if isinstance(attempt, Refused):
            results.append(
                WriteResult(
                    note_id=None, op="REJECTED", reason_code=attempt.reason_code, reason=attempt.reason
                )
            )
            continue
        outcome = next(remaining)
        results.append(
            WriteResult(
                note_id=None if outcome.note_id in imaginary else outcome.note_id,
                op=outcome.op,
                reason_code=outcome.reason_code,
                reason=attempt.source_ref["reason"],
                similar_to=None if outcome.similar_to in imaginary else outcome.similar_to,
            )
        )
    return results


def _log_results(request: AddEventRequest, results: Sequence[WriteResult]) -> None:
    counts = Counter(result.reason_code or result.op for result in results)
    log.info("event_added", messages=len(request.messages), dry_run=request.dry_run, results=dict(counts))


def _presentable(extracted: Sequence[Any]) -> list[Any]:
    """Return the extractor's output as it may be shown: English only, and without secrets."""
    return [_english_only(redact_json(raw)) for raw in extracted]


def _english_only(value: Any) -> Any:
    if isinstance(value, str):
        return "[CJK]" if contains_cjk(value) else value
    if isinstance(value, list):
        return [_english_only(item) for item in value]
    if isinstance(value, dict):
        return {_english_only(name): _english_only(item) for name, item in value.items()}
    return value
