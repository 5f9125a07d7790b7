"""[service.limits]: how many requests are served at once."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from elf.config.table import Table

Count = Annotated[int, Field(ge=1, le=100_000)]


class Limits(Table):
    """[service.limits], optional: what the HTTP API of a process takes on at once. Without the table: everything."""

    max_concurrent: Count
    max_per_tenant: Count
    max_concurrent_events: Count
    max_waiting: Annotated[int, Field(ge=0, le=100_000)]
    max_wait_ms: Annotated[int, Field(ge=1, le=600_000)]
    max_connections: Annotated[int, Field(ge=8, le=1_000_000)]
