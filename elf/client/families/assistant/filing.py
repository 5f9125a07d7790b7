"""Text files of a user: what the memory tool of Claude does, and what can be read of them besides.

`elf.claude` makes a tool of the first six for a program of the package anthropic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from elf.client.call import Call, Listing, get, listing, post, reader
from elf.client.families.assistant import file_results as r
from elf.client.families.assistant.inputs import Whose
from elf.client.families.assistant.remembering import ROOT
from elf.client.family import C_co, FamilyClient
from elf.client.method import method
from elf.client.results import Page

FILES = f"{ROOT}/files"
EVERYWHERE = "/memories"

FilePath = Annotated[str, "the path of the file, such as /memories/notes.md"]
PlacePath = Annotated[str, "the path of the file or the folder, such as /memories"]
Below = Annotated[str, "those at this path or below it"]
Expected = Annotated[int | None, "refuse when the file has another version by now"]


class Filing(FamilyClient[C_co]):
    """Files of a user at /memories and below. All raise ScopeDenied for another user's.

    A path that leads elsewhere raises InvalidRequest, and what is not there NotFound. What does not go together with
    what is there raises Conflict, in the words of the memory tool.
    """

    @method
    def view_file(
        self,
        path: PlacePath,
        *,
        view_range: Annotated[Sequence[int] | None, "the first line, then the last, -1 for the end"] = None,
        user_id: Whose = None,
    ) -> Call[r.ViewedFile]:
        """See the lines of a file with their numbers, or what is in a folder, two levels deep."""
        lines = None if view_range is None else list(view_range)
        body = {**self.owner, "path": path, "view_range": lines, "user_id": user_id}
        return post(f"{FILES}/view", body, reader(r.ViewedFile))

    @method
    def create_file(
        self, path: FilePath, file_text: Annotated[str, "what it says"], *, user_id: Whose = None
    ) -> Call[r.WrittenFile]:
        """Add a file. Raises Conflict when something is there, PayloadTooLarge for a text that is too large."""
        body = {**self.owner, "path": path, "file_text": file_text, "user_id": user_id}
        return post(f"{FILES}/create", body, reader(r.WrittenFile), repeat="undone")

    @method
    def replace_in_file(
        self,
        path: FilePath,
        old_str: Annotated[str, "what is there once, letter for letter"],
        new_str: Annotated[str, "what is to be there"],
        *,
        expected_version: Expected = None,
        user_id: Whose = None,
    ) -> Call[r.WrittenFile]:
        """Replace a part of a file. Raises Conflict when it is not there, or more than once."""
        body = {
            **self.owner, "path": path, "old_str": old_str, "new_str": new_str,
            "expected_version": expected_version, "user_id": user_id,
        }  # fmt: skip
        return post(f"{FILES}/str_replace", body, reader(r.WrittenFile), repeat="undone")

    @method
    def insert_into_file(
        self,
        path: FilePath,
        insert_line: Annotated[int, "behind which line; 0 is the top"],
        insert_text: Annotated[str, "the lines"],
        *,
        expected_version: Expected = None,
        user_id: Whose = None,
    ) -> Call[r.WrittenFile]:
        """Put lines into a file. Raises Conflict when it has no such line."""
        body = {
            **self.owner, "path": path, "insert_line": insert_line, "insert_text": insert_text,
            "expected_version": expected_version, "user_id": user_id,
        }  # fmt: skip
        return post(f"{FILES}/insert", body, reader(r.WrittenFile), repeat="undone")

    @method
    def delete_file(
        self, path: PlacePath, *, expected_version: Expected = None, user_id: Whose = None
    ) -> Call[r.MovedFiles]:
        """Delete a file, or a folder with all that is in it, for good."""
        body = {**self.owner, "path": path, "expected_version": expected_version, "user_id": user_id}
        return post(f"{FILES}/delete", body, reader(r.MovedFiles), repeat="undone")

    @method
    def rename_file(
        self,
        old_path: Annotated[str, "where the file or the folder is"],
        new_path: Annotated[str, "where it is to be"],
        *,
        user_id: Whose = None,
    ) -> Call[r.MovedFiles]:
        """Move a file or a folder. Raises Conflict when something is there."""
        body = {**self.owner, "old_path": old_path, "new_path": new_path, "user_id": user_id}
        return post(f"{FILES}/rename", body, reader(r.MovedFiles), repeat="undone")

    @method
    def files(
        self,
        *,
        path: Below = EVERYWHERE,
        user_id: Whose = None,
        limit: Annotated[int | None, "how many a page, 1 to 200"] = None,
        cursor: str | None = None,
    ) -> Listing[r.FileListed]:
        """List files by their paths, without their texts."""
        params = {**self.owner, "path": path, "user_id": user_id, "limit": limit}
        return listing(FILES, params, Page[r.FileListed], cursor)

    @method
    def read_file(
        self,
        path: FilePath,
        *,
        version: Annotated[int | None, "an older version (default: the newest)"] = None,
        user_id: Whose = None,
    ) -> Call[r.FileText]:
        """Read what a file says, or said in a version that is kept."""
        params = {**self.owner, "path": path, "version": version, "user_id": user_id}
        return get(f"{FILES}/text", params, reader(r.FileText))

    @method
    def file_versions(self, path: FilePath, *, user_id: Whose = None) -> Call[r.FileVersions]:
        """List the versions of a file that can be read, newest first."""
        params = {**self.owner, "path": path, "user_id": user_id}
        return get(f"{FILES}/versions", params, reader(r.FileVersions))

    @method
    def search_files(
        self,
        query: Annotated[str, "words, of which a file has to hold one"],
        *,
        path: Below = EVERYWHERE,
        limit: Annotated[int | None, "how many at most, 1 to 50"] = None,
        user_id: Whose = None,
    ) -> Call[r.FoundFiles]:
        """Find files by words: those with most of them first."""
        params = {**self.owner, "query": query, "path": path, "limit": limit, "user_id": user_id}
        return get(f"{FILES}/search", params, reader(r.FoundFiles))
