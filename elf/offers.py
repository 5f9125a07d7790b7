"""What a family offers to whoever stands above all families: candidates for an answer, items, all of a subject, and to
keep what was said.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias
from uuid import UUID

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from elf.api.caller import Caller
from elf.search.token_store import TokenPlace

if TYPE_CHECKING:
    from elf.db.database import Connection
    from elf.indexing.indexed import IndexedCorpus

ELSEWHERE: Final = "elsewhere"
NOBODYS: Final = frozenset({"memory_tokens", "expansions"})
"""Kinds of which nothing tells whose they are: all go, and others make them again at any time."""

Vector: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whom something is of: a tenant, or of a tenant a user, an agent, or what both have in common.

    `project_id` is where notes of it are, when that is not the project of the user's name. `conversations` name those
    that are the user's, for families that know what is from a conversation, and not whose that is.
    """

    tenant_id: str
    user: str | None = None
    agent_id: str | None = None
    project_id: str | None = None
    conversations: frozenset[str] = frozenset()


def user_named(subject: Subject, caller: Caller) -> str | None:
    """Return the user for whom something is asked or written, from whom the data of other users is kept; else None."""
    if subject.user is None or subject.user == caller.user:
        return caller.named_user
    return subject.user


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of all families: a text and its vector, about a subject.

    The vector is None where no model answered, and may still be in the making: a family that has other things to look
    up does so first, and then waits for `embedded`; it holds no connection meanwhile.

    Where `only_agent`, what is of another agent than the subject's is not wanted.

    At most `limit` candidates are wanted: of these kinds, where some are named, and from `since` on and before `until`,
    as told by an item's `at`. Whoever asks gives up when time is over, by cancelling.
    """

    text: str
    vector: Vector | Callable[[], Awaitable[Vector | None]] | None
    subject: Subject
    limit: int
    kinds: frozenset[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    only_agent: bool = False

    async def embedded(self) -> Vector | None:
        """Return the vector as soon as it is there."""
        return await self.vector() if callable(self.vector) else self.vector


class Item(Struct, frozen=True, kw_only=True):
    """Something that a family keeps: `kind` and `id` are its address in the family, `text` is what a reader is shown.

    `terms` are what its score is the sum of; `provenance` names what it rests on, as "kind:id": messages, entries,
    episodes, files. `at` is when it was said, or last changed where nobody knows that. `states` says what makes it less
    than it seems: "fading", "contradicted", "superseded_by:<id>". `tokens` is where the family keeps token vectors of
    exactly its text, if it does. `whole_chars` is how long all of it is, where its text is a passage.
    `conversation` names one which a user has to be able to read to be told of the item. `quotes` are the words that
    prove it, as they were said, where the family has them and the item is read by itself. `agent_id` is the agent that
    it is of, None for none; `thread` is the user's name for the conversation that it was said in, and `metadata` is
    what came with it, for whoever stored it.
    """

    kind: str
    id: str
    text: str
    terms: Mapping[str, float] = msgspec.field(default_factory=dict)
    provenance: Sequence[str] = ()
    at: datetime | None = None
    states: Sequence[str] = ()
    tokens: TokenPlace | None = None
    whole_chars: int | None = None
    conversation: str | None = None
    quotes: Sequence[str] = ()
    agent_id: str | None = None
    thread: str | None = None
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def score(self) -> float:
        return sum(self.terms.values())


class Recall(Protocol):
    """Finds candidates for an answer, best first, of what the caller may see.

    It raises Unavailable when what it needs is away, and NonEnglishInput for a question in a language it does not take.
    """

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]: ...


class Items(Protocol):
    """Reads and forgets items by their address. What the caller may not see is not there: NotFound.

    What is forgotten in a `conversation`, by its name, stays where it was said in another one, too.
    """

    async def read(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> Item: ...

    async def forget(
        self, kind: str, item_id: str, subject: Subject, caller: Caller, conversation: str | None = None
    ) -> None: ...


class Subjects(Protocol):
    """Takes all that there is of a subject out of a family: for good, or to take along."""

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        """Remove all of it, in whatever form; returns how many pieces of each kind went.

        ELSEWHERE is how many places on other hosts may have something, and were not reached from here.
        """
        ...

    def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        """Return all of it as JSON objects, whose order is that in which they are taken in."""
        ...

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        """Keep what `export` of another service gave; returns how much of it is new."""
        ...


class OwnConversations(Protocol):
    """Names the conversations that are a user's own, also those that are deleted and not yet gone."""

    def __call__(self, tenant_id: str, user: str) -> AsyncGenerator[str, None]: ...


class Remains(Protocol):
    """Looks for words in what a family keeps beside the database and the index, such as files."""

    async def __call__(self, subject: Subject, words: Sequence[str]) -> Mapping[str, int]:
        """Return how often one of the words stands in what the tenant has, by the kind of place, where it does."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Something that was said. `id` is its name where it comes from, `entry_id` that of the entry which it became."""

    role: Literal["user", "assistant", "tool"]
    text: str
    at: datetime | None = None
    id: str | None = None
    entry_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was said at once: `id` is of this alone, `conversation` names where, and `conversation_id` is the id that
    this name stands for.
    """

    id: UUID
    subject: Subject
    conversation: str
    conversation_id: UUID
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of something that was said: `op` in the family's words, of the item of a `kind` and `id`, if any.

    `indexed_chars` is how many characters of the item it is found by, where these are not all.
    """

    kind: str
    op: str
    id: str | None = None
    reason: str | None = None
    indexed_chars: int | None = None


class Done(Protocol):
    """Is told what was written, once, with the transaction that writes it.

    What it raises undoes that: somebody else does the same, or it was only to be shown.
    """

    async def __call__(self, connection: Connection, written: Sequence[Written]) -> None: ...


class Remember(Protocol):
    """Keeps what it makes of what was said.

    It raises Unavailable when what it needs is away, and any other ServiceError for what it does not take.
    """

    async def __call__(self, said: Said, caller: Caller, done: Done) -> None: ...


class Source(NamedTuple):
    """What an item rests on: the names of its provenance, and its quotes."""

    names: Sequence[str]
    quotes: Sequence[str]


class Redaction(Protocol):
    """Takes words out of what was said, which items rested on that are forgotten."""

    async def holding(self, sources: Sequence[Source], subject: Subject, caller: Caller) -> Sequence[UUID]:
        """Return the entries that hold the quotes, of those that the caller may read."""
        ...

    def redact(
        self, sources: Sequence[Source], subject: Subject, caller: Caller
    ) -> Awaitable[Sequence[UUID]]:
        """Take the quotes out of the entries that are the caller's; returns these."""
        ...


class Transcripts(Protocol):
    """Keeps conversations as they were held, and knows who may read them."""

    async def keep(self, connection: Connection, said: Said, caller: Caller) -> Sequence[UUID]:
        """Keep what was said with a transaction of whoever asks, and return an entry for each message.

        Raises Retryable when the transaction has to be run again, and a ServiceError for what it does not take.
        """
        ...

    async def named(self, tenant_id: str, user: str | None, name: str) -> UUID:
        """Return the id that a user's name for a conversation stands for now: one that is not deleted, unless the name
        is that id. Raises Unavailable.
        """
        ...

    async def readable(
        self, conversations: Collection[str], subject: Subject, caller: Caller
    ) -> Collection[str]:
        """Return those of some conversations that the user of a subject may read. Raises Unavailable."""
        ...

    async def owners(self, tenant_id: str, conversations: Collection[str]) -> Mapping[str, str]:
        """Return whose some conversations are, of those that it knows, also of deleted ones that are not yet gone.

        Raises Unavailable.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """What a family offers in a process; each is None where it is not offered there. `corpora` are in the index."""

    recall: Recall | None = None
    items: Items | None = None
    subjects: Subjects | None = None
    remember: Remember | None = None
    transcripts: Transcripts | None = None
    redaction: Redaction | None = None
    own_conversations: OwnConversations | None = None
    remains: Remains | None = None
    corpora: Sequence[IndexedCorpus] = ()
