"""Server-sent events, read as they come. No I/O.

The form is that of the HTML standard, section 9.2.6, without ids and times to come back after: nothing here comes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its type, and the lines of its data."""

    type: str
    data: bytes


@dataclass(slots=True)
class EventReader:
    """Makes events of the bytes of a stream, wherever these are cut. What has not ended is no event."""

    _rest: bytes = b""
    _type: str = MESSAGE
    _data: list[bytes] = field(default_factory=list)

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Take what came, and give the events that it ends."""
        lines = (self._rest + chunk).splitlines(keepends=True)
        # A line is whole at its end; a carriage return may have a line feed still to come.
        self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        for line in lines:
            if event := self._take(line.rstrip(b"\r\n")):
                yield event

    def _take(self, line: bytes) -> Event | None:
        if not line:
            return self._ended()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._type = value.decode("utf-8", errors="replace")
        return None

    def _ended(self) -> Event | None:
        event = Event(self._type, b"\n".join(self._data)) if self._data else None
        self._type, self._data = MESSAGE, []
        return event
