"""A client of an ELF service: `Client` for plain code, `AsyncClient` for async code. docs/client.md shows both."""

from __future__ import annotations

from elf.client.asynchronous import AsyncClient, AsyncPages
from elf.client.blocking import Client, Pages
from elf.client.embedded import local
from elf.client.errors import (
    ElfError,
    InternalError,
    InvalidRequest,
    NonEnglishInput,
    NotFound,
    PayloadTooLarge,
    ScopeDenied,
    ServiceError,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
)
from elf.client.inputs import Message, NewNote
from elf.client.retries import DEFAULT_RETRIES, NO_RETRIES, Retries

__all__ = [
    "DEFAULT_RETRIES",
    "NO_RETRIES",
    "AsyncClient",
    "AsyncPages",
    "Client",
    "ElfError",
    "InternalError",
    "InvalidRequest",
    "Message",
    "NewNote",
    "NonEnglishInput",
    "NotFound",
    "Pages",
    "PayloadTooLarge",
    "Retries",
    "ScopeDenied",
    "ServiceError",
    "Unavailable",
    "UnexpectedAnswer",
    "Unreachable",
    "local",
]
