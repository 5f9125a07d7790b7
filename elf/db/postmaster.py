"""What can be known about a Postgres server from outside: its pid file and its processes."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import psutil

from elf.core.errors import StartupError


@dataclass(frozen=True, slots=True)
class PidFile:
    """What a server writes about itself into postmaster.pid."""

    pid: int
    socket_dir: str
    port: int
    is_ready: bool

    @classmethod
    def read(cls, data: Path) -> PidFile | None:
        """Read it. None when there is none, or none that a server has finished writing."""
        path = data / "postmaster.pid"
        try:
            lines = path.read_text().splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StartupError(f"{path} cannot be read: {error}") from error
        if len(lines) < 5 or not lines[0].strip().isdecimal() or not lines[3].strip().isdecimal():
            return None
        is_ready = len(lines) > 7 and lines[7].strip() == "ready"
        return cls(int(lines[0]), lines[4].strip(), int(lines[3]), is_ready)


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a server: its main process, other processes of it, and whether its lock is held."""

    postmaster: int | None
    orphans: tuple[int, ...]
    is_locked: bool

    @property
    def is_nothing(self) -> bool:
        return self.postmaster is None and not self.orphans and not self.is_locked


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may be gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def postgres_processes_in(data: Path) -> list[int]:
    """Return the living Postgres processes that work in a data folder, which is their working directory."""
    return [process.pid for process in psutil.process_iter() if _works_in(process, data)]


def _works_in(process: psutil.Process, data: Path) -> bool:
    try:
        is_postgres = process.name().startswith("postgres") and process.status() != psutil.STATUS_ZOMBIE
        return bool(is_postgres and process.cwd() == str(data))
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False  # gone meanwhile, or of a user who cannot have entered the folder
