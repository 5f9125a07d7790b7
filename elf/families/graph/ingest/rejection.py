"""Why a dropped file becomes no memory: a code for programs, a sentence for people, the fields at fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

ReasonCode: TypeAlias = Literal[
    "file_too_large",
    "unsupported_file_type",
    "not_regular_file",
    "invalid_source_path",
    "invalid_utf8",
    "invalid_json",
    "invalid_shape",
    "scope_mismatch",
    "empty_content",
    "empty_summary",
    "secret_detected",
    "file_changed",
    "repository_error",
]
REASON_CODES: Final[tuple[ReasonCode, ...]] = get_args(ReasonCode)


class Rejection(Exception):
    """A dropped file is rejected. It stays so, however often it is dropped again as it is."""

    def __init__(self, code: ReasonCode, message: str, *, fields: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.code: ReasonCode = code
        self.message = message
        self.fields = tuple(fields)
