"""What holds a family of memory together: its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from elf.api.operation import Operation
from elf.api.tool import Tool


class Instructions(Protocol):
    """Says what a model is told before it sees the tools.

    `fixed` are the fields of requests that it does not choose, `defaults` the values of those that it may leave out.
    """

    def __call__(self, *, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of memory, as its fronts see it; nothing here does any of it.

    `name` is that of its folders in elf/families and sql. Its `operations` are served to everybody, `admin_operations`
    on the admin address only; each is carried out by the handler of its name. `tools` are what models are offered.
    """

    name: str
    operations: Sequence[Operation]
    admin_operations: Sequence[Operation]
    tools: Sequence[Tool]
    about: Instructions
