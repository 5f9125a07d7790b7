"""The client of the toy family: every form that a call may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Struct

from elf.client.call import Call, Stream, delete, filled, get, nothing, post, reader
from elf.client.errors import ErrorBody, code_of
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

ROOT = "/v1/toy_rows"
TOY = f"{ROOT}/toys/{{toy_id}}"
BOX = f"{ROOT}/{{tenant_id}}/{{project_id}}/{{agent_id}}/toys"


class Toy(Struct, frozen=True):
    toy_id: UUID
    words: str
    score: float | None


class Toys(Struct, frozen=True):
    toys: list[Toy]


class Problem(Struct, frozen=True):
    problem: str


def told_plainly(status: int, content: bytes) -> ErrorBody | None:
    try:
        return ErrorBody(code_of(status), msgspec.json.decode(content, type=Problem).problem)
    except ValueError:
        return None


class ToyBox(FamilyClient[C_co]):
    name = "toy_rows"
    about = "a box of toys"

    @method
    def put(self, words: Annotated[str, "what the toy looks like"]) -> Call[Toy]:
        """Put a toy into the box."""
        return post(f"{ROOT}/toys", {**self.owner, "words": words}, reader(Toy), repeat="undone")

    @method
    def put_all(self, toys: Annotated[Sequence[str], "what each looks like"]) -> Call[Toys]:
        """Put several toys into the box."""
        path = filled(BOX, self.owner)
        return post(path, list(toys), reader(Toys), repeat="undone", whole="toys")

    @method
    def get(self, toy_id: UUID | str) -> Call[Toy]:
        """Look at a toy. Raises NotFound."""
        call = get(filled(TOY, {"toy_id": toy_id}), self.owner, reader(Toy))
        return replace(call, read_error=told_plainly)

    @method
    def drop(self, toy_id: UUID | str) -> Call[None]:
        """Throw a toy away. Raises NotFound."""
        return delete(filled(TOY, {"toy_id": toy_id}), self.owner, nothing)

    @method
    def find(self, query: str, *, limit: Annotated[int | None, "most toys, 1 to 50"] = None) -> Call[Toys]:
        """Find toys like these words."""
        return post(f"{ROOT}/find", {**self.owner, "query": query, "limit": limit}, reader(Toys))

    @method
    def all(self) -> Stream[Toy]:
        """Look at one toy after the other."""
        return Stream(get(f"{ROOT}/all", self.owner, reader(Toy)))

    @method
    def empty(self) -> Call[None]:
        """Throw all toys away. Raises Forbidden."""
        return post(f"{ROOT}/empty", self.owner, nothing)
