"""What is taken out of memory over all families, and taken along: that part of the client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Struct

from elf.client.call import Call, Stream, filled, get, operators, post, reader
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

ADMIN = "/v1/admin"
ERASE = f"{ADMIN}/erase"

User = Annotated[str | None, "whom it is about (default: who calls)"]
Agent = Annotated[str | None, "the agent at work"]
OfUser = Annotated[str | None, "the user"]
OfAgent = Annotated[str | None, "the agent"]


class ForgetCandidate(Struct, frozen=True, kw_only=True):
    """Something that may be forgotten; `relevance` is None where it is not known."""

    family: str
    kind: str
    id: str
    text: str
    at: datetime | None
    relevance: float | None


class ForgottenItem(Struct, frozen=True, kw_only=True):
    """What became of an item: `outcome` is forgotten, not_found, refused or unavailable."""

    family: str
    kind: str
    id: str
    outcome: str
    error_code: str | None
    message: str | None


class Forgotten(Struct, frozen=True, kw_only=True):
    """What is shown for a query, with the `handle` by which it is forgotten, or what became of each of the `items`."""

    handle: UUID | None
    expires_at: datetime | None
    candidates: list[ForgetCandidate]
    items: list[ForgottenItem]
    degraded: list[str]
    remaining: list[str] = msgspec.field(default_factory=list)
    redacted: list[str] = msgspec.field(default_factory=list)


class Receipt(Struct, frozen=True, kw_only=True):
    """What was erased, by family and kind, without a name: `subject` is a keyed hash. Times are of ISO 8601."""

    receipt_id: str
    kind: str
    subject: str
    began_at: str
    finished_at: str
    erased: dict[str, dict[str, int]]
    index: dict[str, int]
    out_of_reach: list[str]
    signature: str


class Found(Struct, frozen=True, kw_only=True):
    """Where a name or a text still stands."""

    place: str
    count: int


class Proof(Struct, frozen=True, kw_only=True):
    """Whether a receipt is true, and what was looked through."""

    proven: bool
    signed_here: bool
    is_of_subject: bool
    found: list[Found]
    columns: int
    points: dict[str, int]


class ExportedLine(Struct, frozen=True, kw_only=True):
    """A line of an export: something of a family, as that family tells it."""

    family: str
    item: dict[str, Any]


class Imported(Struct, frozen=True, kw_only=True):
    """How many lines were new, and how many known."""

    new: int
    known: int


class KeptMemories(FamilyClient[C_co]):
    """Forgets, and for operators erases, proves, exports and imports. docs/forgetting.md shows it."""

    @method
    def forget(
        self,
        items: Annotated[Sequence[str] | None, "an address, as family/kind/id; may be repeated"] = None,
        *,
        query: Annotated[str | None, "what to look for: shows candidates and a handle"] = None,
        handle: Annotated[UUID | str | None, "that of what was shown, to forget it"] = None,
        conversation: Annotated[str | None, "forget it in this conversation alone, by its name"] = None,
        user_id: User = None,
        agent_id: Agent = None,
        project_id: Annotated[str | None, "the project of the notes (default: of the user's name)"] = None,
        top_k: Annotated[int | None, "most candidates, 1 to 100"] = None,
        min_relevance: Annotated[float | None, "show none that is less relevant, 0 to 1"] = None,
        cascade: Annotated[bool | None, "take the words out of the conversations, too"] = None,
    ) -> Call[Forgotten]:
        """Forget items, or what was shown for a query. A query alone forgets nothing, and returns a handle.

        Raises NotFound for a handle that is not good any more.
        """
        return post(
            "/v1/forget",
            {
                **self.owner, "items": None if items is None else [_address(one) for one in items], "query": query,
                "handle": None if handle is None else str(handle), "user_id": user_id, "agent_id": agent_id,
                "project_id": project_id, "conversation": conversation, "top_k": top_k, "min_relevance": min_relevance,
                "cascade": cascade,
            },
            reader(Forgotten),
        )  # fmt: skip

    @method
    def erase(
        self,
        *,
        user_id: OfUser = None,
        agent_id: OfAgent = None,
        everything: Annotated[bool | None, "all of the tenant"] = None,
    ) -> Call[Receipt]:
        """For operators: erase all of a user, an agent or the tenant for good.

        Asked once more, it ends what was broken off.
        """
        body = {**self.owner, "user_id": user_id, "agent_id": agent_id, "everything": everything}
        return operators(post(ERASE, body, reader(Receipt)))

    @method
    def receipt(
        self, receipt_id: Annotated[UUID | str, "its id"], *, user_id: OfUser = None, agent_id: OfAgent = None
    ) -> Call[Receipt]:
        """For operators: read the receipt of an erasure. Raises NotFound, also for that of somebody else."""
        whose = {**self.owner, "user_id": user_id, "agent_id": agent_id}
        return operators(
            get(filled(f"{ERASE}/{{receipt_id}}", {"receipt_id": receipt_id}), whose, reader(Receipt))
        )

    @method
    def prove(
        self,
        receipt: Annotated[Receipt | Mapping[str, object], "a receipt, as JSON"],
        *,
        user_id: OfUser = None,
        agent_id: OfAgent = None,
        everything: Annotated[bool | None, "all of the tenant"] = None,
        texts: Annotated[Sequence[str], "words of theirs to look for, too; may be repeated"] = (),
    ) -> Call[Proof]:
        """For operators: check a receipt, and search for a name and texts wherever something is kept."""
        body = {
            **self.owner, "receipt": msgspec.to_builtins(receipt), "user_id": user_id, "agent_id": agent_id,
            "everything": everything, "texts": list(texts),
        }  # fmt: skip
        return operators(post(f"{ERASE}/prove", body, reader(Proof)))

    @method
    def export(self, *, user_id: OfUser = None, agent_id: OfAgent = None) -> Stream[ExportedLine]:
        """For operators: take all of a user, an agent or the tenant along, in the order that `take_in` takes."""
        params = {**self.owner, "user_id": user_id, "agent_id": agent_id}
        return Stream(operators(get(f"{ADMIN}/export", params, reader(ExportedLine))))

    @method
    def take_in(
        self, lines: Annotated[Sequence[ExportedLine | Mapping[str, object]], "a line of an export, as JSON"]
    ) -> Call[Imported]:
        """For operators: take in up to 500 lines of an export, in their order. What is there stays as it is."""
        body = {**self.owner, "items": msgspec.to_builtins(list(lines))}
        return operators(post(f"{ADMIN}/import", body, reader(Imported)))


def _address(item: str) -> dict[str, str]:
    family, _, rest = item.partition("/")
    kind, _, item_id = rest.partition("/")
    return {"family": family, "kind": kind, "id": item_id}
