"""[tracing]: where spans are sent."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from elf.config.places import check_url
from elf.config.table import Table
from elf.config.values import Text


class Tracing(Table):
    """[tracing], optional, and so is each key. Without the table ELF sends no spans anywhere."""

    endpoint: Annotated[
        str,
        Field(
            description="the URL at which a collector takes traces, such as http://127.0.0.1:4318/v1/traces"
        ),
    ] = "http://127.0.0.1:4318/v1/traces"
    service_name: Text = "elf"

    @field_validator("endpoint")
    @classmethod
    def _is_a_url(cls, value: str) -> str:
        return check_url(value)
