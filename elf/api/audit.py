"""Calls that somebody keeps account of: who asked for what, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import BaseModel

from elf.api.caller import Caller
from elf.core.errors import ServiceError

CallEnd: TypeAlias = ServiceError | Literal["done", "left"]
"""What became of a call: its failure, or it was done, or it was broken off before that, as by a client that left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCall:
    """A request for an operation, as far as it came.

    `caller` is None when it was refused before anybody knew who asks, `request` when it was refused before it was
    understood. `given` is what its address says, as it came: the parameters of path and query that the operation has.
    """

    caller: Caller | None
    request: BaseModel | None
    given: Mapping[str, str]
    end: CallEnd


Audit: TypeAlias = Callable[[AuditedCall], None]
"""Is told of each call of an operation once, when it has ended."""
