"""[conversations]: everything said between users and agents. The family is on where the file has the table."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from elf.config.table import Table

Count = Annotated[int, Field(ge=1, le=100_000_000)]


class ConversationsTable(Table):
    """[conversations]; each key is optional.

    `require_justification`: operators have to say why they look at conversations. `recorder` keeps answers while they
    are made, so that they can be replayed: in postgres, or none. `max_streams` bounds the recordings and replays of a
    process. Trees deleted longer ago than `evict_after_days` vanish; 0: they stay until an operator says so.
    """

    require_justification: bool = False
    recorder: Literal["postgres", "none"] = "postgres"
    recorder_max_bytes: Count = 16 * 1024 * 1024
    max_streams: Count = 256
    evict_after_days: Annotated[int, Field(ge=0, le=36_500)] = 0
