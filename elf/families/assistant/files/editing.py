"""Writes files: each change under a lock, so that none is lost in another, and what was said before is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from elf.api.caller import Caller
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.assistant.api import file_answers as r
from elf.families.assistant.api import files as a
from elf.families.assistant.api.fields import OfUser
from elf.families.assistant.files import faults
from elf.families.assistant.files.standing import what_stands_at
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.given import Given
from elf.families.assistant.model import Place
from elf.families.assistant.rules.file_paths import FilePath, file_path
from elf.families.assistant.rules.file_texts import inserted, replaced, snippet_told

Edit = Callable[[str], str]
"""Makes of what a file says what it is to say. Raises Conflict where that cannot be."""


class Written(NamedTuple):
    """What a file says after a change."""

    text: str
    version: int
    size_bytes: int
    redacted: bool


class FileEditing:
    """Carries out the commands that write a file. No text of it stands in an error but what the request has."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._given = Given(kit)
        self._bounds = kit.config.files

    async def create(self, request: a.CreateFile, caller: Caller) -> r.WrittenFile:
        """Add a file. Raises Conflict where something is, or a file is in the way, or there are too many."""
        place, path = self._whose(request, caller), file_path(request.path)
        text = await self._kept(path, request.file_text, "$.file_text")
        await retrying(partial(self._create, place, path, text))
        size = len(text.encode())
        return r.WrittenFile(
            text=f"File created successfully at: {path.given}", version=1, size_bytes=size,
            redacted=text != request.file_text,
        )  # fmt: skip

    async def str_replace(self, request: a.ReplaceInFile, caller: Caller) -> r.WrittenFile:
        """Replace a part of a file that is there once. Raises NotFound, and Conflict where it is not, or a folder."""
        path = file_path(request.path)
        line = 0

        def edit(text: str) -> str:
            nonlocal line
            changed = replaced(path, text, request.old_str, request.new_str)
            line = changed.line
            return changed.text

        written = await self._edit(request, caller, edit, "$.new_str")
        return _told(snippet_told(written.text, line), written)

    async def insert(self, request: a.InsertIntoFile, caller: Caller) -> r.WrittenFile:
        """Put lines behind a line of a file. Raises NotFound, and Conflict where there is no such line, or a folder."""

        def edit(text: str) -> str:
            return inserted(text, request.insert_line, request.insert_text)

        written = await self._edit(request, caller, edit, "$.insert_text")
        return _told(f"The file {file_path(request.path).given} has been edited.", written)

    def _whose(self, request: OfUser, caller: Caller) -> Place:
        return self._kit.access.place(request.tenant_id, request.user_id, caller)

    async def _kept(self, path: FilePath, text: str, field: str) -> str:
        """Return a text as it may be kept. Raises PayloadTooLarge."""
        kept = await self._given.quote(text)
        if (size := len(kept.encode())) > self._bounds.max_bytes:
            raise faults.too_large(path, size, self._bounds.max_bytes, field)
        return kept

    async def _create(self, place: Place, path: FilePath, text: str) -> None:
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_files"], *place)
            if await what_stands_at(connection, self._sql, place, path) is not None:
                raise faults.is_there(path)
            above = await connection.fetchval(self._sql["file_among"], *place, path.above)
            if above is not None:
                raise faults.not_a_folder(above)
            if await connection.fetchval(self._sql["count_files"], *place) >= self._bounds.max_files:
                raise faults.too_many(self._bounds.max_files)
            now = self._kit.now()
            await connection.execute(self._sql["insert_file"], *place, path.kept, uuid4(), 1, text, now, now)

    async def _edit(
        self, request: a.ReplaceInFile | a.InsertIntoFile, caller: Caller, edit: Edit, field: str
    ) -> Written:
        place, path = self._whose(request, caller), file_path(request.path)

        async def once() -> Written:
            async with self._locked(place, path, request.expected_version) as (connection, row):
                wanted = edit(row["text"])
                text = await self._kept(path, wanted, field)
                if text == row["text"]:
                    return Written(text, row["version"], row["size_bytes"], text != wanted)
                new = await connection.fetchrow(
                    self._sql["update_file"],
                    *place,
                    path.kept,
                    text,
                    self._kit.now(),
                    self._bounds.max_versions,
                )
                assert new is not None, "it is locked"
                return Written(text, new["version"], new["size_bytes"], text != wanted)

        return await retrying(once)

    @asynccontextmanager
    async def _locked(
        self, place: Place, path: FilePath, expected: int | None
    ) -> AsyncIterator[tuple[Connection, Any]]:
        """Hold a file of this version for the block. Raises NotFound, or Conflict for a folder or another version."""
        async with self._kit.database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_file"], *place, path.kept)
            if row is None:
                if await what_stands_at(connection, self._sql, place, path) == "folder":
                    raise faults.not_a_file(path)
                raise faults.nothing_to_see(path)
            if expected is not None and row["version"] != expected:
                raise faults.another_version(path, row["version"], expected)
            yield connection, row


def _told(text: str, written: Written) -> r.WrittenFile:
    return r.WrittenFile(
        text=text, version=written.version, size_bytes=written.size_bytes, redacted=written.redacted
    )
