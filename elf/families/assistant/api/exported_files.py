"""Text files as they are exported, and what they said before."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from elf.api.bodies import WHOLE, Request
from elf.config.tables.assistant import LARGEST_FILE
from elf.core.errors import InvalidRequest
from elf.families.assistant.api import fields as f
from elf.families.assistant.rules.file_paths import MAX_PATH_BYTES, file_path

Number = Annotated[int, Field(ge=1, le=2**31 - 1), WHOLE]


def _kept_path(path: str) -> str:
    try:
        return file_path(path).kept
    except InvalidRequest as error:
        raise ValueError("should be a path below /memories") from error


class ExportedFile(Request):
    """A text file."""

    file_id: UUID
    path: Annotated[str, Field(max_length=MAX_PATH_BYTES), AfterValidator(_kept_path)]
    version: Number
    text: Annotated[str, Field(max_length=LARGEST_FILE)]
    created_at: f.MomentGiven
    updated_at: f.MomentGiven


class ExportedFileVersion(Request):
    """What a file said before."""

    file_id: UUID
    version: Number
    text: Annotated[str, Field(max_length=LARGEST_FILE)]
    written_at: f.MomentGiven
