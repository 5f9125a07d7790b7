"""What the service answers of the text files of a user, as frozen structs. Times are aware datetimes.

Fields that a newer service adds are passed over.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class ViewedFile(Struct, frozen=True, kw_only=True):
    """What the memory tool shows of a file or a folder; a folder has no version."""

    text: str
    version: int | None


class WrittenFile(Struct, frozen=True, kw_only=True):
    """What became of a file. `redacted`: a credential was blanked in what was to be kept."""

    text: str
    version: int
    size_bytes: int
    redacted: bool


class MovedFiles(Struct, frozen=True, kw_only=True):
    """How many files went, or went elsewhere."""

    text: str
    files: int


class FileListed(Struct, frozen=True, kw_only=True):
    """A file, without its text."""

    path: str
    version: int
    size_bytes: int
    created_at: datetime
    updated_at: datetime


class FileText(Struct, frozen=True, kw_only=True):
    """What a file says, or said."""

    path: str
    text: str
    version: int
    size_bytes: int
    written_at: datetime


class FileVersion(Struct, frozen=True, kw_only=True):
    """A version that can be read."""

    version: int
    size_bytes: int
    written_at: datetime


class FileVersions(Struct, frozen=True, kw_only=True):
    items: list[FileVersion]


class FoundLine(Struct, frozen=True, kw_only=True):
    number: int
    text: str


class FoundFile(Struct, frozen=True, kw_only=True):
    """A file with some of the words, how many of them, and the lines with most of them."""

    path: str
    version: int
    size_bytes: int
    updated_at: datetime
    words: int
    lines: list[FoundLine]


class FoundFiles(Struct, frozen=True, kw_only=True):
    items: list[FoundFile]
