"""[process] and [[processes]]: which actors run in which process."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from elf.config.table import Table

ActorName = Literal["http_front", "admin_front", "mcp_front", "indexer", "trace_writer", "gc_ticker"]
ACTOR_NAMES: tuple[ActorName, ...] = (
    "http_front", "admin_front", "mcp_front", "indexer", "trace_writer", "gc_ticker",
)  # fmt: skip
Actors = Annotated[
    list[ActorName],
    Field(min_length=1, description=f"a list of one or more actors, each one of {', '.join(ACTOR_NAMES)}"),
]


def process_names(name: str, count: int) -> list[str]:
    """Return the names of the processes of one table: its own, or numbered ones when there are several."""
    return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]


class Process(Table):
    """[process], optional: which actors `elf up` runs. Without the table, or its key: all of them."""

    actors: Actors = Field(default_factory=lambda: list(ACTOR_NAMES))


class Processes(Table):
    """One of [[processes]], optional: `count` processes that `elf up` starts instead of running actors itself."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9_.-]{1,64}\z",
            description="a name of 1 to 64 letters, digits, underscores, dots and hyphens",
        ),
    ]
    actors: Actors
    count: Annotated[int, Field(ge=1, le=64)] = 1

    @property
    def names(self) -> list[str]:
        """The name of each of them."""
        return process_names(self.name, self.count)
