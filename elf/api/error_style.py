"""The form that errors have on the wire, where a family has one of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel

from elf.core.errors import ServiceError


@dataclass(frozen=True, slots=True)
class ErrorStyle:
    """How errors are told: `write` makes the `body` of a failure, whose message may be shown to anyone.

    Status and headers are the same in every style.
    """

    body: type[BaseModel]
    write: Callable[[ServiceError], BaseModel]
