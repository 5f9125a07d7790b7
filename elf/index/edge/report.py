"""Log lines of the index process: JSON on stderr in the shape of the main process's log."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import msgspec


def report(event: str, **fields: str) -> None:
    """Write one warning."""
    moment = datetime.now(UTC).isoformat()
    line = {"event": event, "level": "warning", "actor": "index_process", "timestamp": moment, **fields}
    sys.stderr.write(msgspec.json.encode(line).decode() + "\n")
    sys.stderr.flush()
