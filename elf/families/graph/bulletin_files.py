"""The bulletins of an orchestrator as files: one a message and user, the newest thousand of them.

bulletins/<message id>.json             or the hash of an id that is no safe name
bulletins/~<user>~<message id>.json     what a user was told, by the hash of the user's name
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
import structlog

from elf.core.errors import Unavailable
from elf.core.structs import read_json
from elf.families.graph.recall.bundle import Citation, Told
from elf.families.graph.rules.bulletin_lines import Line, Section
from elf.families.graph.rules.ids import file_name

KEPT: Final = 1_000
SUFFIX: Final = ".json"
OF_USERS: Final = "~"
"""With which no name of a message begins."""

MAX_FILE_BYTES: Final = 1_000_000
"""Larger ones are none of ours: a bulletin has at most 20,000 characters."""

BulletinStatus: TypeAlias = Literal["fresh", "previous", "empty"]
"""Made for its message; the last one that was made for another; or none at all."""

DRAFT_NS: Final = 60 * 10**9
"""A draft that is older was left by a process that died while it wrote."""

_DRAFT: Final = re.compile(r"\..*\.json\.[0-9a-f]{12}", re.DOTALL)
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

log = structlog.get_logger()


class Bulletin(Told, frozen=True, kw_only=True):
    """What an agent is told before it works on a message; `citations` are the memories that are shown."""

    message_id: str
    rendered: str
    sections: Mapping[Section, tuple[Line, ...]]
    citations: tuple[Citation, ...]
    generated_at: datetime
    status: BulletinStatus


def user_prefix(user: str) -> str:
    """Return with what the names of the bulletins of a user begin."""
    return f"{OF_USERS}{hashlib.sha256(user.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}{OF_USERS}"


class BulletinFiles:
    """The bulletins in a folder: those of a user, or those of calls without one.

    Everything blocks, and follows no link.
    """

    def __init__(self, folder: Path, user: str | None = None) -> None:
        self._folder = folder
        self._prefix = "" if user is None else user_prefix(user)

    def read(self, message_id: str) -> Bulletin | None:
        """Return the bulletin that was made for a message; None where there is none, or no file that could be one."""
        with self._opened() as folder:
            found = _read(folder, self._name(message_id))
        is_own = found is not None and found.message_id == message_id and found.status == "fresh"
        return found if is_own else None

    def last_fresh(self) -> Bulletin | None:
        """Return the bulletin that was generated last, of those that were made for their message, and for no user."""
        with self._opened() as folder:
            read = [_read(folder, name) for name in _bulletins(folder) if not name.startswith(OF_USERS)]
        fresh = [one for one in read if one is not None and one.status == "fresh"]
        return max(fresh, key=lambda one: (one.generated_at, one.message_id), default=None)

    def keep(self, bulletin: Bulletin) -> Bulletin:
        """Write a bulletin where its message has none, whole or not at all, and return the one that it has now.

        The oldest are removed where there are too many, and so are drafts that nobody finishes.
        """
        name = self._name(bulletin.message_id)
        with self._opened() as folder:
            found = _read(folder, name)
            if found is not None and found.status != "fresh":
                _unlink(folder, name)
            if not _write(folder, name, msgspec.json.encode(bulletin)):
                return _read(folder, name) or bulletin
            _tidy(folder)
        return bulletin

    def remove(self, message_id: str) -> None:
        """Remove the bulletin of a message, if it has one."""
        with self._opened() as folder:
            _unlink(folder, self._name(message_id))

    def _name(self, message_id: str) -> str:
        return self._prefix + file_name(message_id) + SUFFIX

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the folder. Raises Unavailable when it, or what is done within, cannot be done."""
        try:
            descriptor = os.open(self._folder, _FOLDER)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
        except OSError as error:
            raise Unavailable(f"bulletins cannot be kept: {error.strerror}") from error


def _bulletins(folder: int) -> list[str]:
    """Return the names of the bulletins."""
    return [name for name in os.listdir(folder) if name.endswith(SUFFIX) and not name.startswith(".")]


def _tidy(folder: int) -> None:
    """Remove the oldest bulletins where there are too many, and the drafts of processes that died."""
    bulletins = _bulletins(folder)
    written_at = _times(folder, bulletins) if len(bulletins) > KEPT else {}
    oldest = sorted(written_at, key=lambda name: (-written_at[name], name))[KEPT:]
    drafts = _times(folder, filter(_DRAFT.fullmatch, os.listdir(folder)))
    left = [name for name, at in drafts.items() if at < time.time_ns() - DRAFT_NS]
    for name in (*oldest, *left):
        _unlink(folder, name)


def _unlink(folder: int, name: str) -> None:
    with suppress(FileNotFoundError, IsADirectoryError):  # another process was first; folders stay
        os.unlink(name, dir_fd=folder)


def _times(folder: int, names: Iterable[str]) -> dict[str, int]:
    """Return when each of the files was written that are still there, in nanoseconds since 1970."""
    times = {}
    for name in names:
        with suppress(FileNotFoundError):
            times[name] = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns
    return times


def _read(folder: int, name: str) -> Bulletin | None:
    try:
        with open(os.open(name, _READ, dir_fd=folder), "rb") as file:
            return read_json(file.read(MAX_FILE_BYTES), Bulletin)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        log.warning("graph.bulletin_unreadable", error=type(error).__name__)
        return None


def _write(folder: int, name: str, content: bytes) -> bool:
    """Write a file beside its place and link it there, so that nobody reads half of it; False where there is one."""
    draft = f".{name}.{os.urandom(6).hex()}"
    try:
        with open(os.open(draft, _NEW, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
        os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
    return True
