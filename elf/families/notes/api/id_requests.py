"""The bodies of looking up ids by how they begin."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from elf.api.bodies import Response
from elf.families.notes.api.requests import InContext

MAX_IDS = 20

Kind = Literal["note", "version", "search", "result"]


class FindIdsRequest(InContext):
    """Only what this context may read is found: no other agent's private notes and searches."""

    kind: Kind = Field(
        description="What it is the id of; a result's is its result_handle.", examples=["note"]
    )
    prefix: Annotated[
        str,
        Field(
            pattern=r"^[0-9a-fA-F]{8}(-?[0-9a-fA-F]){0,24}$",
            description="How the id begins: its first 8 hex digits or more, hyphens or not.",
            examples=["0b8ff2a0"],
        ),
    ]


class FoundId(Response):
    """A whole id, and what it stands for."""

    id: UUID = Field(description="The id.")
    text: str = Field(description="The text of the note, or of the version; of a search, its query.")


class FindIdsResponse(Response):
    """Nearly always there is one, or none."""

    items: list[FoundId] = Field(description=f"At most {MAX_IDS}, in the order of their ids.")
