"""A file that holds a key, so that none stands on a command line, which others see, or in a config."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from elf.core.api_key import checked_key


def read_key_file(path: Path) -> str:
    """Return the key in a file, without the white space around it. Raises ValueError, which names the file."""
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise ValueError(f"{path} holds no key: it is not UTF-8 text") from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{path} cannot be read: {reason}") from error
    if not text:
        raise ValueError(f"{path} is empty: write the key into it")
    try:
        return checked_key(text)
    except ValueError as error:
        raise ValueError(f"{path} holds no key: it {error}") from None


def is_open_to_others(path: Path) -> bool:
    """Tell whether every user of this machine may read a file; false where the system does not say."""
    try:
        return os.name == "posix" and bool(path.stat().st_mode & stat.S_IROTH)
    except OSError:
        return False
