"""Erasing all of a user, an agent or a tenant for good, over all families: requests, the receipt, its proof."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from elf.api.audit import DataSubject
from elf.api.bodies import NulDropped, Request, Response
from elf.api.caller import Caller
from elf.api.operation import Operation
from elf.api.seen_text import SEEN, seen
from elf.core.errors import Conflict, NotFound, ScopeDenied, Unavailable
from elf.memory.api import fields as f

TAG: Final = "memory: keeping"
ERASE_PATH: Final = "/v1/admin/erase"

Kind = Literal["user", "agent", "tenant"]
Counts = dict[str, int]

_Text = Annotated[
    str, Field(min_length=1, max_length=1024, json_schema_extra=SEEN), AfterValidator(seen), NulDropped()
]


class Whose(Request):
    """A user or an agent of a tenant, not both at once; with neither, all of the tenant."""

    tenant_id: f.TenantIdGiven
    user_id: Annotated[f.UserIdGiven, Field(description="The user.")] | None = None
    agent_id: Annotated[f.AgentIdGiven, Field(description="The agent.")] | None = None

    def named(self) -> DataSubject:
        """Return whom it names: the user, or else the agent, or else the tenant."""
        return DataSubject.by_name(self.tenant_id, user=self.user_id, agent=self.agent_id)


class WholeTenant(Whose):
    """The same, where exactly one of the three says who is meant."""

    everything: Annotated[Literal[True], Field(description="All of the tenant is meant.")] | None = None


class Erase(WholeTenant):
    """Who is erased."""


class Receipt(Response):
    """What was erased, when, and what is out of reach; signed by the service that did it."""

    receipt_id: UUID = Field(examples=[f.TRACE_EXAMPLE])
    kind: Kind = Field(description="Who it was.")
    subject: str = Field(description="A keyed hash of who it was: only the service can tell whose it is.")
    began_at: str = Field(description="When it began, as ISO 8601.")
    finished_at: str = Field(description="When nothing was left.")
    erased: dict[str, Counts] = Field(description="How much of each kind went, by family.")
    index: Counts = Field(description="How many points of what is gone are left in the index, by corpus: 0.")
    out_of_reach: list[str] = Field(description="Where bytes of it may be that no erasure reaches.")
    signature: str = Field(description="HMAC-SHA256 of all other fields, by a key that the service keeps.")


class ReadReceipt(Whose):
    """Which receipt, of whom; without a user and an agent, of a whole tenant."""

    receipt_id: Annotated[UUID, Field(strict=False, description="Its id.", examples=[f.TRACE_EXAMPLE])]


class GivenReceipt(Request):
    """A receipt as it was given."""

    receipt_id: Annotated[UUID, Field(strict=False)]
    kind: Kind
    subject: Annotated[str, Field(max_length=128)]
    began_at: Annotated[str, Field(max_length=64)]
    finished_at: Annotated[str, Field(max_length=64)]
    erased: dict[str, Counts]
    index: Counts
    out_of_reach: list[Annotated[str, Field(max_length=1024)]]
    signature: Annotated[str, Field(max_length=128)]


class ProveErased(WholeTenant):
    """A receipt, who is said to have been erased, and texts of theirs to look for."""

    receipt: GivenReceipt
    texts: Annotated[
        list[_Text], Field(max_length=20, description="Words of theirs that must stand nowhere either.")
    ] = Field(default_factory=list)  # fmt: skip


class Found(Response):
    """Where a name or a text still stands."""

    place: str = Field(description="A column of a table, a field of an index, a file.")
    count: int


class Proof(Response):
    """Whether a receipt is true."""

    proven: bool = Field(
        description="Whether it is signed here, is of whom it is said to be, and nothing was found."
    )
    signed_here: bool
    is_of_subject: bool
    found: list[Found]
    columns: int = Field(description="How many columns of the database were searched.")
    points: Counts = Field(description="How many points of the index were looked at, by corpus.")


def _who_is_erased(request: Erase, _: Caller) -> DataSubject:
    return request.named()


ERASE: Final = Operation(
    "erase_memory", "POST", ERASE_PATH, "Erase all of a user, an agent or a tenant for good, over all families", Erase,
    Receipt, tag=TAG, text="any", errors=(Conflict, ScopeDenied, Unavailable), is_slow=True,
    counted=("erased",), erases=_who_is_erased,
)  # fmt: skip
RECEIPT: Final = Operation(
    "read_receipt", "GET", f"{ERASE_PATH}/{{receipt_id}}", "Read the receipt of an erasure", ReadReceipt, Receipt,
    tag=TAG, errors=(NotFound, ScopeDenied),
)  # fmt: skip
PROVE: Final = Operation(
    "prove_erasure", "POST", f"{ERASE_PATH}/prove", "Check a receipt, and search for what should be gone", ProveErased,
    Proof, tag=TAG, text="any", reads=True, errors=(ScopeDenied, Unavailable), is_slow=True, counted=("found",),
)  # fmt: skip

ERASING: Final = (ERASE, RECEIPT, PROVE)
