"""Clients of the service that stands in, as the swaps want them: each place of a test has a user of its own."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any, Final
from uuid import uuid4

from elf.client import AsyncClient, Client

ADDRESS: Final = "ELF_UPSTREAM_URL"
DATABASE: Final = "ELF_UPSTREAM_DSN"


class _Test:
    """What the test that runs has: the names of users by its places, and what is closed behind it."""

    def __init__(self) -> None:
        self.users: dict[str, str] = {}
        self.closing = ExitStack()
        self.is_used = False


_NOW = _Test()


def begin() -> None:
    """Begin a test."""
    global _NOW
    _NOW = _Test()


def end() -> None:
    """Close what the test has opened."""
    _NOW.closing.close()


def is_used() -> bool:
    """Tell whether the test has asked for a client."""
    return _NOW.is_used


def user(place: str | None = None) -> str:
    """Return whose things are kept in a place of the test: always somebody new where none is named."""
    _NOW.is_used = True
    somebody = f"somebody-{uuid4()}"
    return somebody if place is None else _NOW.users.setdefault(place, somebody)


def client(user: str) -> Client:
    """Return a client of a user, closed behind the test."""
    return _NOW.closing.enter_context(Client(os.environ[ADDRESS], **_context(user)))


def async_client(user: str) -> AsyncClient:
    """Return an async client of a user, which whoever asks for it closes."""
    return AsyncClient(os.environ[ADDRESS], **_context(user))


def dsn() -> str:
    """Return where the database of the service is."""
    return os.environ[DATABASE]


def _context(user: str) -> dict[str, Any]:
    return {
        "token": user,
        "headers": {"X-Client-ID": "upstream"},
        "tenant_id": "default",
        "user": user,
        "agent_id": "upstream",
        "read_profile": "all_scopes",
    }
