"""All that there is of a user, an agent or a tenant: taking it along, taking it in, and erasing it for good."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from elf.api.audit import DataSubject
from elf.api.bodies import WHOLE, GivenIdentifier, Request, Response
from elf.api.caller import Caller
from elf.api.operation import Operation, Stream
from elf.core.errors import Conflict, ScopeDenied, Unavailable
from elf.families.assistant import model as m
from elf.families.assistant.api import fields as f
from elf.families.assistant.api.consent import ProposalState
from elf.families.assistant.api.exported_files import ExportedFile, ExportedFileVersion
from elf.families.assistant.rules.user_context import ContextField

TAG: Final = "assistant: keeping"
ADMIN: Final = "/v1/admin/assistant"
MOST_LINES: Final = 500
MAX_BODY_BYTES: Final = 8 << 20

Number = Annotated[int, Field(ge=0, le=2**31 - 1), WHOLE]
Name = Annotated[str, Field(min_length=1, max_length=256)]


class Erase(Request):
    """What is erased: all of a user, all memories that an agent has kept, or all of the tenant."""

    tenant_id: f.TenantIdGiven
    what: Literal["user", "agent", "tenant"]
    name: (
        Annotated[GivenIdentifier, Field(description="The user or the agent; of a tenant there is none.")]
        | None
    ) = None

    @model_validator(mode="after")
    def _is_named(self) -> Self:
        if (self.name is None) != (self.what == "tenant"):
            raise ValueError("name is that of the user or the agent, and left out for the tenant")
        return self


class Erased(Response):
    """The receipt."""

    erased: dict[str, int] = Field(description="How many rows of each table went.")


class ExportedQuote(Request):
    """Words that a memory is drawn from."""

    quote: Annotated[str, Field(max_length=m.MAX_QUOTE_CHARS)]
    role: m.Role | None = None
    turn_id: Name | None = None


class ExportedMemory(Request):
    """A memory."""

    id: UUID
    agent_id: Name | None = None
    run_id: Name | None = None
    actor_id: Name | None = None
    thread_id: Name | None = None
    role: m.Role | None = None
    type: m.MemoryType
    category: f.CategoryGiven
    text: f.TextGiven
    steps_text: f.StepsGiven | None = None
    tags: f.TagsGiven = Field(default_factory=list)
    importance: f.Importance
    pinned: f.Pinned
    state: m.MemoryState
    source: Annotated[str, Field(min_length=1, max_length=64)]
    evidence: Annotated[list[ExportedQuote], Field(max_length=m.MAX_QUOTES)] = Field(default_factory=list)
    created_at: f.MomentGiven
    updated_at: f.MomentGiven
    last_accessed: f.MomentGiven | None = None
    hit_count: Number = 0
    purge_at: f.MomentGiven | None = None


class ExportedSource(Request):
    """In which other thread than its own a memory was said, and the words that prove it."""

    memory_id: UUID
    thread_id: Name
    evidence: Annotated[list[ExportedQuote], Field(max_length=m.MAX_QUOTES)] = Field(default_factory=list)
    created_at: f.MomentGiven


class ExportedRelation(Request):
    """What a memory has to do with another one."""

    from_id: UUID
    to_id: UUID
    relation_type: m.RelationType
    strength: Annotated[float, Field(ge=-1.0, le=1.0)]
    created_at: f.MomentGiven


class ExportedHistory(Request):
    """What became of a memory."""

    id: UUID
    memory_id: UUID
    event: m.HistoryEvent
    old_ref: dict[str, Any] | None = None
    new_ref: dict[str, Any] | None = None
    actor: Name | None = None
    meta: dict[str, Any] = Field(default_factory=dict)
    ts: f.MomentGiven


class ExportedContext(Request):
    """What the user is known by."""

    field: ContextField
    value: Annotated[
        str | list[Annotated[str, Field(max_length=m.MAX_TEXT_CHARS)]],
        Field(max_length=m.MAX_TEXT_CHARS, description="A text; of goals a list of them."),
    ]
    updated_at: f.MomentGiven


class ExportedProposal(Request):
    """What was proposed to the user, and what became of that."""

    proposal_id: UUID
    field: ContextField
    value: Annotated[str, Field(max_length=m.MAX_TEXT_CHARS)]
    state: ProposalState
    thread_id: Name | None = None
    evidence: Annotated[list[ExportedQuote], Field(max_length=m.MAX_QUOTES)] = Field(default_factory=list)
    created_at: f.MomentGiven
    expires_at: f.MomentGiven
    decided_at: f.MomentGiven | None = None
    decided_by: Name | None = None


class ExportedThread(Request):
    """What the newest checkpoint of a thread says."""

    thread_id: Name
    by_saver: Annotated[bool, Field(description="Whether a graph's saver keeps it.")]
    checkpoint_data: dict[str, Any]
    created_at: f.MomentGiven
    updated_at: f.MomentGiven


class ExportedLine(Request):
    """Exactly one thing of a user."""

    user_id: f.UserIdGiven
    memory: ExportedMemory | None = None
    source: ExportedSource | None = None
    relation: ExportedRelation | None = None
    history: ExportedHistory | None = None
    user_context: ExportedContext | None = None
    proposal: ExportedProposal | None = None
    thread: ExportedThread | None = None
    file: ExportedFile | None = None
    file_version: ExportedFileVersion | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        told = (
            self.memory, self.source, self.relation, self.history, self.user_context, self.proposal, self.thread,
            self.file, self.file_version,
        )  # fmt: skip
        if sum(one is not None for one in told) != 1:
            raise ValueError(
                "a line has exactly one of memory, source, relation, history, user_context, proposal, thread, file "
                "and file_version"
            )
        return self


class ExportOwn(f.OfUser):
    """Whose memory."""


class Export(Request):
    """Of whom: of the whole tenant, of one user, or the memories that one agent has kept."""

    tenant_id: f.TenantIdGiven
    user_id: f.UserIdGiven | None = None
    agent_id: f.AgentIdGiven | None = None


class Import(Request):
    """Lines in the order of an export; they may come in several requests, and again."""

    tenant_id: f.TenantIdGiven
    user_id: Annotated[
        f.UserIdGiven, Field(description="Whose they are from now on; left out, as each line says.")
    ] | (None) = None
    items: Annotated[list[ExportedLine], Field(min_length=1, max_length=MOST_LINES)]


class RejectedLine(Response):
    place: int = Field(description="Its place in the request, from 0.")
    reason_code: str = Field(description="What its text lacks of one that an assistant writes.")


class Imported(Response):
    """What became of the lines."""

    new: int
    known: int = Field(description="Lines of what is there already, which stays as it is.")
    proposed: int = Field(description="Values that the user is known by once the user agrees.")
    left: int = Field(
        description="Lines that are told and not taken in: history, decisions, older versions of files, files where "
        "others stand in the way, and what was deleted."
    )
    rejected: list[RejectedLine]


def _who_is_erased(request: Erase, _: Caller) -> DataSubject | None:
    if request.what == "tenant" or request.name is None:
        return None  # the tenant has more than this family keeps
    return DataSubject(request.tenant_id, request.what, request.name)


EXPORT_OWN: Final = Stream(
    "export_own_assistant_memory", "GET", "/v1/assistant/export", "Take one's own memory along, line by line",
    ExportOwn, ExportedLine, tag=TAG, text="any", errors=(ScopeDenied, Unavailable),
)  # fmt: skip
EXPORT: Final = Stream(
    "export_assistant_memory", "GET", f"{ADMIN}/export", "Take memories along, line by line", Export, ExportedLine,
    tag=TAG, text="any", errors=(ScopeDenied, Unavailable),
)  # fmt: skip
IMPORT: Final = Operation(
    "import_assistant_memory", "POST", f"{ADMIN}/import", "Take lines of an export in", Import, Imported,
    tag=TAG, text="any", max_body_bytes=MAX_BODY_BYTES, errors=(ScopeDenied, Unavailable), counted=("new", "proposed"),
)  # fmt: skip
ERASE: Final = Operation(
    "erase_assistant_memory", "POST", f"{ADMIN}/erase", "Erase all of a user, an agent or the tenant for good", Erase,
    Erased, tag=TAG, text="any", errors=(ScopeDenied, Conflict, Unavailable), counted=("erased",),
    erases=_who_is_erased,
)  # fmt: skip

OWN: Final = (EXPORT_OWN,)
SUBJECTS: Final = (EXPORT, IMPORT, ERASE)
