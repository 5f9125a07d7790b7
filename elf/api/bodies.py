"""What the bodies of every family are made of: strict requests, responses, and names that whoever calls gives."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from elf.core.blank_text import NOT_BLANK
from elf.core.secrets import find_credential


class Request(BaseModel):
    """A request: types are strict, unknown fields are refused, and so are NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Response(BaseModel):
    """A response body."""

    model_config = ConfigDict(frozen=True)


def no_credential(identifier: str) -> str:
    """Return a name as it is. Raises ValueError when it holds a credential: names are kept, logged and shown."""
    kind = find_credential(identifier)
    if kind is not None:
        raise ValueError(f"must not hold a credential, and this holds one of kind {kind}")
    return identifier


Identifier: TypeAlias = Annotated[str, Field(min_length=1, max_length=128, pattern=NOT_BLANK)]
GivenIdentifier: TypeAlias = Annotated[Identifier, AfterValidator(no_credential)]
