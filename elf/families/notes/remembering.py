"""Keeps notes of what was said, as add_event does: each with the words that prove it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from elf.api.caller import Caller
from elf.core.cjk import CJK_MESSAGE, contains_cjk
from elf.core.errors import InvalidRequest, NonEnglishInput
from elf.core.nobody import AGENT_OF_NOBODY
from elf.core.scopes import AGENT_PRIVATE, ScopeRules
from elf.db.database import Connection
from elf.families.notes.api.requests import AddEventRequest, EventMessage, WriteResult
from elf.families.notes.reading.readers import NoteReaders
from elf.families.notes.writing.events import EachMessage, EventService, Origin
from elf.offers import Done, Message, Said, Written

NOTE: Final = "note"


class NoteRemembering:
    """Keeps notes in the project of the user, shared by the user's agents; in another project they are the agent's own.

    `shared` is the scope of what is shared, None where there is none that may be written.
    """

    def __init__(
        self, events: EventService, readers: NoteReaders, scopes: ScopeRules, each: EachMessage
    ) -> None:
        self._events = events
        self._each = each
        self._readers = readers
        self._shared = next(
            (one for one in scopes.allowed if one != AGENT_PRIVATE and scopes.is_writable(one)), None
        )

    async def __call__(self, said: Said, caller: Caller, done: Done) -> None:
        """Keep notes. Raises NonEnglishInput for CJK, and InvalidRequest where nobody would have them."""
        if any(contains_cjk(one.text) for one in said.messages):
            raise NonEnglishInput(CJK_MESSAGE, fields=["$.messages"])
        request = self._request(said, caller)
        origin = Origin(
            reference={"thread": said.conversation, "event_id": str(said.id)},
            entries=[one.entry_id for one in said.messages],
        )

        async def told(connection: Connection, results: Sequence[WriteResult]) -> None:
            await done(connection, [_written(one) for one in results])

        await self._events.add_event(request, origin=origin, told=told, each=self._each)

    def _request(self, said: Said, caller: Caller) -> AddEventRequest:
        subject = said.subject
        reader = self._readers.of(subject, caller)
        if reader is None:
            raise InvalidRequest(
                "$.project_id: notes are of a project: name one, or a user", fields=["$.project_id"]
            )
        context = reader.context
        is_users = subject.user is not None and context.project_id == subject.user
        scope = self._shared if is_users and self._shared is not None else AGENT_PRIVATE
        if scope == AGENT_PRIVATE and not context.agent_id:
            raise InvalidRequest(
                "$.agent_id: notes in this project are an agent's own: name it", fields=["$.agent_id"]
            )
        return AddEventRequest(
            tenant_id=context.tenant_id,
            project_id=context.project_id,
            agent_id=context.agent_id or AGENT_OF_NOBODY,
            scope=scope,
            messages=[_message(one) for one in said.messages],
        )


def _message(message: Message) -> EventMessage:
    return EventMessage(
        role=message.role,
        content=message.text,
        ts=None if message.at is None else message.at.isoformat(),
        msg_id=message.id,
    )


def _written(result: WriteResult) -> Written:
    return Written(
        kind=NOTE,
        op=result.op,
        id=None if result.note_id is None else str(result.note_id),
        reason=result.reason_code,
    )
