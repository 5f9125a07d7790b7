"""Reads files: as the memory tool shows them, as they are and were, and by the words in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from elf.api.caller import Caller
from elf.api.cursor import sealed, unsealed
from elf.core.errors import InvalidRequest
from elf.core.slices import Slices, elsewhere, read_in_slices
from elf.families.assistant.api import file_answers as r
from elf.families.assistant.api import files as a
from elf.families.assistant.api.fields import OfUser
from elf.families.assistant.files import faults
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Place
from elf.families.assistant.rules.file_lines import best_lines
from elf.families.assistant.rules.file_paths import FilePath, file_path
from elf.families.assistant.rules.file_texts import file_told, folder_told
from elf.families.assistant.rules.query_words import query_words


class FileReading:
    """Carries out what reads files and changes nothing."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def view(self, request: a.ViewFile, caller: Caller) -> r.ViewedFile:
        """Show a file or a folder. Raises NotFound; the root is always there."""
        place, path = self._at(request, request.path, caller)
        async with self._kit.database.connection() as connection:
            file = await connection.fetchrow(self._sql["get_file"], *place, path.kept)
            if file is not None:
                telling = elsewhere(partial(file_told, path, file["text"], request.view_range))
                text = await read_in_slices(telling, file["size_bytes"])
                return r.ViewedFile(text=text, version=file["version"])
            rows = await connection.fetch(self._sql["look_into_folder"], *place, path.kept)
        if not rows and not path.is_root:
            raise faults.nothing_to_see(path)
        return r.ViewedFile(text=folder_told(path, rows), version=None)

    async def page(self, request: a.ListFiles, caller: Caller) -> r.FilesListed:
        """List files by their paths."""
        place, path = self._at(request, request.path, caller)
        listing = ("assistant_files", *place, path.kept)
        behind = "" if request.cursor is None else _place_in(request.cursor, listing)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["list_files"], *place, path.kept, behind, request.limit + 1
            )
        shown = rows[: request.limit]
        cursor = sealed(shown[-1]["path"], *listing) if len(rows) > request.limit else None
        return r.FilesListed(items=[r.FileListed(**row) for row in shown], next_cursor=cursor)

    async def read(self, request: a.ReadFile, caller: Caller) -> r.FileText:
        """Read what a file says, or said in a version that is kept. Raises NotFound, and Conflict for a folder."""
        place, path = self._at(request, request.path, caller)
        async with self._kit.database.connection() as connection:
            file = await connection.fetchrow(self._sql["get_file"], *place, path.kept)
            if file is None:
                raise faults.nothing_to_see(path)
            if request.version in (None, file["version"]):
                return _text(path, file, file["updated_at"])
            old = await connection.fetchrow(self._sql["get_file_version"], *place, path.kept, request.version)
        if old is None:
            raise faults.no_version(path, request.version or 0)
        return _text(path, old, old["written_at"])

    async def versions(self, request: a.OneFile, caller: Caller) -> r.FileVersions:
        """List the versions of a file that can be read, newest first. Raises NotFound."""
        place, path = self._at(request, request.path, caller)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["list_file_versions"], *place, path.kept)
        if not rows:
            raise faults.nothing_to_see(path)
        return r.FileVersions(items=[r.FileVersion(**row) for row in rows])

    async def search(self, request: a.SearchFiles, caller: Caller) -> r.FoundFiles:
        """Find files that hold some of the words."""
        place, path = self._at(request, request.path, caller)
        words = query_words(request.query)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(self._sql["search_files"], *place, path.kept, words, request.limit)
        size = sum(row["size_bytes"] for row in rows)
        return r.FoundFiles(items=await read_in_slices(_finding(rows, words), size))

    def _at(self, request: OfUser, given: str, caller: Caller) -> tuple[Place, FilePath]:
        return self._kit.access.place(request.tenant_id, request.user_id, caller), file_path(given)


def _place_in(cursor: str, listing: Sequence[str]) -> str:
    try:
        return unsealed(cursor, *listing)
    except ValueError as error:
        raise InvalidRequest(
            "the cursor is not one that this listing returned in this context", fields=["$.cursor"]
        ) from error


def _text(path: FilePath, row: Mapping[str, Any], written_at: Any) -> r.FileText:
    return r.FileText(
        path=path.kept, text=row["text"], version=row["version"], size_bytes=row["size_bytes"],
        written_at=written_at,
    )  # fmt: skip


def _finding(rows: Sequence[Mapping[str, Any]], words: Sequence[str]) -> Slices[list[r.FoundFile]]:
    """Return the files that were found, with the lines to be shown; each is looked through in a thread."""
    found = []
    for row in rows:
        lines = yield from elsewhere(partial(best_lines, row["text"], words))
        found.append(
            r.FoundFile(
                path=row["path"], version=row["version"], size_bytes=row["size_bytes"], updated_at=row["updated_at"],
                words=row["words"], lines=[r.FoundLine(number=one.number, text=one.text) for one in lines],
            )
        )  # fmt: skip
    return found
