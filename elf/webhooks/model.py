"""What webhooks are called, and what an event says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

FAMILY: Final = "webhooks"
TABLE: Final = "webhook_outbox"


class Event(NamedTuple):
    """What became of an item; its text is not told. `lane` is whose it is: of one lane, one event follows the other.

    `extra` is what else names the item, such as the path of a file, or says `by` which other it is contradicted.
    """

    outbox_id: UUID
    event_id: UUID
    event: str
    family: str
    kind: str
    item_id: str
    tenant_id: str
    project_id: str | None
    agent_id: str | None
    user_id: str | None
    extra: Mapping[str, Any]
    lane: str
    changed_at: datetime

    def body(self) -> bytes:
        """Return it as it is sent: JSON whose `type` is that of the event, such as item.written."""
        names = ("family", "kind", "item_id", "tenant_id", "project_id", "agent_id", "user_id")
        data = {name: value for name in names if (value := getattr(self, name)) is not None}
        return msgspec.json.encode(
            {"type": f"item.{self.event}", "timestamp": self.changed_at, "data": {**data, **self.extra}}
        )
