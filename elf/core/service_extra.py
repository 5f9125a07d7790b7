"""What is said where the packages of the service are missing: a plain install has the client alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from elf.core.errors import StartupError

OURS = ("elf", "actors")


@contextmanager
def needing_service(what: str) -> Iterator[None]:
    """Guard imports of the service's code by `what`. Raises StartupError when a package it needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in OURS:
            raise
        raise StartupError(
            f"{what} needs the service, and {package} is not installed: pip install 'elf-memory[service]'"
        ) from error
