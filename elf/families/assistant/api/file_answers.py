"""What is answered about text files of a user."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from elf.api.bodies import Response
from elf.families.assistant.api import fields as f

Version = Annotated[
    int, Field(ge=1, description="1 for the first text of a file, and one more at each change.")
]
Size = Annotated[int, Field(ge=0, description="How many bytes the text has in UTF-8.")]
Told = Annotated[str, Field(description="What the memory tool answers.")]


class ViewedFile(Response):
    """What is seen of a file or a folder."""

    text: Told
    version: Annotated[int | None, Field(description="The version of the file; null for a folder.")]


class WrittenFile(Response):
    """What became of a file."""

    text: Told
    version: Version
    size_bytes: Size
    redacted: Annotated[bool, Field(description="Whether a credential was blanked in what was to be kept.")]


class MovedFiles(Response):
    """What became of a file or a folder that went, or went elsewhere."""

    text: Told
    files: Annotated[int, Field(description="How many files that were.")]


class FileListed(Response):
    """A file, without its text."""

    path: str
    version: Version
    size_bytes: Size
    created_at: f.Moment
    updated_at: f.Moment


class FilesListed(Response):
    items: list[FileListed]
    next_cursor: f.NextCursor


class FileText(Response):
    """What a file says, or said."""

    path: str
    text: str
    version: Version
    size_bytes: Size
    written_at: f.Moment


class FileVersion(Response):
    """A version that can be read."""

    version: Version
    size_bytes: Size
    written_at: f.Moment


class FileVersions(Response):
    items: list[FileVersion]


class FoundLine(Response):
    number: int = Field(description="Which line of the file, from 1.")
    text: str


class FoundFile(Response):
    """A file that holds some of the words, and the lines with most of them."""

    path: str
    version: Version
    size_bytes: Size
    updated_at: f.Moment
    words: int = Field(description="How many of the words it holds.")
    lines: list[FoundLine]


class FoundFiles(Response):
    items: list[FoundFile]
