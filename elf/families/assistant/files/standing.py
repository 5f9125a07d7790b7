"""What stands at a path of a user: a file, a folder, or nothing."""

from __future__ import annotations

from typing import Literal

from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.assistant.model import Place
from elf.families.assistant.rules.file_paths import FilePath


async def what_stands_at(
    connection: Connection, sql: Queries, place: Place, path: FilePath
) -> Literal["file", "folder"] | None:
    """Return what there is; the root is a folder without any file, too."""
    if path.is_root:
        return "folder"
    row = await connection.fetchrow(sql["what_stands_at"], *place, path.kept)
    assert row is not None, "it always tells"
    if row["is_file"]:
        return "file"
    return "folder" if row["is_folder"] else None
