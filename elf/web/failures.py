"""What a failure looks like on the wire: the body, the status, the headers."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field
from quart import Response, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge, RequestTimeout

from elf.api.error_style import ErrorStyle
from elf.core.errors import (
    InternalError,
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    ServiceError,
    Unauthorized,
    Unavailable,
)
from elf.web.rendering import JSON

MAX_BODY_BYTES = 1024 * 1024
BODY_TIMEOUT_S = 15
RESPONSE_TIMEOUT_S = 30
MASKED = "the service failed; the log has the details"


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
    shown = InternalError(MASKED) if failure.status == 500 else failure
    return (style or ELF_STYLE).write(shown)


def error_response(
    failure: ServiceError, *, status: int | None = None, style: ErrorStyle | None = None
) -> Response:
    """Return the wire form of a failure; `status` takes the place of the failure's own."""
    body = error_body(failure, style)
    response = Response(body.model_dump_json(), status=status or failure.status, content_type=JSON)
    if isinstance(failure, Unavailable):
        response.headers["Retry-After"] = str(failure.retry_after_s)
    if isinstance(failure, Unauthorized):
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def as_service_error(error: BaseException) -> ServiceError:
    """Return the failure that an error of a handler, of the framework or of the code amounts to."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, RequestEntityTooLarge):
        return PayloadTooLarge(f"the body is larger than {MAX_BODY_BYTES} bytes")
    if isinstance(error, RequestTimeout):
        return InvalidRequest(f"the body did not arrive within {BODY_TIMEOUT_S} seconds")
    if isinstance(error, HTTPException) and error.code == 404:
        return NotFound(f"there is nothing at {request.path}")
    if isinstance(error, HTTPException) and error.code is not None and error.code < 500:
        return InvalidRequest(error.description or error.name)
    return InternalError("the service failed")
