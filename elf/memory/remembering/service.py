"""Remembering what was said: it is stored at once, and each family makes of it what it keeps behind the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

import anyio

from elf.api.caller import Caller
from elf.core.clock import Clock
from elf.core.errors import Conflict, Forbidden, InvalidRequest, NotFound, NotOffered, ServiceError
from elf.db.database import Connection
from elf.db.errors import Retryable, retrying
from elf.memory.api import remembering as r
from elf.memory.asking import Asker, Asking
from elf.memory.own_context import OwnContext
from elf.memory.remembering.messages import taken_of
from elf.memory.remembering.outcome import Outcome, is_refusal
from elf.memory.remembering.said import digest_of, said_of
from elf.memory.remembering.store import Row, SaidStore
from elf.offers import Message, Offers, Said, Transcripts, Written

FIRST_LOOK_S: Final = 0.02
LONGEST_LOOK_S: Final = 0.25
ENTRY: Final = "entry"


class _Shown(Exception):
    def __init__(self, written: Sequence[Written]) -> None:
        super().__init__()
        self.written = written


class Remembering:
    """Carries out the operations that remember. `families` are those that keep what is said, in their order, `names`
    knows which conversation a name means, `own` what ELF itself told, and `ring` wakes who works for them.
    """

    def __init__(
        self,
        store: SaidStore,
        families: Mapping[str, Offers],
        *,
        names: Transcripts | None,
        own: OwnContext,
        asker: Asker,
        clock: Clock,
        ring: Callable[[], None],
    ) -> None:
        self._store = store
        self._families = families
        self._names = names
        self._own = own
        self._asker = asker
        self._clock = clock
        self._ring = ring

    async def remember(self, request: r.RememberMessages, caller: Caller) -> r.Remembered:
        """Store what was said, once, and wait as long as asked for what becomes of it.

        Raises InvalidRequest when it is about nobody, ScopeDenied for another user, Forbidden for a conversation that
        is not the caller's, and Conflict when the same request said something else.
        """
        asking = self._asker.of(request, caller)
        subject = asking.subject
        if subject.user is None and subject.agent_id is None:
            raise InvalidRequest("$.user_id: say whose it is: a user's, or an agent's", fields=["$.user_id"])
        messages, skipped = taken_of(request)
        said = said_of(request, messages, asking)
        if request.dry_run or not messages:
            shown = await self._shown(await self._named(said), asking)
            return shown.model_copy(update={"skipped": [*skipped, *shown.skipped]})
        digest = digest_of(request, messages)
        is_new = await retrying(lambda: self._take_in(said, asking, digest))
        told = await self._awaited(said.id, asking, request.wait_ms / 1000)
        return told.model_copy(update={"repeated": not is_new, "skipped": [*skipped, *told.skipped]})

    async def remembered(self, request: r.OneRemembered, caller: Caller) -> r.Remembered:
        """Tell what became of it. Raises NotFound for what somebody else said, or was said long ago."""
        return await self._told(request.id, self._asker.of(request, caller))

    async def _named(self, said: Said) -> Said:
        """Return what was said with the id that the name of its conversation stands for now."""
        if self._names is None:
            return said
        subject = said.subject
        id = await self._names.named(subject.tenant_id, subject.user, said.conversation)
        return replace(said, conversation_id=id)

    async def _take_in(self, said: Said, asking: Asking, digest: bytes) -> bool:
        """Store it with all that is to be done about it; False when the same was stored before.

        Raises Retryable when its conversation was deleted at this moment: its name stands for another one by now.
        """
        said = await self._named(said)
        news = await self._own.without(said.subject, said.messages)
        async with self._store.database.transaction() as connection:
            is_new = await self._store.keep(connection, said, asking, digest=digest, now=self._clock.now())
            if not is_new:
                rows = await self._store.read(said.id, asking, connection)
                if any(row["digest"] != digest for row in rows):
                    raise Conflict("$.request_id: came with something else before", fields=["$.request_id"])
                return False
            outcomes, messages = await self._at_once(connection, said, asking.caller)
            messages = _those(messages, news)
            if not messages:  # nothing new for those who look for it
                outcomes = {name: outcome or Outcome() for name, outcome in outcomes.items()}
            await self._store.leave(connection, said, outcomes, messages)
            connection.after_commit(self._ring)
            return True

    async def _at_once(
        self, connection: Connection, said: Said, caller: Caller
    ) -> tuple[dict[str, Outcome | None], Sequence[Message]]:
        """Keep it as it was said. Returns what became of it in each family, None where that is left to do."""
        messages = said.messages
        outcomes: dict[str, Outcome | None] = {}
        for name, offers in self._families.items():
            outcomes[name] = None
            if offers.transcripts is None:
                continue
            try:
                entries = await offers.transcripts.keep(connection, said, caller)
            except Forbidden:
                raise
            except ServiceError as error:
                if not is_refusal(error):
                    raise
                if (await self._named(said)).conversation_id != said.conversation_id:
                    raise Retryable("its conversation was deleted at this moment") from error
                outcomes[name] = Outcome(error=error)
                continue
            messages = [replace(one, entry_id=id) for one, id in zip(messages, entries, strict=True)]
            outcomes[name] = Outcome(written=[Written(kind=ENTRY, op="ADD", id=str(id)) for id in entries])
        return outcomes, messages

    async def _awaited(self, said_id: UUID, asking: Asking, patience_s: float) -> r.Remembered:
        """Return what became of it, once all of it is done or `patience_s` are over."""
        until, pause = anyio.current_time() + patience_s, FIRST_LOOK_S
        while True:
            told = await self._told(said_id, asking)
            left = until - anyio.current_time()
            if told.done or left <= 0:
                return told
            await anyio.sleep(min(pause, left))
            pause = min(pause * 2, LONGEST_LOOK_S)

    async def _told(self, said_id: UUID, asking: Asking) -> r.Remembered:
        rows = await self._store.read(said_id, asking)
        if not rows:
            raise NotFound(f"$.id: nothing is known of {said_id}", fields=["$.id"])
        families = [_in_family(row) for row in rows]
        return r.Remembered(
            id=said_id,
            conversation=rows[0]["conversation"],
            repeated=False,
            done=all(one.state in ("done", "refused", "skipped") for one in families),
            said_at=rows[0]["said_at"],
            families=families,
            skipped=_skipped(families),
        )

    async def _shown(self, said: Said, asking: Asking) -> r.Remembered:
        """Do all of it, and undo it. Where nothing was said, no family has anything to do."""
        news = await self._own.without(said.subject, said.messages)
        outcomes = {
            name: await self._dry(offers, said, news, asking.caller)
            for name, offers in self._families.items()
            if said.messages
        }
        families = [outcome.shown(name) for name, outcome in outcomes.items()]
        return r.Remembered(
            id=said.id,
            conversation=said.conversation,
            repeated=False,
            done=True,
            said_at=self._clock.now(),
            families=families,
            skipped=_skipped(families),
        )

    async def _dry(self, offers: Offers, said: Said, news: Mapping[int, str], caller: Caller) -> Outcome:
        if offers.remember is not None:
            said = replace(said, messages=_those(said.messages, news))
            if not said.messages:
                return Outcome()

        async def show(connection: Connection, written: Sequence[Written]) -> None:
            raise _Shown(written)

        try:
            if offers.remember is not None:
                await offers.remember(said, caller, show)
            elif offers.transcripts is not None:
                async with self._store.database.transaction() as connection:
                    entries = await offers.transcripts.keep(connection, said, caller)
                    await show(connection, [Written(kind=ENTRY, op="ADD") for _ in entries])
        except _Shown as shown:
            return Outcome(written=shown.written)
        except ServiceError as error:
            if not is_refusal(error):
                raise
            return Outcome(error=error)
        return Outcome()


def _those(messages: Sequence[Message], news: Mapping[int, str]) -> list[Message]:
    """Return those messages that say something new, by their places, with the text that is new."""
    return [replace(messages[place], text=text) for place, text in news.items()]


def _skipped(families: Sequence[r.InFamily]) -> list[r.Skipped]:
    """Return what is not stored: a conversation that is named by its id and deleted takes nothing in."""
    return [
        r.Skipped(message=None, family=one.family, reason="CONVERSATION_DELETED", fields=[])
        for one in families
        if one.state == "refused" and one.error_code == NotFound.error_code
    ]


def _in_family(row: Row) -> r.InFamily:
    state: r.State = "pending"
    if row["error_code"] == NotOffered.error_code:
        state = "skipped"
    elif row["error_code"] is not None:
        state = "refused"
    elif row["status"] == "DONE":
        state = "done"
    elif row["status"] == "FAILED":
        state = "failed"
    elif row["status"] in ("GIVEN_UP", "DISCARDED"):
        state = "given_up"
    return r.InFamily(
        family=row["family"],
        state=state,
        written=[r.WrittenItem(**one) for one in row["written"]],
        error_code=row["error_code"],
        message=row["message"],
    )
