"""What lies in the ingest folder: a name, and what it led to when it was looked at."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """A file as it was at one moment. Who writes to it, replaces it or links it gives it another stamp."""

    device: int
    inode: int
    mode: int
    links: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> Self:
        return cls(
            device=found.st_dev,
            inode=found.st_ino,
            mode=found.st_mode,
            links=found.st_nlink,
            size=found.st_size,
            modified_ns=found.st_mtime_ns,
            changed_ns=found.st_ctime_ns,
        )

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_single_file(self) -> bool:
        """Whether it is a regular file, and this its only name."""
        return stat.S_ISREG(self.mode) and self.links == 1

    def is_of_same_file(self, other: Stamp) -> bool:
        """Tell whether two stamps are of one file."""
        return (self.device, self.inode) == (other.device, other.inode)

    def is_same_text(self, other: Stamp) -> bool:
        """Tell whether two stamps are of one file that nobody wrote to in between. It may have got another name."""
        return self.is_of_same_file(other) and (self.size, self.modified_ns) == (
            other.size,
            other.modified_ns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A name in the ingest folder that is to be taken, and what it led to."""

    name: str
    stamp: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedFile:
    """The bytes of an entry, and the stamp that it had before and after they were read."""

    name: str
    stamp: Stamp
    data: bytes
