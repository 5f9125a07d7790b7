"""Which memories there are, and how each is: request, answer and operation of operators."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from elf.api.bodies import Response
from elf.api.operation import Operation
from elf.core.errors import Unavailable
from elf.families.graph.api import fields as f
from elf.families.graph.api.listing import NextCursor, Page

StateName: TypeAlias = Literal["open", "closed", "disabled", "elsewhere"]
State = Annotated[
    StateName,
    Field(
        description="open: this process has it open. closed: nobody uses it here now. disabled: by the config, or "
        "because it cannot be used. elsewhere: another host has it."
    ),
]


class ListOrchestrators(Page):
    """Of which tenant; without one of all."""

    tenant_id: f.TenantIdGiven | None = None


class OrchestratorState(Response):
    """An orchestrator that has a memory, where that is, and how it is as this process sees it."""

    tenant_id: str
    orchestrator_id: str
    home: str = Field(
        description="The name of the root folder that the memory is kept for; see the file .home in it."
    )
    folder: str = Field(description="The runtime root of the orchestrator there.")
    created_at: datetime
    lost_at: datetime | None = Field(
        description="Since when its file, or the root folder that it was kept in, is missed; else null."
    )
    state: State
    error_code: str | None = Field(description="Why it is disabled, for programs; else null.")
    message: str | None = Field(description="Why it is disabled, for people; else null.")


class OrchestratorStates(Response):
    """A page of orchestrators, by tenant and id."""

    items: list[OrchestratorState]
    next_cursor: NextCursor


ORCHESTRATORS: Final = Operation(
    "graph_orchestrators", "GET", "/v1/admin/graph/orchestrators", "List orchestrators, and how the memory of each is",
    ListOrchestrators, OrchestratorStates, tag="graph: keeping", text="any", errors=(Unavailable,),
)  # fmt: skip
