"""What a failure looks like on the wire: the body, the status, the headers."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from elf.api.error_style import ErrorStyle
from elf.core.errors import (
    InternalError,
    InvalidRequest,
    NotOffered,
    ServiceError,
    Unauthorized,
    Unavailable,
)
from elf.web.response import JSON, Response
from elf.web.routes import MethodNotAllowed

MAX_BODY_BYTES = 1024 * 1024
MASKED = "the service failed; the log has the details"


class Misdirected(InvalidRequest):
    """The request is for a host that is not served here."""

    status = 421


class ErrorBody(BaseModel):
    """The body of every answer that is an error."""

    model_config = ConfigDict(frozen=True)

    error_code: str = Field(description="What kind of failure it is, for programs.")
    message: str = Field(description="What is wrong, for people.")
    fields: list[str] | None = Field(
        description="The paths at fault, such as $.notes[0].text, in the order of the request, or the first "
        "of very many; null when there are none."
    )


def _elf_body(failure: ServiceError) -> ErrorBody:
    return ErrorBody(
        error_code=failure.error_code, message=failure.message, fields=list(failure.fields) or None
    )


ELF_STYLE: Final = ErrorStyle(ErrorBody, _elf_body)


def error_body(failure: ServiceError, style: ErrorStyle | None = None) -> BaseModel:
    """Return what is told of a failure; what failed within the service is not."""
    return (style or ELF_STYLE).write(shown(failure))


def error_event(failure: ServiceError, style: ErrorStyle | None = None) -> BaseModel:
    """Return what the last event of a stream tells of a failure."""
    style = style or ELF_STYLE
    return (style.write_event or style.write)(shown(failure))


def shown(failure: ServiceError) -> ServiceError:
    """Return a failure as anyone may see it."""
    is_told = failure.status != 500 or (isinstance(failure, InternalError) and failure.is_told)
    return failure if is_told else InternalError(MASKED)


def is_a_fault(failure: ServiceError) -> bool:
    """Tell whether a failure is one of the service itself, of which the log has the details."""
    return failure.status >= 500 and not isinstance(failure, (Unavailable, NotOffered))


def error_response(failure: ServiceError, *, style: ErrorStyle | None = None) -> Response:
    """Return the wire form of a failure."""
    body = error_body(failure, style).model_dump_json().encode()
    response = Response(body, status=failure.status, content_type=JSON)
    if isinstance(failure, Unavailable):
        response.headers["retry-after"] = str(failure.retry_after_s)
    if isinstance(failure, Unauthorized):
        response.headers["www-authenticate"] = "Bearer"
    if isinstance(failure, MethodNotAllowed):
        response.headers["allow"] = ", ".join(failure.allowed)
    return response


def as_service_error(error: BaseException) -> ServiceError:
    """Return the failure that an error of a handler or of the code amounts to."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error if isinstance(error, ServiceError) else InternalError("the service failed")
