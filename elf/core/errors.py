"""Every failure ELF reports, drawn once.

    ElfError
    ├── ConfigError               a config file is wrong; carries every fault found in it
    ├── StartupError              the process cannot start: a port is taken, a folder in use, a file damaged
    └── ServiceError              a request cannot be answered; has an error_code, an HTTP status and a gRPC status
        ├── InvalidRequest        400 INVALID_REQUEST
        ├── Unauthorized          401 UNAUTHORIZED
        ├── ScopeDenied           403 SCOPE_DENIED
        ├── Forbidden             403 FORBIDDEN
        ├── NotFound              404 NOT_FOUND
        ├── Conflict              409 CONFLICT
        │   └── ErasureInProgress 409 ERASING
        ├── PayloadTooLarge       413 PAYLOAD_TOO_LARGE
        ├── NonEnglishInput       422 NON_ENGLISH_INPUT
        ├── InternalError         500 INTERNAL_ERROR
        ├── NotOffered            501 NOT_OFFERED
        └── Unavailable           503 UNAVAILABLE, may be retried after `retry_after_s`
            ├── DatabaseUnavailable
            ├── IndexUnavailable
            └── ProviderUnavailable
                ├── ProviderRefused   says no: to the key, or to this request
                └── ProviderBroken    answers with what nobody asked for

Adapters translate the errors of their library into these; nothing above an adapter sees a library's own
class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

MESSAGE_ERASING: Final = (
    "the owner of this data is being erased: nothing of it is accepted until that has ended"
)


class ElfError(Exception):
    """The root of all failures that ELF raises on purpose."""


@dataclass(frozen=True, slots=True)
class ConfigFault:
    """One fault of a config file: the dotted key, what is wrong with it and what is allowed."""

    key: str
    problem: str

    def __str__(self) -> str:
        return f"{self.key}: {self.problem}" if self.key else self.problem


class ConfigError(ElfError):
    """A config file cannot be used; `faults` lists everything that is wrong with it at once."""

    def __init__(self, source: str, faults: Sequence[ConfigFault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        lines = "".join(f"\n  {fault}" for fault in self.faults)
        super().__init__(f"{source} cannot be used:{lines}")


class StartupError(ElfError):
    """The process cannot start; the message names the thing in the way."""


class ServiceError(ElfError):
    """A request cannot be answered. `fields` are the paths at fault, in request order, when there are any.

    `problems` say what is wrong with each of the fields; without them the message says it of all. `status` is that of
    HTTP, `rpc_status` the name of that of gRPC.
    """

    error_code: ClassVar[str] = "INTERNAL_ERROR"
    status: ClassVar[int] = 500
    rpc_status: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, *, fields: Sequence[str] = (), problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.fields = tuple(fields)
        self.problems = tuple(problems)


class InvalidRequest(ServiceError):
    """The request is malformed, out of bounds or names something that does not exist by definition."""

    error_code = "INVALID_REQUEST"
    status = 400
    rpc_status = "INVALID_ARGUMENT"


class Unauthorized(ServiceError):
    """Nobody knows who asks: no identity came with the request, or one that is wrong."""

    error_code = "UNAUTHORIZED"
    status = 401
    rpc_status = "UNAUTHENTICATED"


class ScopeDenied(ServiceError):
    """The scope is not allowed for this operation."""

    error_code = "SCOPE_DENIED"
    status = 403
    rpc_status = "PERMISSION_DENIED"


class Forbidden(ServiceError):
    """Who asks is known, and may not do this."""

    error_code = "FORBIDDEN"
    status = 403
    rpc_status = "PERMISSION_DENIED"


class NotFound(ServiceError):
    """There is no such note, or trace of a search, within the context given."""

    error_code = "NOT_FOUND"
    status = 404
    rpc_status = "NOT_FOUND"


class Conflict(ServiceError):
    """What is there already, or the state that it is in, does not go together with the request."""

    error_code = "CONFLICT"
    status = 409
    rpc_status = "ALREADY_EXISTS"


class ErasureInProgress(Conflict):
    """The tenant, the user or the agent that owns the data is being erased; a write is accepted again afterward."""

    error_code = "ERASING"
    rpc_status = "ABORTED"

    def __init__(self, message: str = MESSAGE_ERASING, *, fields: Sequence[str] = ()) -> None:
        super().__init__(message, fields=fields)


class PayloadTooLarge(ServiceError):
    """The body is larger than the service takes."""

    error_code = "PAYLOAD_TOO_LARGE"
    status = 413
    rpc_status = "RESOURCE_EXHAUSTED"


class NonEnglishInput(ServiceError):
    """The request holds CJK text."""

    error_code = "NON_ENGLISH_INPUT"
    status = 422
    rpc_status = "INVALID_ARGUMENT"


class InternalError(ServiceError):
    """A fault of ELF itself. Only the log says what it is, unless `is_told`: then whoever asks reads it, too."""

    error_code = "INTERNAL_ERROR"
    status = 500
    is_told: ClassVar[bool] = False


class NotOffered(ServiceError):
    """This service, as it is configured, does not do this at all."""

    error_code = "NOT_OFFERED"
    status = 501
    rpc_status = "UNIMPLEMENTED"


class Unavailable(ServiceError):
    """Something the request needs is away; the same request may succeed after `retry_after_s` seconds.

    `concerns_all`: any other request would have met the same. Where it is false, another one may fare better at once.
    """

    error_code = "UNAVAILABLE"
    status = 503
    rpc_status = "UNAVAILABLE"
    concerns_all: bool = True

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class DatabaseUnavailable(Unavailable):
    """Postgres does not answer."""


class IndexUnavailable(Unavailable):
    """The vector index does not answer."""


class ProviderUnavailable(Unavailable):
    """A model provider gives no answer that can be used: it does not answer, or with a failure that may pass."""


class ProviderRefused(ProviderUnavailable):
    """A model provider will not serve a request; `provider_status` is the HTTP status (3xx, 4xx) that said so.

    Some refusals are about what was asked, such as its length or its content; the others are about the key, the model
    or the address in the config, and stay until somebody changes those.
    """

    ABOUT_WHAT_WAS_ASKED: ClassVar = frozenset({400, 406, 409, 413, 414, 415, 422, 451})

    def __init__(self, message: str, *, provider_status: int) -> None:
        super().__init__(message, retry_after_s=30)
        self.provider_status = provider_status
        self.concerns_all = provider_status not in self.ABOUT_WHAT_WAS_ASKED


class ProviderBroken(ProviderUnavailable):
    """A model provider answers with something else than was asked for: no JSON, too few vectors, too many bytes."""

    concerns_all = False

    def __init__(self, message: str, *, retry_after_s: int = 5) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
