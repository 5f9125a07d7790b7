"""Deletes files and folders, and has them be elsewhere: all of a folder, or nothing."""

from __future__ import annotations

from functools import partial

from elf.api.caller import Caller
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.assistant.api import file_answers as r
from elf.families.assistant.api import files as a
from elf.families.assistant.files import faults
from elf.families.assistant.files.standing import what_stands_at
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Place
from elf.families.assistant.rules.file_paths import MAX_PATH_BYTES, FilePath, file_path


class FileMoving:
    """Carries out the commands by which files go. Nobody else adds or moves a file of the user meanwhile."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def delete(self, request: a.DeleteFile, caller: Caller) -> r.MovedFiles:
        """Delete a file or a folder with all versions. Raises NotFound, Conflict for the root or another version."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        path = file_path(request.path)
        if path.is_root:
            raise faults.is_root("delete")
        gone = await retrying(partial(self._delete, place, path, request.expected_version))
        return r.MovedFiles(text=f"Successfully deleted {path.given}", files=gone)

    async def rename(self, request: a.RenameFile, caller: Caller) -> r.MovedFiles:
        """Move a file or a folder to where nothing is. Raises NotFound and Conflict."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        old, new = file_path(request.old_path, "$.old_path"), file_path(request.new_path, "$.new_path")
        if old.is_root:
            raise faults.is_root("rename", "$.old_path")
        moved = await retrying(partial(self._rename, place, old, new))
        return r.MovedFiles(text=f"Successfully renamed {old.given} to {new.given}", files=moved)

    async def _delete(self, place: Place, path: FilePath, expected: int | None) -> int:
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_files"], *place)
            if expected is not None:
                await self._check(connection, place, path, expected)
            gone: int = await connection.fetchval(self._sql["delete_files"], *place, path.kept)
            if not gone:
                raise faults.nothing_there(path)
            return gone

    async def _check(self, connection: Connection, place: Place, path: FilePath, expected: int) -> None:
        """Raise Conflict when the file has another version, or is a folder, which has none."""
        row = await connection.fetchrow(self._sql["lock_file"], *place, path.kept)
        if row is not None and row["version"] != expected:
            raise faults.another_version(path, row["version"], expected)
        if row is None and await what_stands_at(connection, self._sql, place, path) == "folder":
            raise faults.not_a_file(path)

    async def _rename(self, place: Place, old: FilePath, new: FilePath) -> int:
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_files"], *place)
            if await what_stands_at(connection, self._sql, place, new) is not None:
                raise faults.destination_is_there(new)
            files, longest = await self._measured(connection, place, old)
            if not files:
                raise faults.nothing_there(old, "$.old_path")
            if new.is_below(old):
                raise faults.into_itself(old, new)
            above = await connection.fetchval(self._sql["file_among"], *place, new.above)
            if above is not None:
                raise faults.not_a_folder(above, "$.new_path")
            if longest - len(old.kept.encode()) + len(new.kept.encode()) > MAX_PATH_BYTES:
                raise faults.too_deep(new, MAX_PATH_BYTES)
            await connection.execute(self._sql["move_files"], *place, old.kept, new.kept)
            return files

    async def _measured(self, connection: Connection, place: Place, path: FilePath) -> tuple[int, int]:
        """Return how many files are at a path or below it, and how long the longest of their paths is."""
        row = await connection.fetchrow(self._sql["measure_files"], *place, path.kept)
        assert row is not None, "it always counts"
        return row["files"], row["longest"] or 0
