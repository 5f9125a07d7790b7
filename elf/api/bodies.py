"""What the bodies of every family are made of: strict requests, responses, and names that whoever calls gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, TypeAlias, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from elf.core.blank_text import NOT_BLANK
from elf.core.secrets import find_credential


class Request(BaseModel):
    """A request: types are strict, unknown fields are refused, and so are NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


class Response(BaseModel):
    """A response body."""

    model_config = ConfigDict(frozen=True, defer_build=True)


class NulDropped:
    """Marks text of a request in which U+0000 may stand, because it is dropped; elsewhere it is a fault."""

    SCHEMA_KEY: ClassVar = "x-nul-dropped"  # of the schema that pydantic makes; documents do not show it

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(core), self.SCHEMA_KEY: True}


class FreeJson:
    """Marks a field of a request that holds JSON of any form, such as a list of anything, as a JSON object does."""


def drops_nul(annotation: object, metadata: Sequence[object] = ()) -> bool:
    """Tell whether text of this annotation is marked, itself or as one of its alternatives."""
    if any(isinstance(mark, NulDropped) for mark in metadata):
        return True
    return any(isinstance(part, NulDropped) or drops_nul(part) for part in get_args(annotation))


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE: Final = BeforeValidator(_whole)
"""The last annotation of a whole number, so that its schema keeps the bounds: in JSON, 5.0 is the number 5."""


def no_credential(identifier: str) -> str:
    """Return a name as it is. Raises ValueError when it holds a credential: names are kept, logged and shown."""
    kind = find_credential(identifier)
    if kind is not None:
        raise ValueError(f"must not hold a credential, and this holds one of kind {kind}")
    return identifier


Identifier: TypeAlias = Annotated[str, Field(min_length=1, max_length=128, pattern=NOT_BLANK)]
GivenIdentifier: TypeAlias = Annotated[Identifier, AfterValidator(no_credential)]
