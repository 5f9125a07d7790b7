"""Log lines of the index process: JSON on stderr in the shape of the main process's log."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import msgspec

from elf.core.log_writer import LogStream, write_in_background


def start_reports() -> None:
    """Have standard error written in the background, so that no report waits or fails."""
    write_in_background("stderr")
    if isinstance(sys.stderr, LogStream):
        sys.stderr.lines.report = lambda lines: _line("log_lines_dropped", lines=lines)


def report(event: str, **fields: str) -> None:
    """Write one warning."""
    sys.stderr.write(_line(event, **fields) + "\n")
    sys.stderr.flush()


def _line(event: str, **fields: str | int) -> str:
    moment = datetime.now(UTC).isoformat()
    line = {"event": event, "level": "warning", "actor": "index_process", "timestamp": moment, **fields}
    return msgspec.json.encode(line).decode()
