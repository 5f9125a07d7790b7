"""How the family tells of failures, on a wire that existing clients know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from elf.api.error_style import ErrorStyle
from elf.core.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    ServiceError,
    Unauthorized,
    Unavailable,
)
from elf.core.shares import ShareExceeded


class RuleBroken(InvalidRequest):
    """A request of the right shape that goes against a rule."""


class JustificationRequired(RuleBroken):
    """An operator has to say why, and did not."""

    def __init__(self) -> None:
        super().__init__("Justification is required for admin operations")


class Missing(NotFound):
    """There is no such thing for this caller, or it is deleted."""

    def __init__(self, resource: str, id: UUID | str) -> None:
        super().__init__(f"there is no {resource} {id}")
        self.resource = resource
        self.id = str(id)


class TransferPending(Conflict):
    """A tree is being transferred already."""

    def __init__(self, transfer_id: UUID) -> None:
        super().__init__("A pending ownership transfer already exists for this conversation")
        self.transfer_id = transfer_id


class RecorderOff(Conflict):
    """Answers are not recorded by this service."""

    rpc_status = "FAILED_PRECONDITION"

    def __init__(self) -> None:
        super().__init__("answers are not recorded here: the recorder is off")


class RecordingBroken(Conflict):
    """A recording was broken off, and all that there is of it was told."""

    rpc_status = "ABORTED"

    def __init__(self) -> None:
        super().__init__("the recording was broken off")


_WHOSE: Final = {"total": "a process", "tenant": "a tenant", "user": "a user"}


class TooManyStreams(Unavailable):
    """As many answers are recorded and replayed as may be at a time, by this user, its tenant, or all."""

    rpc_status = "RESOURCE_EXHAUSTED"
    concerns_all = False

    def __init__(self, exceeded: ShareExceeded) -> None:
        key = {"total": "max_streams"}.get(exceeded.share, f"max_streams_per_{exceeded.share}")
        super().__init__(
            f"{_WHOSE[exceeded.share]} has at most {exceeded.limit:,} recordings and replays at a time: "
            f"conversations.{key}"
        )


class TooManyRecordedBytes(Unavailable):
    """The answers that are recorded and replayed have as many bytes together as they may."""

    rpc_status = "RESOURCE_EXHAUSTED"
    concerns_all = False

    def __init__(self, exceeded: ShareExceeded) -> None:
        super().__init__(
            f"the recordings of {_WHOSE[exceeded.share]} have at most {exceeded.limit:,} bytes at a time: "
            "conversations.recorder_total_bytes"
        )


class ErrorBody(BaseModel):
    """The body of every answer that is an error."""

    model_config = ConfigDict(frozen=True, extra="allow")

    error: str = Field(description="What kind of failure it is, for people.")
    code: str = Field(description="What kind of failure it is, for programs.")


_KINDS: Final[Mapping[int, tuple[str, str]]] = {
    Unauthorized.status: ("Unauthorized", "unauthorized"),
    Forbidden.status: ("Forbidden", "forbidden"),
    NotFound.status: ("Not found", "not_found"),
    Conflict.status: ("Conflict", "conflict"),
    PayloadTooLarge.status: ("Payload too large", "payload_too_large"),
    500: ("Internal error", "internal_error"),
    Unavailable.status: ("Service unavailable", "unavailable"),
}


def error_body(failure: ServiceError) -> ErrorBody:
    """Return what is told of a failure."""
    if isinstance(failure, TransferPending):
        return _body(failure.message, "TRANSFER_ALREADY_PENDING", existingTransferId=str(failure.transfer_id))
    if isinstance(failure, JustificationRequired):
        return _body(failure.message, "JUSTIFICATION_REQUIRED")
    if isinstance(failure, Missing):
        return _body("Not found", "not_found", details={"resource": failure.resource, "id": failure.id})
    if isinstance(failure, InvalidRequest) and not isinstance(failure, RuleBroken):
        details = {"message": failure.message, "violations": _violations(failure)}
        return _body("Validation failed", "validation_error", details=details)
    error, code = _KINDS.get(failure.status, ("Bad request", "bad_request"))
    return _body(error, code, details={"message": failure.message})


def _violations(failure: InvalidRequest) -> list[dict[str, str]]:
    problems = failure.problems or [failure.message.removeprefix(f"{path}: ") for path in failure.fields]
    return [
        {"field": path.removeprefix("$."), "message": problem}
        for path, problem in zip(failure.fields, problems, strict=True)
    ]


class ErrorEvent(BaseModel):
    """The last event of a stream that failed."""

    model_config = ConfigDict(frozen=True)

    error: str = Field(description="What went wrong.")


def error_event(failure: ServiceError) -> ErrorEvent:
    """Return what a stream tells of a failure."""
    return ErrorEvent(error=failure.message)


def _body(error: str, code: str, **more: Any) -> ErrorBody:
    return ErrorBody.model_validate({"error": error, "code": code, **more})


STYLE: Final = ErrorStyle(ErrorBody, error_body, error_event)
