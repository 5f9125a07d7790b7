"""`elf FAMILY export` and `elf FAMILY import`: what a family keeps as a file, a JSON object a line."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

import anyio

from elf.cli.client import Reply, Service
from elf.cli.commands import EXIT_CODES, Commands
from elf.cli.exporting import STDOUT, output_file
from elf.cli.flags import context as add_context
from elf.cli.flags import json_flag
from elf.cli.notes import configured, context
from elf.cli.outcome import ExitCode, Refused, Unreachable, UsageError
from elf.cli.progress import Show, progress
from elf.cli.text import print_json
from elf.client.call import Call, Stream
from elf.client.family import FamilyClient, methods_of
from elf.config import Config

LINES_AT_ONCE: Final = 500
BYTES_AT_ONCE: Final = 2 * 1024 * 1024
STDIN: Final = Path("-")
AGAIN: Final = "import the file again, what is there already stays as it is"
_PLACE: Final = re.compile(r"items\[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Both commands of a family, whose client has the methods `export` and `take_in`.

    `what` is exported, and imported for `whom`; `not_carried` says what is not among it. `context` are the flags of the
    context, and `flags` arguments of both methods by name, with their help, `export_flags` those of `export` alone.
    """

    client: type[FamilyClient[Any]]
    what: str
    whom: str
    not_carried: str
    context: Sequence[str]
    flags: Mapping[str, str] = field(default_factory=dict)
    export_flags: Mapping[str, str] = field(default_factory=dict)

    def add(self, commands: Commands) -> None:
        """Add both commands."""
        exports = commands.add("export", self.export, f"write {self.what} to a file, one JSON object a line")
        exports.epilog = f"`elf {self.client.name} import` takes it in; {self.not_carried}. {EXIT_CODES}"
        exports.add_argument(
            "file",
            type=Path,
            nargs="?",
            default=STDOUT,
            metavar="FILE.jsonl",
            help="(default: standard output)",
        )
        imports = commands.add("import", self.import_, f"take in what was exported, {self.whom}")
        imports.epilog = f"Stopped midway, {AGAIN}. {EXIT_CODES}"
        imports.add_argument("file", type=Path, metavar="FILE.jsonl", help="- reads standard input")
        json_flag(imports)
        for command in (exports, imports):
            for name, about in self._flags(is_export=command is exports).items():
                command.add_argument(f"--{name.replace('_', '-')}", metavar="ID", help=about)
            add_context(command, self.context)

    def export(self, options: argparse.Namespace) -> int:
        """Write the lines as they come, to a file or to standard output."""
        config = configured(options)
        with output_file(options.file) as file, progress("exporting", unit="lines") as show:
            count = anyio.run(self._export, config, options, file, show)
        print(f"elf: {count} lines exported; {self.not_carried}", file=sys.stderr)
        return ExitCode.DONE

    def import_(self, options: argparse.Namespace) -> int:
        """Send the lines of a file, some at a time."""
        config = configured(options)
        with _input_file(options.file) as file, progress("importing", unit="lines") as show:
            try:
                counts = anyio.run(self._import, config, options, file, show)
            except Unreachable as error:
                raise Unreachable(f"{error}; {AGAIN}") from error
        if options.json:
            print_json(counts)
        else:
            new, known = counts.pop("new"), counts.pop("known")
            more = "".join(f", {count} {name}" for name, count in counts.items() if count)
            print(f"{new} lines were new, {known} were known{more}")
        return ExitCode.DONE

    async def _export(
        self, config: Config, options: argparse.Namespace, file: TextIO, show: Show | None
    ) -> int:
        count = 0
        async with Service(config, options, admin=True) as service:
            stream: Stream[Any] = self._build("export", service, options)
            async with service.follow(Stream(replace(stream.call, read=bytes))) as lines:
                async for line in lines:
                    file.write(f"{line.decode()}\n")
                    count += 1
                    if show is not None and count % LINES_AT_ONCE == 0:
                        show(count, 0)
        return count

    async def _import(
        self, config: Config, options: argparse.Namespace, file: BinaryIO, show: Show | None
    ) -> dict[str, int]:
        counts: Counter[str] = Counter()
        sent = 0
        async with Service(config, options, admin=True) as service:
            for batch in _batches(file):
                call: Call[Any] = self._build("take_in", service, options, batch.lines)
                body = dict(_checked(await service.ask_any(call), batch).body)
                rejected = body.pop("rejected", [])
                for one in rejected:
                    print(f"line {batch.numbers[one['place']]}: {one['reason_code']}", file=sys.stderr)
                counts.update(body, rejected=len(rejected))
                sent += len(batch.lines)
                if show is not None:
                    show(sent, 0)
        return {
            "new": 0,
            "known": 0,
            **{name: count for name, count in counts.items() if name != "rejected" or count},
        }

    def _build(self, name: str, service: Service, options: argparse.Namespace, *arguments: object) -> Any:
        family = self.client(service.client.within(**context(options)))
        flags = self._flags(is_export=name == "export")
        given = {one: getattr(options, one) for one in flags}
        return methods_of(self.client)[name].build(family, *arguments, **given)

    def _flags(self, *, is_export: bool) -> Mapping[str, str]:
        return {**self.flags, **(self.export_flags if is_export else {})}


@dataclass(slots=True)
class _Batch:
    """Lines that are sent together, and their numbers in the file."""

    lines: list[Any] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    size: int = 0

    def has_room(self, size: int) -> bool:
        """Tell whether one more line of this size may be sent with the others."""
        return not self.lines or (len(self.lines) < LINES_AT_ONCE and self.size + size <= BYTES_AT_ONCE)


def _batches(file: BinaryIO) -> Iterator[_Batch]:
    batch = _Batch()
    for number, line in enumerate(file, start=1):
        if line.isspace():
            continue
        if not batch.has_room(len(line)):
            yield batch
            batch = _Batch()
        batch.lines.append(_read(line, number))
        batch.numbers.append(number)
        batch.size += len(line)
    if batch.lines:
        yield batch


def _read(line: bytes, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError:  # what is no UTF-8, too
        raise Refused(f"line {number}: is no JSON") from None


def _checked(reply: Reply, batch: _Batch) -> Reply:
    """Return a reply that is good. Raises Refused, by the number of the line at fault, and Unreachable."""
    try:
        return reply.check()
    except Refused as error:
        told = str(error)
        found = _PLACE.search(told)
        if found is None:
            raise
        raise Refused(f"line {batch.numbers[int(found[1])]}: {_PLACE.sub('line', told)}") from None


@contextmanager
def _input_file(path: Path) -> Iterator[BinaryIO]:
    if path == STDIN:
        yield sys.stdin.buffer
        return
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
