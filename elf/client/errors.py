"""What a client raises: the service's own failures, and those that only a client can meet.

    ElfError
    ├── ServiceError              the service said no; `error_code`, `message`, `fields`
    │   ├── InvalidRequest, Unauthorized, ScopeDenied, Forbidden, NotFound, Conflict, PayloadTooLarge,
    │   │   NonEnglishInput, InternalError, NotOffered; of Conflict: ErasureInProgress, whose data is being erased
    │   └── Unavailable           it cannot answer now; `retry_after_s` says when to ask again
    │       └── Unreachable       nothing answers at the address, or not in time
    ├── UnexpectedAnswer          what answers is not ELF, or not of a version that this client understands
    ├── StartupError              `local` cannot start a service
    └── ConfigError               `local` was given a config that is faulty

`fields` are the arguments at fault, such as `text` or `notes[1].text`. Each that came over the wire carries a note
(PEP 678) with the id of its request, as the service's log has it.
"""

from __future__ import annotations

from msgspec import Struct

from elf.core.errors import (
    ConfigError,
    Conflict,
    ElfError,
    ErasureInProgress,
    Forbidden,
    InternalError,
    InvalidRequest,
    NonEnglishInput,
    NotFound,
    NotOffered,
    PayloadTooLarge,
    ScopeDenied,
    ServiceError,
    StartupError,
    Unauthorized,
    Unavailable,
)
from elf.core.structs import read_json

__all__ = [
    "ConfigError",
    "Conflict",
    "ElfError",
    "ErasureInProgress",
    "Forbidden",
    "InternalError",
    "InvalidRequest",
    "NonEnglishInput",
    "NotFound",
    "NotOffered",
    "PayloadTooLarge",
    "ScopeDenied",
    "ServiceError",
    "StartupError",
    "Unauthorized",
    "Unavailable",
    "UnexpectedAnswer",
    "Unreachable",
]

_BY_CODE: dict[str, type[ServiceError]] = {
    kind.error_code: kind
    for kind in (
        InvalidRequest,
        Unauthorized,
        ScopeDenied,
        Forbidden,
        NotFound,
        Conflict,
        ErasureInProgress,
        PayloadTooLarge,
        NonEnglishInput,
        InternalError,
        NotOffered,
    )
}


class Unreachable(Unavailable):
    """Nothing answers at the service's address, or not in time."""


class UnexpectedAnswer(ElfError):
    """What answers at the service's address is not ELF, or not of a version that this client understands."""


class ErrorBody(Struct, frozen=True):
    """What an error says; `fields` are the paths at fault."""

    error_code: str
    message: str
    fields: list[str] | None = None


def read_error(status: int, content: bytes) -> ErrorBody | None:
    """Return the error that the service tells of; None when the body is not that of an error."""
    try:
        return read_json(content, ErrorBody)
    except ValueError:
        return None


def code_of(status: int) -> str:
    """Return the code of the errors that have this status, for a family whose error bodies name none."""
    kinds: tuple[type[ServiceError], ...] = (*_BY_CODE.values(), Unavailable)
    return next((kind.error_code for kind in kinds if kind.status == status), InternalError.error_code)


def service_error(error_code: str, message: str, fields: list[str], *, retry_after_s: int) -> ServiceError:
    """Return the failure that an error body tells of; a code of a newer service is a plain ServiceError."""
    if error_code == Unavailable.error_code:
        failure: ServiceError = Unavailable(message, retry_after_s=retry_after_s)
        failure.fields = tuple(fields)
        return failure
    if error_code in _BY_CODE:
        return _BY_CODE[error_code](message, fields=fields)
    return ServiceError(f"{error_code}: {message}", fields=fields)
