"""The command: opens the files, runs one writer a lane, and says what became of the lines."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from elf.cli.client import Service
from elf.cli.families.memories import TRANSFER
from elf.cli.importing.lanes import Batch, Lanes
from elf.cli.importing.lines import MAX_LINE_BYTES, Context, Line, Rejection, read_lines
from elf.cli.importing.report import Report
from elf.cli.importing.writer import BatchWriter
from elf.cli.notes import calls, configured
from elf.cli.outcome import ExitCode, Refused, Unreachable, UsageError
from elf.cli.progress import bar_column
from elf.cli.terminal import error_terminal
from elf.cli.text import plain, print_json
from elf.client import Retries
from elf.client.call import get

LANES = 4
FAMILY_LINE = re.compile(rb'\s*\{\s*"family"\s*:\s*"[a-z0-9_]+"\s*,\s*"item"\s*:')
AGAIN = "import the file again, lines already stored stay as they are"

Advance = Callable[[int], None]


def run(options: argparse.Namespace) -> int:
    """Import a file; the exit code says whether every line was stored."""
    if _is_of_all_families(options.file):
        return TRANSFER.import_(options)
    config = configured(options)
    within, scope = calls(options), options.scope or config.default_scope
    where = Context(within.tenant_id, within.project_id, within.agent_id, scope)
    defaults = {"type": options.type, "importance": options.importance, "confidence": options.confidence}
    failure: Unreachable | Refused | None = None
    with ExitStack() as stack:
        source: BinaryIO = stack.enter_context(_opened(options.file))
        report = Report(stack.enter_context(_opened_for_errors(options)) if options.errors else None)
        advance = stack.enter_context(_progress(options.file, report))
        importer = Importer(Service(config, options), report, patience_s=options.patience)
        try:
            anyio.run(importer.run, read_lines(source, where, defaults), advance)
        except (Unreachable, Refused) as error:
            failure = error
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"{report.summary()}; {AGAIN}") from None
    _tell(report, failure, as_json=options.json)
    if failure:
        raise failure
    return ExitCode.REJECTED if report.rejected else ExitCode.DONE


def _is_of_all_families(path: Path) -> bool:
    """Tell whether the first line of a file names a family, and what that keeps."""
    with _opened(path) as source:
        if not source.seekable():
            return False
        first = next(
            (line for line in iter(lambda: source.readline(MAX_LINE_BYTES), b"") if line.strip()), b""
        )
    return FAMILY_LINE.match(first) is not None


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be opened: {error.strerror}") from error


def _opened_for_errors(options: argparse.Namespace) -> TextIO:
    try:
        if options.errors.exists() and options.errors.samefile(options.file):
            raise UsageError("--errors names the file that is imported")
        errors: TextIO = options.errors.open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{options.errors} cannot be written: {error.strerror}") from error
    return errors


@contextmanager
def _progress(path: Path, report: Report) -> Iterator[Advance]:
    """Show a bar of the bytes that are done with, and how many lines that is, on a terminal only."""
    if (console := error_terminal()) is None:
        yield lambda _: None
        return
    from rich.progress import Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    lines = TextColumn("{task.fields[lines]:,} lines")
    columns = (
        TextColumn("{task.description}"), bar_column(), TaskProgressColumn(), lines, TimeRemainingColumn()
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(plain(path.name), total=path.stat().st_size, lines=0)
        yield lambda size: progress.update(task, advance=size, lines=report.done)


def _tell(report: Report, failure: Unreachable | Refused | None, *, as_json: bool) -> None:
    if as_json:
        print_json(report.as_json(finished=failure is None))
        return
    report.print_rejections()
    print(report.summary())
    if failure:
        print(f"elf: stopped before the end; {AGAIN}", file=sys.stderr)


class Importer:
    """Reads lines, sorts them into lanes and writes the lanes at the same time."""

    def __init__(self, service: Service, report: Report, *, patience_s: float) -> None:
        self._service = service
        self._report = report
        self._retries = Retries(patience_s=max(patience_s, 0.0))
        self._writer = BatchWriter(service, report, retries=self._retries)
        self._failure: Unreachable | Refused | None = None

    async def run(self, lines: Iterator[tuple[int, Line | Rejection | None]], advance: Advance) -> None:
        """Write all lines. Raises Unreachable when the service stays away for longer than the patience.

        `advance` is told of bytes that are done with: those of a note when it was written.
        """
        async with self._service:
            await self._wait_for_service()
            async with anyio.create_task_group() as group:
                lanes = []
                for _ in range(LANES):
                    sender, receiver = anyio.create_memory_object_stream[Batch](1)
                    lanes.append(sender)
                    group.start_soon(self._write_lane, receiver, advance, group.cancel_scope)
                await self._read(lines, lanes, advance)
        if self._failure:
            raise self._failure

    async def _wait_for_service(self) -> None:
        probe = get("/health", {}, bytes)
        try:
            await self._service.ask(probe)
        except Unreachable as error:
            if not self._retries.patience_s:
                raise
            print(f"elf: {error}; waiting up to {self._retries.patience_s:g} s for it", file=sys.stderr)
            await self._service.ask(probe, retries=self._retries)

    async def _read(
        self,
        lines: Iterator[tuple[int, Line | Rejection | None]],
        senders: list[MemoryObjectSendStream[Batch]],
        advance: Advance,
    ) -> None:
        lanes = Lanes(len(senders))
        with ExitStack() as stack:
            for sender in senders:
                stack.enter_context(sender)
            for size, line in lines:
                match line:
                    case Line():
                        self._report.lines += 1
                        for lane, batch in lanes.add(line):
                            await senders[lane].send(batch)
                    case Rejection():
                        self._report.lines += 1
                        self._report.reject(line)
                        advance(size)
                    case None:
                        advance(size)
            for lane, batch in lanes.rest():
                await senders[lane].send(batch)

    async def _write_lane(
        self,
        receiver: MemoryObjectReceiveStream[Batch],
        advance: Advance,
        everything: anyio.CancelScope,
    ) -> None:
        with receiver:
            try:
                async for batch in receiver:
                    await self._writer.write(batch)
                    advance(sum(line.size for line in batch.lines))
            except (Unreachable, Refused) as error:
                # Kept aside instead of raised, so that it leaves the task group as itself and not as a group.
                self._failure = self._failure or error
                everything.cancel()
