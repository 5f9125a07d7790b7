"""Where the files of a user may be: at /memories or below, by one name each.

Stricter than a file system: no part of a path is empty, leads elsewhere, or becomes another one when it is decoded.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

from elf.core.blank_text import is_blank
from elf.core.errors import InvalidRequest
from elf.core.secrets import find_credential

ROOT: Final = "/memories"
MAX_PATH_BYTES: Final = 1024
MAX_NAME_BYTES: Final = 255

_ENCODED: Final = re.compile(r"%(?:2[ef5]|5c|[01][0-9a-f])", re.IGNORECASE)
"""A dot, a slash, a percent sign, a backslash or a control character as it stands in a URL."""


class FilePath(NamedTuple):
    """A path as it was given, to be told of, and as it is kept: NFC."""

    given: str
    kept: str

    @property
    def is_root(self) -> bool:
        return self.kept == ROOT

    @property
    def above(self) -> list[str]:
        """The folders that it is in, below the root."""
        names = self.kept.split("/")[2:-1]
        return ["/".join([ROOT, *names[: place + 1]]) for place in range(len(names))]

    def is_below(self, other: FilePath) -> bool:
        return self.kept.startswith(f"{other.kept}/")


def file_path(given: str, field: str = "$.path") -> FilePath:
    """Return a path, without a slash at its end. Raises InvalidRequest, naming the field, where it leads nowhere."""
    kept = unicodedata.normalize("NFC", given)
    if kept != ROOT and not kept.startswith(f"{ROOT}/"):
        raise _refused(field, given, f"Path must start with /memories, got: {given}")
    kept = kept.removesuffix("/")
    names = kept.split("/")[2:]
    if ".." in names or _ENCODED.search(kept) is not None:
        raise _refused(field, given, f"Path {given} would escape /memories directory")
    if problem := _problem(kept, names):
        raise _refused(field, given, f"Path {given} {problem}")
    if (kind := find_credential(kept)) is not None:
        message = f"A path must not hold a credential, and this one holds one of kind {kind}"
        raise InvalidRequest(message, fields=[field])
    return FilePath(given.removesuffix("/"), kept)


def _problem(kept: str, names: list[str]) -> str | None:
    if "" in names:
        return "has an empty part"
    if "." in names or any(map(is_blank, names)):
        return "has a part that is no name"
    if "\\" in kept or any(unicodedata.category(letter) in _NOT_IN_NAMES for letter in kept):
        return "holds a character that no name may have"
    if len(kept.encode()) > MAX_PATH_BYTES or any(len(name.encode()) > MAX_NAME_BYTES for name in names):
        return f"is too long: at most {MAX_PATH_BYTES} bytes, and {MAX_NAME_BYTES} for each part"
    return None


_NOT_IN_NAMES: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Control characters, halves of characters, and what would begin another line in a listing."""


def _refused(field: str, given: str, message: str) -> InvalidRequest:
    """Return the error of a path, which is told without it where it holds a credential."""
    if find_credential(given) is not None:
        message = "Path is not one below /memories"
    return InvalidRequest(message, fields=[field])
