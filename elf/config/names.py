"""The names of a context, as a config file gives them."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, field_validator

from elf.config.table import Table
from elf.core.cjk import contains_cjk, contains_nul
from elf.core.secrets import find_credential

MAX_NAME_CHARS: Final = 128

ContextName = Annotated[
    str,
    Field(
        max_length=MAX_NAME_CHARS, pattern=r"^\z|\S", description="a name of at most 128 characters, or empty"
    ),
]
SentName = Annotated[
    str,
    Field(
        pattern=r"^[!-~]{0,128}\z",
        description="a name of at most 128 printable ASCII characters without spaces, or empty",
    ),
]
"""A name that goes in a header."""


class Names(Table):
    """Who calls, and which scopes are read; an empty name is none."""

    tenant_id: ContextName = ""
    project_id: ContextName = ""
    agent_id: ContextName = ""
    read_profile: str = ""

    @field_validator("tenant_id", "project_id", "agent_id", "butler", "orchestrator_id", check_fields=False)
    @classmethod
    def _is_taken_by_the_api(cls, value: str) -> str:
        if contains_cjk(value) or contains_nul(value):
            raise ValueError("must hold neither CJK characters nor NUL: the API refuses them")
        if find_credential(value) is not None:
            raise ValueError("must not hold a credential: the API refuses it")
        return value

    @property
    def given(self) -> dict[str, str]:
        """The names that are not empty, by their keys."""
        return {name: value for name, value in self.model_dump().items() if value}
