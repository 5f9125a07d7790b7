"""What goes wrong with files, in the words of the memory tool where it has some."""

from __future__ import annotations

from elf.core.errors import Conflict, NotFound, PayloadTooLarge
from elf.families.assistant.rules.file_paths import FilePath


def nothing_to_see(path: FilePath) -> NotFound:
    """Return the error that there is nothing at a path that is to be seen or edited."""
    return NotFound(f"The path {path.given} does not exist. Please provide a valid path.", fields=["$.path"])


def nothing_there(path: FilePath, field: str = "$.path") -> NotFound:
    """Return the error that there is nothing at a path that is to go, or to go elsewhere."""
    return NotFound(f"The path {path.given} does not exist", fields=[field])


def no_version(path: FilePath, version: int) -> NotFound:
    """Return the error that a version was never there, or is not kept any more."""
    return NotFound(f"There is no version {version} of {path.given}", fields=["$.version"])


def not_a_file(path: FilePath) -> Conflict:
    """Return the error that a folder cannot be edited."""
    return Conflict(f"The path {path.given} is not a file.", fields=["$.path"])


def not_a_folder(above: str, field: str = "$.path") -> Conflict:
    """Return the error that a file is where a folder would have to be."""
    return Conflict(f"The path {above} is not a directory.", fields=[field])


def is_there(path: FilePath) -> Conflict:
    """Return the error that a file is to be added where something is."""
    return Conflict(f"File {path.given} already exists", fields=["$.path"])


def destination_is_there(path: FilePath) -> Conflict:
    """Return the error that something is to go where something else is."""
    return Conflict(f"The destination {path.given} already exists", fields=["$.new_path"])


def is_root(doing: str, field: str = "$.path") -> Conflict:
    """Return the error that /memories itself stays."""
    return Conflict(f"Cannot {doing} the /memories directory itself", fields=[field])


def into_itself(old: FilePath, new: FilePath) -> Conflict:
    """Return the error that a folder is to go into itself."""
    return Conflict(f"Cannot rename {old.given} to {new.given}, which is below it", fields=["$.new_path"])


def another_version(path: FilePath, version: int, expected: int) -> Conflict:
    """Return the error that somebody else has changed a file."""
    return Conflict(
        f"The file {path.given} has version {version} by now, not {expected}", fields=["$.expected_version"]
    )


def too_large(path: FilePath, size_bytes: int, most: int, field: str) -> PayloadTooLarge:
    """Return the error that a file would hold too much."""
    return PayloadTooLarge(
        f"The file {path.given} would have {size_bytes:,} bytes, and {most:,} is the most", fields=[field]
    )


def too_many(most: int) -> Conflict:
    """Return the error that a user has as many files as one may have."""
    return Conflict(
        f"There are {most:,} files already, which is the most. Delete some first", fields=["$.path"]
    )


def too_deep(path: FilePath, most: int) -> Conflict:
    """Return the error that a path of a file in a folder would be too long elsewhere."""
    return Conflict(
        f"Below {path.given} a path would have more than {most:,} bytes, which is the most",
        fields=["$.new_path"],
    )
