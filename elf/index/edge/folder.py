"""The folder of an embedded index: who owns it, where its server listens, and the files of each space.

lock        held (flock) by the one process that owns the folder
endpoint    the path of the unix socket, while a server listens

Of each space, in spaces/NAME, or right here when the space is plain:

shard/      the engine's files
layout.json what the shard was made for: another layout needs another shard
clean.json  written after an orderly close, removed while the shard is open; holds the number of points
opening     exists while the shard is being loaded; one byte for each load that did not come to its end
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from elf.core.structs import read_json
from elf.index.space import Space

_T = TypeVar("_T", bound=msgspec.Struct)
MAX_SOCKET_PATH_BYTES: Final = 100  # the kernel's limit is 107 on Linux and 103 elsewhere
_LOCK: Final = "lock"
_LAYOUT: Final = "layout.json"


class FolderInUse(Exception):
    """Another living process owns the folder."""


class FolderUnusable(Exception):
    """The folder cannot be made or written; the message names it."""


class Layout(msgspec.Struct, frozen=True):
    """What a shard was made for."""

    version: int
    vector_dim: int
    avg_len: float


class CleanMark(msgspec.Struct, frozen=True):
    """What an orderly close left behind."""

    points: int


class ShardFolder:
    """The files of one space; `root`, where they are, is made with the shard."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.shard = root / "shard"
        self._layout = root / _LAYOUT
        self._clean = root / "clean.json"
        self._opening = root / "opening"

    def read_layout(self) -> Layout | None:
        """Return the layout of the shard, None when there is none or it cannot be read."""
        return _read(self._layout, Layout)

    def write_layout(self, layout: Layout) -> None:
        _write(self._layout, msgspec.json.encode(layout))

    def take_clean_mark(self) -> CleanMark | None:
        """Return and remove what the last orderly close left; None after a crash."""
        mark = _read(self._clean, CleanMark)
        self._clean.unlink(missing_ok=True)
        return mark

    def write_clean_mark(self, mark: CleanMark) -> None:
        _write(self._clean, msgspec.json.encode(mark))

    def begin_opening(self) -> int:
        """Note that a load begins; return how many loads before it did not come to their end."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        failed = self._opening.stat().st_size if self._opening.exists() else 0
        with self._opening.open("ab") as file:
            file.write(b".")
        return failed

    def end_opening(self) -> None:
        self._opening.unlink(missing_ok=True)

    def discard_shard(self) -> None:
        """Delete the engine's files and the layout; the lock stays."""
        self._layout.unlink(missing_ok=True)
        if self.shard.is_dir() and not self.shard.is_symlink():
            shutil.rmtree(self.shard)
        else:
            self.shard.unlink(missing_ok=True)


class IndexFolder:
    """The files of an embedded index; `root` is made when it is missing."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._endpoint = self.root / "endpoint"

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Hold the folder's lock. Raises FolderInUse, or FolderUnusable, also when it is not an index's folder."""
        lock = self._lock()
        try:
            yield
        finally:
            os.close(lock)

    def _lock(self) -> int:
        try:
            self._refuse_other_contents()
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise FolderUnusable(
                f"the index folder {self.root} cannot be written: {error.strerror}"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            if isinstance(error, BlockingIOError):
                raise FolderInUse(f"the index folder {self.root} is in use by another process") from error
            raise FolderUnusable(
                f"the index folder {self.root} cannot be locked: {error.strerror}"
            ) from error
        return lock

    def _refuse_other_contents(self) -> None:
        # A shard that cannot be read is deleted, so it has to be a shard of ours.
        if not self.root.is_dir() or any((self.root / mark).exists() for mark in (_LOCK, _LAYOUT)):
            return
        names = sorted(path.name for path in self.root.iterdir() if not path.name.startswith("."))
        if foreign := [name for name in names if name != "lost+found"]:
            raise FolderUnusable(
                f"{self.root} is not a folder of the embedded index, it holds {', '.join(foreign[:3])}:"
                " name an empty or a new folder"
            )

    def publish_endpoint(self, socket: Path) -> None:
        _write(self._endpoint, os.fsencode(socket))

    def withdraw_endpoint(self) -> None:
        self._endpoint.unlink(missing_ok=True)

    def read_endpoint(self) -> Path:
        """Return where the folder's server listens. Raises OSError when none does."""
        return Path(os.fsdecode(self._endpoint.read_bytes()))

    def of(self, space: Space) -> ShardFolder:
        """Return where the files of a space are."""
        return ShardFolder(self.root if space.is_plain else self.root / "spaces" / space.name)

    def is_served(self, space: Space) -> bool:
        """Tell whether the files that a running server leaves here are here; not so when the folder was deleted."""
        return self._endpoint.exists() and self.of(space).shard.is_dir()

    def choose_socket_path(self) -> Path:
        """Return a path for the unix socket, short enough for the kernel. Raises FolderUnusable."""
        inside = self.root / "index.sock"
        if len(os.fsencode(inside)) <= MAX_SOCKET_PATH_BYTES:
            return inside
        digest = blake2b(os.fsencode(self.root), digest_size=12).hexdigest()
        outside = _private_temporary_folder() / f"{digest}.sock"
        if len(os.fsencode(outside)) > MAX_SOCKET_PATH_BYTES:
            raise FolderUnusable(
                f"no path short enough for a unix socket: {inside} and {outside} are too long"
            )
        return outside


def _private_temporary_folder() -> Path:
    """Return a folder under the temporary directory that this user alone may enter. Raises FolderUnusable."""
    folder = Path(tempfile.gettempdir()) / f"elf-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError as error:
        raise FolderUnusable(f"{folder} cannot be made: {error.strerror}") from error
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o077:
        raise FolderUnusable(f"{folder} must be a folder that belongs to this user alone")
    return folder


def _read(path: Path, kind: type[_T]) -> _T | None:
    try:
        return read_json(path.read_bytes(), kind)
    except (FileNotFoundError, msgspec.MsgspecError, UnicodeError):
        return None  # a mark that is torn or missing says the same: nothing is known


def _write(path: Path, data: bytes) -> None:
    """Replace a file as a whole, so that a reader sees the old or the new content."""
    draft = path.with_name(path.name + ".new")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
