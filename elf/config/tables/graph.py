"""[graph]: memories of orchestrators as nodes and edges, in files of their own. On where the file has the table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from elf.config.table import Table
from elf.config.values import IndexedChars, Text

DEFAULT_ROOT = ".elf/graph"

FolderName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", description="1-128 letters, digits, dots, _ and -"),
]
LegSize = Annotated[int, Field(ge=0, le=1000)]


class Recall(Table):
    """[graph.retrieval]: how many memories a recall returns, how many each leg finds, and the k of their fusion."""

    top_n: Annotated[int, Field(ge=1, le=100)] = 20
    rrf_k: Annotated[int, Field(ge=1, le=1000)] = 60
    top_k_vector: LegSize = 50
    top_k_text: LegSize = 50


class Ingest(Table):
    """[graph.ingest]: whether files that are put into the ingest folders become memories."""

    enabled: bool = True
    max_file_size_mb: Annotated[int, Field(ge=1, le=1024)] = 25
    poll_interval_s: Annotated[int, Field(ge=1, le=3600)] = 30


class GraphScope(Table):
    """[graph.scope]: an orchestrator recalls its own memories only."""

    cross_orchestrator: bool = False

    @field_validator("cross_orchestrator")
    @classmethod
    def _off(cls, value: bool) -> bool:
        if value:
            raise ValueError("must be false: an orchestrator recalls its own memories only")
        return value


class Orchestrator(Table):
    """[[graph.orchestrators]]: an orchestrator whose folder is somewhere else than below the root, or that has more
    than it: a workspace of its own, and shared ones that it may read.
    """

    tenant_id: FolderName = "default"
    orchestrator_id: FolderName
    enabled: bool = True
    runtime_root: Text | None = None
    private_workspace: Text | None = None
    shared_access: list[Text] = Field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        """The tenant that it is of, and its id."""
        return self.tenant_id, self.orchestrator_id

    def anchored(self, folder: Path) -> Self:
        """Return it with relative folders taken as below `folder`."""
        places = {"runtime_root": self.runtime_root, "private_workspace": self.private_workspace}
        return self.model_copy(
            update={name: str(folder / place) for name, place in places.items() if place is not None}
        )


class GraphTable(Table):
    """[graph]; each key is optional.

    Where it is not `enabled`, nothing is written, read or made. An orchestrator that is not listed gets a folder below
    `root` with `auto_register`, at most `max_orchestrators` a tenant. A process has at most `max_open` files open, each
    until it was not used for `idle_seconds`. `shared_workspaces` are folders by name, which orchestrators may be
    granted. Of the text of a file that is dropped, the first `indexed_content_chars` are found.
    """

    enabled: bool = True
    root: Text = DEFAULT_ROOT
    auto_register: bool = False
    max_orchestrators: Annotated[int, Field(ge=1, le=100_000)] = 100
    max_open: Annotated[int, Field(ge=1, le=10_000)] = 64
    idle_seconds: Annotated[int, Field(ge=1, le=86_400)] = 300
    indexed_content_chars: IndexedChars = 100_000
    bulletin_mode: Literal["every_message"] = "every_message"
    retrieval: Recall = Recall()
    ingest: Ingest = Ingest()
    scope: GraphScope = GraphScope()
    shared_workspaces: dict[str, Text] = Field(default_factory=dict)
    orchestrators: list[Orchestrator] = Field(default_factory=list)

    @model_validator(mode="after")
    def _orchestrators_are_told_apart(self) -> Self:
        keys = [one.key for one in self.orchestrators]
        roots = [one.runtime_root for one in self.orchestrators if one.runtime_root is not None]
        for seen, what in (
            (keys, "orchestrators are called"),
            (roots, "orchestrators have the runtime_root"),
        ):
            if doubled := next((one for place, one in enumerate(seen) if one in seen[:place]), None):
                raise ValueError(f"two {what} {doubled if isinstance(doubled, str) else '/'.join(doubled)}")
        return self

    @model_validator(mode="after")
    def _shared_workspaces_are_known(self) -> Self:
        for one in self.orchestrators:
            if unknown := [name for name in one.shared_access if name not in self.shared_workspaces]:
                raise ValueError(
                    f"orchestrator {one.orchestrator_id} has shared_access to {', '.join(unknown)}, which "
                    "graph.shared_workspaces does not name"
                )
        return self

    def anchored(self, folder: Path) -> Self:
        """Return the table with relative folders taken as below `folder`."""
        return self.model_copy(
            update={
                "root": str(folder / self.root),
                "shared_workspaces": {
                    name: str(folder / place) for name, place in self.shared_workspaces.items()
                },
                "orchestrators": [one.anchored(folder) for one in self.orchestrators],
            }
        )

    def orchestrator(self, tenant_id: str, orchestrator_id: str) -> Orchestrator | None:
        """Return what the file says of an orchestrator; None where it says nothing."""
        return next((one for one in self.orchestrators if one.key == (tenant_id, orchestrator_id)), None)
