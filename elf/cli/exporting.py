"""`elf export`: the notes of a context as lines that `elf import` takes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

import anyio

from elf.cli.client import Service
from elf.cli.notes import calls, configured
from elf.cli.outcome import ExitCode, UsageError
from elf.cli.progress import Show, progress
from elf.client.call import Listing
from elf.client.calls import Calls
from elf.client.results import Note
from elf.config import Config
from elf.core.scopes import AGENT_PRIVATE

PAGE = 200
STDOUT = Path("-")
KEPT = (
    "tenant_id", "project_id", "agent_id", "scope", "type", "key", "text", "importance", "confidence", "expires_at",
    "source_ref",
)  # fmt: skip
NOT_CARRIED = (
    "the file holds every active note that this agent may read, but no ids, moments of writing, versions, hits or "
    "deleted notes, and no private notes of other agents"
)


def run(options: argparse.Namespace) -> int:
    """Write the notes page by page, to a file or to standard output; or all that all families keep."""
    if options.all or options.user is not None:
        from elf.cli.families.memories import TRANSFER  # which writes files as this does

        options.user_id, options.agent_id = options.user, options.agent
        return TRANSFER.export(options)
    config = configured(options)
    with output_file(options.file) as file, progress("exporting", unit="notes") as show:
        count = anyio.run(_export, Service(config, options), _lists(config, calls(options)), file, show)
    print(f"elf: {count} notes exported; {NOT_CARRIED}", file=sys.stderr)
    return ExitCode.DONE


def _lists(config: Config, within: Calls) -> list[Listing[Note]]:
    shared = within.list_notes(limit=PAGE)
    private = within.list_notes(scope=AGENT_PRIVATE, limit=PAGE)
    return [shared, private] if AGENT_PRIVATE in config.scopes.allowed else [shared]


@contextmanager
def output_file(path: Path) -> Iterator[TextIO]:
    """Open a file to be written; it is there only once it is whole."""
    if path == STDOUT:
        yield sys.stdout
        return
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            yield file
        os.replace(unfinished, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


async def _export(service: Service, lists: Sequence[Listing[Note]], file: TextIO, show: Show | None) -> int:
    count = 0
    async with service:
        for listing in lists:
            async for note in every_note(service, listing):
                file.write(json.dumps({name: note[name] for name in KEPT}) + "\n")
                count += 1
                if show is not None and count % PAGE == 0:
                    show(count, 0)
    return count


async def every_note(service: Service, listing: Listing[Note]) -> AsyncIterator[dict[str, Any]]:
    """Yield each note of a listing once, newest first.

    A note that is changed while the pages are read moves to the front, away from the pages that come. So the front is
    read again, as far as it was known, until nothing new is there.
    """
    seen: set[str] = set()
    known: datetime | None = None
    while True:
        newest, found = known, False
        async for note in _newer(service, listing, known):
            newest = max(newest or _changed(note), _changed(note))
            if note["note_id"] not in seen:
                seen.add(note["note_id"])
                found = True
                yield note
        if not found:
            return
        known = newest


async def _newer(
    service: Service, listing: Listing[Note], known: datetime | None
) -> AsyncIterator[dict[str, Any]]:
    cursor: str | None = None
    while True:
        body = (await service.ask(listing.at(cursor))).check().body
        for note in body["items"]:
            if known is not None and _changed(note) < known:
                return
            yield note
        cursor = body["next_cursor"]
        if cursor is None:
            return


def _changed(note: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(note["updated_at"])
