"""Text files of a user, for the memory tool of Claude: requests and operations.

A refusal says in the words of the tool what was wrong.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field
from pydantic.config import JsonDict

from elf.api.bodies import WHOLE, Request, Response
from elf.api.bound import Bound
from elf.api.operation import Operation
from elf.config.tables.assistant import Files
from elf.core.blank_text import NOT_BLANK
from elf.core.errors import Conflict, NotFound, PayloadTooLarge, ScopeDenied, ServiceError
from elf.families.assistant.api import fields as f
from elf.families.assistant.api import file_answers as r
from elf.families.assistant.rules.file_paths import MAX_PATH_BYTES

TAG: Final = "assistant: files"
PATH: Final = "/v1/assistant/files"
STANDARD: Final = Files()
"""The bounds of a config that says nothing else."""
MAX_FOUND: Final = 50
MAX_QUERY_CHARS: Final = 1024
LARGEST: Final = 2**31 - 1

_RULES: Final = "/memories or below: no .., no empty part, at most 1024 bytes."
# Documents say it; the service has words of its own for it.
_BEGINS: Final[JsonDict] = {"pattern": "^/memories"}
PathGiven = Annotated[
    str,
    Field(max_length=MAX_PATH_BYTES, description=f"The path of a file: {_RULES}", examples=["/memories/notes.md"],
          json_schema_extra=_BEGINS),
]  # fmt: skip
PlaceGiven = Annotated[
    str,
    Field(max_length=MAX_PATH_BYTES, description=f"The path of a file or a folder: {_RULES}",
          examples=["/memories"], json_schema_extra=_BEGINS),
]  # fmt: skip
Piece = Annotated[str, Bound("max_bytes", STANDARD.max_bytes)]
ExpectedVersion = Annotated[
    int,
    Field(ge=1, le=LARGEST, description="Refuse when the file has another version by now."),
    WHOLE,
]


class ViewFile(f.OfUser):
    """A file to be seen with the numbers of its lines, or what is in a folder, two levels deep."""

    path: PlaceGiven
    view_range: (
        Annotated[
            list[Annotated[int, Field(ge=-LARGEST, le=LARGEST), WHOLE]],
            Field(min_length=2, max_length=2, description="The first line and the last, which is -1 for the end.",
                  examples=[[1, 20]]),
        ]
        | None
    ) = None  # fmt: skip


class CreateFile(f.OfUser):
    """A file that is not there yet."""

    path: PathGiven
    file_text: Annotated[Piece, Field(description="What it says.", examples=["Ana prefers tea.\n"])]


class ReplaceInFile(f.OfUser):
    """A part of a file, which has to be there once, and what takes its place."""

    path: PathGiven
    old_str: Annotated[
        Piece, Field(min_length=1, description="What is there, letter for letter.", examples=["tea"])
    ]
    new_str: Annotated[Piece, Field(description="What is to be there.", examples=["green tea"])]
    expected_version: ExpectedVersion | None = None


class InsertIntoFile(f.OfUser):
    """Lines to be put behind a line of a file."""

    path: PathGiven
    insert_line: Annotated[
        int,
        Field(ge=-LARGEST, le=LARGEST, description="Behind which line: 0 is the top.", examples=[0]),
        WHOLE,
    ]
    insert_text: Annotated[Piece, Field(description="The lines.", examples=["Ana lives in Lisbon."])]
    expected_version: ExpectedVersion | None = None


class DeleteFile(f.OfUser):
    """A file, or a folder with all that is in it, to go for good."""

    path: PlaceGiven
    expected_version: ExpectedVersion | None = None


class RenameFile(f.OfUser):
    """A file or a folder that is to be elsewhere, where nothing is yet."""

    old_path: PlaceGiven
    new_path: PlaceGiven


class ListFiles(f.OfUser):
    """Which files: those at a path or below it."""

    path: PlaceGiven = "/memories"
    limit: f.PageSize = 50
    cursor: Annotated[str, Field(max_length=4 * MAX_PATH_BYTES, description="The next_cursor of the page before.")] | (
        None
    ) = None  # fmt: skip


class OneFile(f.OfUser):
    """Which file."""

    path: PathGiven


class ReadFile(OneFile):
    """Which file, as it is or as it was."""

    version: Annotated[int, Field(ge=1, le=LARGEST, description="An older version; left out, the newest.")] | (
        None
    ) = None  # fmt: skip


class SearchFiles(f.OfUser):
    """Which words are looked for, in the files at a path or below it."""

    query: Annotated[
        str, Field(min_length=1, max_length=MAX_QUERY_CHARS, pattern=NOT_BLANK, examples=["green tea"],
                   description="Words, of which a file has to hold one.")
    ]  # fmt: skip
    path: PlaceGiven = "/memories"
    limit: Annotated[int, Field(ge=1, le=MAX_FOUND, description="How many at most, 1 to 50.")] = 10


def body_bytes(max_bytes: int) -> int:
    """Return how large a body may be: with two texts of the largest size, of which JSON escapes each letter."""
    return 2 * 6 * max_bytes + 65_536


def _command(
    name: str, summary: str, request: type[Request], response: type[Response], *errors: type[ServiceError],
    reads: bool = False, writes: bool = False,
) -> Operation:  # fmt: skip
    """Return what the tool has a command for, by the command's name."""
    return Operation(
        f"{name}_assistant_file", "POST", f"{PATH}/{name}", summary, request, response, tag=TAG, text="any",
        reads=reads, errors=(NotFound, Conflict, ScopeDenied, *errors),
        max_body_bytes=body_bytes(STANDARD.max_bytes) if writes else None,
    )  # fmt: skip


def _reading(
    name: str, path: str, summary: str, request: type[Request], response: type[Response],
    *errors: type[ServiceError],
) -> Operation:  # fmt: skip
    return Operation(
        name, "GET", f"{PATH}{path}", summary, request, response, tag=TAG, text="any", errors=(ScopeDenied, *errors)
    )  # fmt: skip


VIEW: Final = _command("view", "See a file or a folder", ViewFile, r.ViewedFile, reads=True)
CREATE: Final = _command("create", "Add a file", CreateFile, r.WrittenFile, PayloadTooLarge, writes=True)
REPLACE: Final = _command(
    "str_replace", "Replace a part of a file", ReplaceInFile, r.WrittenFile, PayloadTooLarge, writes=True
)
INSERT: Final = _command(
    "insert", "Put lines into a file", InsertIntoFile, r.WrittenFile, PayloadTooLarge, writes=True
)
DELETE: Final = _command("delete", "Delete a file or a folder", DeleteFile, r.MovedFiles)
RENAME: Final = _command("rename", "Move a file or a folder", RenameFile, r.MovedFiles)
LIST: Final = _reading("list_assistant_files", "", "List files", ListFiles, r.FilesListed)
READ: Final = _reading("read_assistant_file", "/text", "Read a file", ReadFile, r.FileText, NotFound)
VERSIONS: Final = _reading(
    "list_assistant_file_versions",
    "/versions",
    "List the versions of a file",
    OneFile,
    r.FileVersions,
    NotFound,
)
SEARCH: Final = _reading(
    "search_assistant_files", "/search", "Find files by words", SearchFiles, r.FoundFiles
)

FILES: Final = (VIEW, CREATE, REPLACE, INSERT, DELETE, RENAME, LIST, READ, VERSIONS, SEARCH)
