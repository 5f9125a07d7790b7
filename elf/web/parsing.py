"""From the bytes of a request to a checked model; every fault is named by its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from elf.core.cjk import contains_cjk, contains_nul
from elf.core.errors import InvalidRequest, NonEnglishInput
from elf.web.text_paths import request_paths

CJK_MESSAGE = "CJK detected; upstream must canonicalize to English before calling ELF."
MAX_FAULTS_SHOWN = 5

Model = TypeVar("Model", bound=BaseModel)


def parse_body(model: type[Model], body: bytes, path_values: Mapping[str, str] | None = None) -> Model:
    """Read a JSON body into `model`, together with the values of the path, which the body may not name.

    A body may be left out when `model` asks for nothing. Raises InvalidRequest for what is not JSON, breaks the model
    or holds a NUL byte, NonEnglishInput for CJK text; `fields` are the paths at fault, such as `$.notes[0].text`.
    """
    if not body and not any(field.is_required() for field in model.model_fields.values()):
        body = b"{}"
    value = _decode(body)
    if path_values and isinstance(value, dict):
        value = _merged(value, path_values)
        body = msgspec.json.encode(value)
    if not (body.isascii() and b"\\u" not in body):
        _check_text(model, value)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise _invalid(error) from None


def parse_values(model: type[Model], values: Mapping[str, str]) -> Model:
    """Read the values of a query string and a path into `model`, with the same errors as `parse_body`."""
    _check_text(model, dict(values))
    try:
        return model.model_validate_strings(dict(values))
    except ValidationError as error:
        raise _invalid(error) from None


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"the body is not valid JSON: {error}") from None
    except RecursionError:
        raise InvalidRequest("the body is nested too deeply") from None


def _merged(value: dict[str, Any], path_values: Mapping[str, str]) -> dict[str, Any]:
    if doubled := [name for name in path_values if name in value]:
        raise InvalidRequest(
            f"{doubled[0]} is given by the path, not in the body", fields=[f"$.{name}" for name in doubled]
        )
    return value | dict(path_values)


def _check_text(model: type[BaseModel], value: Any) -> None:
    if nul := list(request_paths(model, value, contains_nul)):
        raise InvalidRequest(f"{nul[0]}: NUL bytes are not allowed", fields=nul)
    if cjk := list(request_paths(model, value, contains_cjk)):
        raise NonEnglishInput(CJK_MESSAGE, fields=cjk)


def _invalid(error: ValidationError) -> InvalidRequest:
    faults = error.errors(include_url=False, include_input=False)
    paths = [_path(fault["loc"]) for fault in faults]
    shown = [f"{path}: {_problem(fault)}" for path, fault in zip(paths, faults, strict=True)][
        :MAX_FAULTS_SHOWN
    ]
    if len(faults) > len(shown):
        shown.append(f"and {len(faults) - len(shown)} more")
    return InvalidRequest("; ".join(shown), fields=list(dict.fromkeys(paths)))


def _path(location: Sequence[int | str]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)


def _problem(fault: Any) -> str:
    if fault["type"] == "missing":
        return "is missing"
    if fault["type"] == "extra_forbidden":
        return "is not a known field"
    if fault["type"] == "uuid_parsing":
        return "should be a valid UUID"  # pydantic's message quotes a character of the value
    message = str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]
