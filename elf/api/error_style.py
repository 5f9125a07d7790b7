"""The form that errors have on the wire, where a family has one of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel

from elf.core.errors import ServiceError


@dataclass(frozen=True, slots=True)
class ErrorStyle:
    """How errors are told: `write` makes the `body` of a failure, whose message may be shown to anyone.

    Status and headers are the same in every style. `write_event` makes the last event of a stream that fails, where
    that is not the body.
    """

    body: type[BaseModel]
    write: Callable[[ServiceError], BaseModel]
    write_event: Callable[[ServiceError], BaseModel] | None = None
