"""A tool of the Model Context Protocol as data: an operation in words for a model that has never seen ELF.

Every word is read by a model with each of its requests, so what a name or a list of values says is not said again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from elf.api.operation import Operation

Schema: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reshaping:
    """Arguments that are easier for a model to give than the request of the operation, and the way between the two.

    `schema` is the JSON Schema of the arguments. `as_request` makes the fields of the request of arguments; it raises
    InvalidRequest. `as_failure` makes of the body of an error, and the arguments, one whose paths are those of the
    arguments. `defaults` are the values of arguments that are left out.
    """

    schema: Callable[[], Schema]
    as_request: Callable[[Mapping[str, Any]], dict[str, Any]]
    as_failure: Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]
    defaults: Mapping[str, Any] = field(default_factory=dict)


REQUIRED: Final = object()
"""In place of a default: whoever calls has to say it, unless the config fixes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool in words, with what its calls may do.

    `arguments` are the fields of the request that it shows, and what each means; what stands in braces there is the
    config's. The API takes its other fields, too. `destructive` tells that it may change or remove what is there, not
    only add; `idempotent` that a second call with the same arguments changes nothing more.

    `context` are the arguments that the config may fix or give a default, with their values where it does neither, or
    REQUIRED, of which a default in the config does not count. None: whatever it speaks of, as notes mean it.
    """

    name: str
    title: str
    operation: Operation
    description: str
    arguments: Mapping[str, str]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    reshaping: Reshaping | None = None
    context: Mapping[str, Any] | None = None
