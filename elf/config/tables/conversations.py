"""[conversations]: everything said between users and agents. The family is on where the file has the table."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, ValidationInfo, field_validator

from elf.config.table import Table

KIB: Final = 1024
MIB: Final = 1024 * KIB
HELD: Final = {
    "metadata_bytes": ("body_bytes", 1),
    "content_items": ("entry_body_bytes", 16),
    "indexed_content_chars": ("entry_body_bytes", 4),
}
"""What has to fit into half of which body, and how many bytes each of it takes: a number is 11 bytes in gRPC."""

Count = Annotated[int, Field(ge=1, le=100_000_000)]


class Bounds(Table):
    """[conversations.bounds]: how much requests may hold. Clients count on the defaults, so that no key takes less.

    Bodies are those of HTTP; a message of gRPC is as large as the largest of them.
    """

    body_bytes: Annotated[int, Field(ge=MIB, le=16 * MIB)] = MIB
    entry_body_bytes: Annotated[int, Field(ge=8 * MIB, le=64 * MIB)] = 8 * MIB
    title_chars: Annotated[int, Field(ge=500, le=10_000)] = 500
    user_id_chars: Annotated[int, Field(ge=255, le=512)] = 255
    content_type_chars: Annotated[int, Field(ge=127, le=1000)] = 127
    query_chars: Annotated[int, Field(ge=1000, le=4000)] = 1000
    indexed_content_chars: Annotated[int, Field(ge=100_000, le=500_000)] = 100_000
    metadata_bytes: Annotated[int, Field(ge=64 * KIB, le=4 * MIB)] = 64 * KIB
    content_items: Annotated[int, Field(ge=10_000, le=1_000_000)] = 10_000
    content_levels: Annotated[int, Field(ge=64, le=200)] = 64
    index_batch: Annotated[int, Field(ge=1000, le=10_000)] = 1000
    limit: Annotated[int, Field(ge=200, le=1000)] = 200
    admin_limit: Annotated[int, Field(ge=1000, le=10_000)] = 1000

    @field_validator(*HELD)
    @classmethod
    def _fits(cls, value: int, info: ValidationInfo) -> int:
        body, each = HELD[str(info.field_name)]
        room = info.data.get(body, value * each * 2) // 2  # a body that is at fault itself says nothing
        if value * each > room:
            raise ValueError(f"must be at most {room // each} while {body} is {info.data[body]}, not {value}")
        return value


class ConversationsTable(Table):
    """[conversations]; each key is optional.

    `require_justification`: operators have to say why they look at conversations. `recorder` keeps answers while they
    are made, so that they can be replayed: in postgres, or none. `max_streams` bounds the recordings and replays of a
    process, and `recorder_total_bytes` what they hold, of which a tenant may have three quarters and a user a quarter.
    Trees deleted longer ago than `evict_after_days` vanish; 0: they stay until an operator says so.
    """

    require_justification: bool = False
    recorder: Literal["postgres", "none"] = "postgres"
    recorder_max_bytes: Count = 16 * MIB
    recorder_total_bytes: Annotated[int, Field(ge=4096, le=1_000_000_000_000)] = 256 * MIB
    max_streams: Count = 256
    max_streams_per_tenant: Count = 192
    max_streams_per_user: Count = 64
    evict_after_days: Annotated[int, Field(ge=0, le=36_500)] = 0
    bounds: Bounds = Bounds()
