"""Writing batches to the service: retries while it is away, and finding the lines that it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from elf.cli.client import Reply, Service
from elf.cli.importing.lanes import Batch
from elf.cli.importing.lines import Line, Rejection
from elf.cli.importing.report import Report
from elf.cli.outcome import ExitCode, Refused, Unreachable
from elf.client import Retries
from elf.client.calls import Calls

_NOTE_PATH = re.compile(r"\$\.notes\[\d+\]\.")
_NOTE_FIELD = re.compile(r"\$\.notes\[(\d+)\]\.?(.*)")


class BatchWriter:
    """Writes batches and reports what became of each line. Writing a batch twice is harmless: the service sees it."""

    def __init__(self, service: Service, report: Report, *, retries: Retries) -> None:
        self._service = service
        self._report = report
        self._retries = retries

    async def write(self, batch: Batch) -> None:
        """Write a batch whole. Raises Unreachable when the service stays away for longer than the patience.

        Raises Refused when it does not take whoever writes.
        """
        remaining = [batch]
        while remaining:
            part = remaining.pop(0)
            reply = await self._post(part)
            if reply.exit_code == ExitCode.DONE:
                self._count(part, reply)
            else:
                remaining[:0] = self._refused(part, reply)

    async def _post(self, batch: Batch) -> Reply:
        where = batch.context._asdict()
        scope = where.pop("scope")
        # Every line is a note of its own, however alike two of them are; only the same line again says nothing new.
        notes = [line.note for line in batch.lines]
        call = Calls(**where).add_notes(notes, scope=scope, merge_similar=False)
        reply = await self._service.ask(call, retries=self._retries)
        if reply.exit_code == ExitCode.UNAVAILABLE:
            raise Unreachable(reply.message())
        if reply.status == 401:  # and so would be every other
            raise Refused(reply.message())
        return reply

    def _count(self, batch: Batch, reply: Reply) -> None:
        results = reply.body.get("results", ())
        if len(results) != len(batch.lines):
            raise Unreachable(f"the service gave {len(results)} results for {len(batch.lines)} notes")
        for line, result in zip(batch.lines, results, strict=True):
            if result["op"] == "REJECTED":
                code = str(result.get("reason_code"))
                reason = result.get("reason") or "the service does not store this note"
                self._report.reject(Rejection(line.number, None, code, reason))
            else:
                self._report.count(result["op"])

    def _refused(self, batch: Batch, reply: Reply) -> list[Batch]:
        """Report the lines that made the service refuse a whole request; return what is to be sent again."""
        fields = [str(field) for field in reply.body.get("fields") or ()]
        at_fault = _fields_by_line(fields, batch.lines)
        if at_fault:
            faulty = [line for line in batch.lines if line.number in at_fault]
            self._reject(((line, ", ".join(at_fault[line.number]) or None) for line in faulty), reply)
            sound = [line for line in batch.lines if line.number not in at_fault]
            return [Batch(batch.context, sound)] if sound else []
        if fields or len(batch.lines) == 1:
            # A field that all lines share, such as tenant_id; or the line is alone, so it is the one.
            shared = ", ".join(field.removeprefix("$.") for field in fields) or None
            self._reject(((line, shared) for line in batch.lines), reply)
            return []
        middle = len(batch.lines) // 2
        return [Batch(batch.context, batch.lines[:middle]), Batch(batch.context, batch.lines[middle:])]

    def _reject(self, lines: Iterable[tuple[Line, str | None]], reply: Reply) -> None:
        code = str(reply.body.get("error_code", f"HTTP {reply.status}"))
        # A position within the request says nothing to someone who looks at a file.
        reason = _NOTE_PATH.sub("", str(reply.body.get("message", "no message")))
        for line, field in lines:
            self._report.reject(Rejection(line.number, field, code, reason))


def _fields_by_line(fields: list[str], lines: list[Line]) -> dict[int, list[str]]:
    """Map the numbers of the lines that fields such as `$.notes[3].importance` lie in to those fields."""
    found: dict[int, list[str]] = {}
    for field in fields:
        match = _NOTE_FIELD.fullmatch(field)
        if match and int(match[1]) < len(lines):
            found.setdefault(lines[int(match[1])].number, []).append(match[2])
    return found
