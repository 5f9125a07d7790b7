"""Takes in files that were exported, by the rules of every file that is written."""

from __future__ import annotations

from functools import partial
from typing import Literal

from elf.db.errors import retrying
from elf.families.assistant.api.exported_files import ExportedFile
from elf.families.assistant.files.standing import what_stands_at
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.given import Given
from elf.families.assistant.model import Place
from elf.families.assistant.rules.file_paths import file_path

Became = Literal["new", "known", "left"]


class FileIntake:
    """Adds files; what they said before stays behind."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._given = Given(kit)

    async def take_in(self, place: Place, told: ExportedFile) -> Became:
        """Add a file, unless something is there (known), or a file is where a folder would have to be (left)."""
        text = await self._given.quote(told.text)
        return await retrying(partial(self._add, place, told, text))

    async def _add(self, place: Place, told: ExportedFile, text: str) -> Became:
        path = file_path(told.path)
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_files"], *place)
            if await what_stands_at(connection, self._sql, place, path) is not None:
                return "known"
            if await connection.fetchval(self._sql["file_among"], *place, path.above) is not None:
                return "left"
            added = await connection.fetchval(
                self._sql["insert_file"], *place, path.kept, told.file_id, told.version, text, told.created_at,
                told.updated_at,
            )  # fmt: skip
        return "known" if added is None else "new"
