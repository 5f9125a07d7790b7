"""[service.limits]: how many requests are served at once."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from elf.config.table import Table

Count = Annotated[int, Field(ge=1, le=100_000)]


class Limits(Table):
    """[service.limits], optional, and so is each key: what the HTTP API of a process takes on at once.

    Without the table: everything.
    """

    max_concurrent: Count = 4
    max_per_tenant: Count = 1
    max_concurrent_events: Count = 4
    max_waiting: Annotated[int, Field(ge=0, le=100_000)] = 64
    max_wait_ms: Annotated[int, Field(ge=1, le=600_000)] = 5000
    max_connections: Annotated[int, Field(ge=8, le=1_000_000)] = 1000
