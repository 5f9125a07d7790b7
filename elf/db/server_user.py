"""Which system user the embedded Postgres runs as.

Postgres refuses to run as root. An ordinary user runs it as itself; root runs it as the owner of the data
when there is one, else as a system user of its own, made when it is missing. That user must be able to walk
to the data and to the program, so root gives folders on the way the permission to be walked through (x for
others), nothing more.
"""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from elf.core.errors import StartupError

SYSTEM_USER = "elf-postgres"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Account:
    """A system user, and whether it is another one than that of this process."""

    uid: int
    gid: int
    is_foreign: bool

    @classmethod
    def choose(cls, data: Path) -> Account:
        """Choose the user for a data folder that may not exist yet. Raises StartupError when there is
        none.
        """
        if os.geteuid() != 0:
            return cls(os.geteuid(), os.getegid(), is_foreign=False)
        if data.exists() and (status := data.stat()).st_uid != 0:
            return cls(status.st_uid, status.st_gid, is_foreign=True)
        entry = _system_user()
        return cls(entry.pw_uid, entry.pw_gid, is_foreign=True)

    def check_named(self) -> None:
        """Raise StartupError when the system has no name for this user: initdb, and it alone, refuses to work then."""
        try:
            pwd.getpwuid(self.uid)
        except KeyError:
            raise StartupError(
                f"user {self.uid} has no name on this system, and making the database files needs one: add a line like"
                f" elf:x:{self.uid}:{self.gid}::/:/bin/false to /etc/passwd (in a container, mount one that has it, or"
                " run as a user of the image), or name a server in storage.postgres.dsn"
            ) from None

    @property
    def process_options(self) -> dict[str, Any]:
        """Arguments for subprocess that run a program as this user."""
        if not self.is_foreign:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        """Make this user the owner of a file or folder that this process has made."""
        if self.is_foreign:
            os.chown(path, self.uid, self.gid)

    def open_way_to(self, path: Path) -> None:
        """Let this user walk through every folder above `path`. Raises StartupError when that is not
        allowed.
        """
        if not self.is_foreign:
            return
        for folder in path.parents:
            status = folder.stat()
            if self._may_walk_through(status):
                continue
            _add_mode(folder, stat.S_IXOTH)
            log.warning("folder_opened", folder=str(folder), added="o+x", why="Postgres does not run as root")

    def open_tree(self, folder: Path) -> None:
        """Let this user read a folder with all it holds, as pip installs it under a usual umask."""
        self.open_way_to(folder)
        if not self.is_foreign or folder.stat().st_mode & stat.S_IROTH:
            return
        for parent, _, files in os.walk(folder):
            _add_mode(Path(parent), stat.S_IROTH | stat.S_IXOTH)
            for name in files:
                file = Path(parent, name)
                runs = stat.S_IXOTH if file.stat().st_mode & stat.S_IXUSR else 0
                _add_mode(file, stat.S_IROTH | runs)

    def _may_walk_through(self, status: os.stat_result) -> bool:
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid == self.gid:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)


def _add_mode(path: Path, bits: int) -> None:
    try:
        path.chmod(stat.S_IMODE(path.stat().st_mode) | bits)
    except OSError as error:
        raise StartupError(
            f"the embedded Postgres, which cannot run as root, cannot reach {path}: {error.strerror}"
        ) from error


def _system_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        _make_system_user()
    return pwd.getpwnam(SYSTEM_USER)


def _make_system_user() -> None:
    command = [
        "useradd",
        "--system",
        "--user-group",
        "--no-create-home",
        "--shell",
        "/bin/false",
        SYSTEM_USER,
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise StartupError(_no_user("useradd is missing")) from error
    except subprocess.CalledProcessError as error:
        try:
            pwd.getpwnam(SYSTEM_USER)  # another process made it at the same moment
        except KeyError:
            raise StartupError(_no_user(str(error.stderr).strip())) from error


def _no_user(reason: str) -> str:
    return (
        f"Postgres does not run as root, and the system user {SYSTEM_USER} cannot be made ({reason}):"
        " run ELF as an ordinary user, or make that user"
    )
