"""What a request is answered with."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final

JSON: Final = "application/json"
RESPONSE_TIMEOUT_S = 30


@dataclass(slots=True)
class Response:
    """An answer: all of its body, or the parts as they come, of which `length` says how many bytes they are in all.

    Sending it takes `timeout_s` seconds at most; None lets it take for ever.
    """

    body: bytes | AsyncGenerator[bytes, None] = b""
    status: int = 200
    content_type: str | None = None
    length: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    timeout_s: float | None = RESPONSE_TIMEOUT_S

    def encoded_headers(self) -> list[tuple[bytes, bytes]]:
        """Return all headers as they are sent."""
        length = len(self.body) if isinstance(self.body, bytes) else self.length
        own = {"content-type": self.content_type, "content-length": None if length is None else str(length)}
        return [
            (name.encode("ascii"), value.encode("latin-1"))
            for name, value in (own | self.headers).items()
            if value is not None
        ]
