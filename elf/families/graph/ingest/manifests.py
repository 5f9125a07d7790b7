"""The manifests of ingestion: what became of a dropped file, in a file of JSON beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from secrets import token_hex
from typing import Final, Literal, TypeAlias

import msgspec

from elf.core.structs import read_json
from elf.families.graph.extraction.candidate import Skipped
from elf.families.graph.ingest.folders import IngestFolders
from elf.families.graph.ingest.names import MANIFEST_SUFFIX, Ending
from elf.families.graph.ingest.rejection import ReasonCode, Rejection

_TEMPORARY: Final = (".manifest-", ".tmp")
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CAREFUL: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_MOST_BYTES: Final = 64 << 20


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What all of a manifest is made of: it does not change, and has camelCase names in JSON."""


class ProcessedManifest(_Part, frozen=True, kw_only=True, omit_defaults=True):
    """A file became memories, or had become some before.

    `indexed_chars` is how many characters of its text it is found by, where these are not all.
    """

    status: Literal["processed", "duplicate"]
    idempotency_key: str
    orchestrator_id: str
    source_path: str
    processed_at: datetime
    memories_written: int
    edges_written: int
    memory_ids: list[str]
    extractor: str
    skipped: list[Skipped]
    indexed_chars: int | None = None


class Reason(_Part, frozen=True, kw_only=True):
    """Why a file was rejected."""

    code: ReasonCode
    message: str
    fields: list[str]

    @classmethod
    def of(cls, rejection: Rejection) -> Reason:
        return cls(code=rejection.code, message=rejection.message, fields=list(rejection.fields))


class RejectionManifest(_Part, frozen=True, kw_only=True):
    """A file was rejected. It has no key where its bytes were not read."""

    status: Literal["rejected"]
    source_path: str
    idempotency_key: str | None
    error: Reason


Manifest: TypeAlias = ProcessedManifest | RejectionManifest


class Manifests:
    """The manifests in the folders where files end. Its methods block."""

    def __init__(self, folders: IngestFolders) -> None:
        self._folders = folders

    def write(self, ending: Ending, name: str, manifest: Manifest) -> None:
        """Write the manifest of a file, on disk wholly or not at all; it takes the place of one that is there."""
        folder = self._folders.ending(ending)
        with _temporary(folder, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n") as written:
            os.rename(written, name + MANIFEST_SUFFIX[ending], src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)

    def read(self, ending: Ending, name: str) -> Manifest | None:
        """Return the manifest of a file; None where it has none, or one that somebody else wrote."""
        folder = self._folders.ending(ending)

        def opener(path: str, flags: int) -> int:
            return os.open(path, flags | _CAREFUL, dir_fd=folder)

        wanted: type[Manifest] = ProcessedManifest if ending == "processed" else RejectionManifest
        try:
            with open(name + MANIFEST_SUFFIX[ending], "rb", opener=opener) as file:
                return read_json(file.read(_MOST_BYTES), wanted)
        except (msgspec.DecodeError, OSError):
            return None

    def withdraw(self, ending: Ending, name: str) -> None:
        """Delete the manifest of a file that did not end there."""
        folder = self._folders.ending(ending)
        with suppress(FileNotFoundError):
            os.unlink(name + MANIFEST_SUFFIX[ending], dir_fd=folder)
        os.fsync(folder)

    def sweep(self) -> None:
        """Delete the unfinished manifests of a process that died while it wrote them."""
        start, end = _TEMPORARY
        for folder in (self._folders.processed, self._folders.rejected):
            for name in os.listdir(folder):
                if name.startswith(start) and name.endswith(end):
                    _delete(name, folder)


@contextmanager
def _temporary(folder: int, data: bytes) -> Iterator[str]:
    """Write bytes to disk under a name of their own for the block, which is to give them another one."""
    start, end = _TEMPORARY
    name = start + token_hex(8) + end
    with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=folder), "wb") as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            yield name
        except BaseException:
            _delete(name, folder)
            raise


def _delete(name: str, folder: int) -> None:
    with suppress(OSError):  # what is left of it is hidden, and swept away later
        os.unlink(name, dir_fd=folder)
