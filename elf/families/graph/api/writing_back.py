"""What orchestrators write back: requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, JsonValue

from elf.api.bodies import WHOLE, Response
from elf.api.json_bounds import JsonBounds
from elf.api.operation import Operation
from elf.core.blank_text import NOT_BLANK, is_blank
from elf.core.errors import NotFound, ScopeDenied, Unavailable
from elf.families.graph import model as m
from elf.families.graph.api import fields as f

TAG: Final = "graph: writing back"

Attempt = Annotated[
    int, Field(ge=1, le=1_000_000, description="Which attempt at the step it is, from 1."), WHOLE
]
MAX_NAME_CHARS: Final = 128
ANY_LENGTH: Final = JsonBounds(string_chars=2**31)
"""An output that is too long to be a memory is skipped, and the others are written."""


def _outputs(outputs: dict[str, Any]) -> dict[str, Any]:
    """Return outputs as they are. Raises ValueError when there are too many, or one has no usable name."""
    if len(outputs) > m.MAX_NODES:
        raise ValueError(f"must hold at most {m.MAX_NODES} outputs")
    if any(is_blank(name) or len(name) > MAX_NAME_CHARS for name in outputs):
        raise ValueError(f"names of outputs have 1 to {MAX_NAME_CHARS} characters, and one that is seen")
    return outputs


class Transcript(f.InOrchestrator):
    """A message of a channel."""

    message_id: f.GivenId
    conversation_id: f.GivenId
    text: f.Text


class WorkflowOutput(f.InOrchestrator):
    """What a step of a workflow came to: each output becomes a memory of the kind that its name tells."""

    workflow_run_id: f.GivenId
    step_id: f.GivenId
    attempt: Attempt = 1
    conversation_id: f.GivenId | None = None
    outputs: Annotated[
        dict[str, JsonValue],
        Field(
            description="By name; decision, todo, goal and preference within a name tell the kind. At most 100.",
            examples=[{"decision": "Use Postgres.", "todo": "Order disks."}],
            json_schema_extra={
                "maxProperties": m.MAX_NODES,
                "propertyNames": {"minLength": 1, "maxLength": MAX_NAME_CHARS, "pattern": NOT_BLANK},
            },
        ),
        AfterValidator(_outputs),
    ]


class Diagnostics(f.InOrchestrator):
    """A finding of diagnostics."""

    finding_id: f.GivenId
    text: f.Text
    related_memory_ids: Annotated[
        list[f.Id], Field(max_length=m.MAX_NODES, description="What it follows from.")
    ] = []  # noqa: RUF012 - pydantic copies it
    conversation_id: f.GivenId | None = None
    workflow_run_id: f.GivenId | None = None
    step_id: f.GivenId | None = None


class WrittenMemory(Response):
    """What became of a memory."""

    memoryId: str
    outcome: Literal["ADD", "UPDATE", "NONE"]


class Refused(Response):
    """What was not taken in, and why."""

    field: str
    reason: Literal["empty_content", "content_too_long", "secret_detected"]


class WrittenBack(Response):
    """What was written. duplicate: it was before; outdated: a later attempt was, and nothing is changed."""

    status: Literal["written", "duplicate", "outdated"]
    key: str
    memories: list[WrittenMemory]
    edge_ids: list[str]
    skipped: list[Refused]


def _post(name: str, path: str, summary: str, request: type[f.InOrchestrator], **more: Any) -> Operation:
    return Operation(
        name, "POST", f"/v1/graph/writeback/{path}", summary, request, WrittenBack,
        tag=TAG, text="any", errors=(NotFound, ScopeDenied, Unavailable), **more,
    )  # fmt: skip


TRANSCRIPT: Final = _post(
    "graph_write_transcript", "transcript", "Write a message of a channel back", Transcript
)
OUTPUT: Final = _post(
    "graph_write_output",
    "workflow_output",
    "Write the outputs of a workflow's step back",
    WorkflowOutput,
    json_bounds=ANY_LENGTH,
)
DIAGNOSTICS: Final = _post(
    "graph_write_diagnostics", "diagnostics", "Write a finding of diagnostics back", Diagnostics
)

WRITING_BACK: Final = (TRANSCRIPT, OUTPUT, DIAGNOSTICS)
