"""Signatures as Standard Webhooks has them (its specification 1.0): HMAC-SHA256 of id, time and body."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from uuid import UUID


def signed_headers(key: bytes, *, message_id: UUID, timestamp: int, body: bytes) -> Mapping[str, str]:
    """Return the headers by which a receiver tells who sent a message, and when.

    `timestamp` is in seconds since 1970: a receiver refuses what is too old, so it is that of this try. The id stays
    the same for each try: a receiver knows by it what it has had.
    """
    content = f"{message_id}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.digest(key, content, "sha256")).decode()
    return {
        "webhook-id": str(message_id),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
    }
