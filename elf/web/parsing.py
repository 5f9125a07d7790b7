"""From the bytes of a request to a checked model; every fault is named by its path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from elf.api.binding import bound_values
from elf.api.body_faults import faults_told, in_words
from elf.api.caller import ANONYMOUS, Caller
from elf.api.json_bounds import USUAL, JsonBounds
from elf.api.operation import TextPolicy
from elf.core.cjk import CJK_MESSAGE
from elf.core.errors import InvalidRequest, NonEnglishInput
from elf.core.json_size import holding_more_digits, holding_more_values
from elf.core.slices import Slices, at_once
from elf.web.field_shapes import holds_free
from elf.web.outline import filled, outlined
from elf.web.text_paths import TextFault, text_faults

MAX_FAULTS_SHOWN = 5
# So many paths help nobody, and each may be long.
MAX_PATHS_CHARS = 65_536

Model = TypeVar("Model", bound=BaseModel)


def reading_body(
    model: type[Model],
    body: bytes,
    path_values: Mapping[str, str] | None = None,
    *,
    caller: Caller = ANONYMOUS,
    text: TextPolicy = "english",
    whole: str | None = None,
    bounds: JsonBounds = USUAL,
) -> Slices[Model]:
    """Read a JSON body into `model`, with the values of the path, which it may not name, and those that bind `caller`.

    A body may be left out when `model` asks for nothing. Raises InvalidRequest for what is not JSON, breaks the model
    or a bound or holds a NUL byte, ScopeDenied for what `caller` may not ask for, NonEnglishInput for CJK text where
    `text` is english; `fields` are the paths at fault, such as `$.notes[0].text`, or the first of very many. `whole` is
    the field of the model that the whole body is; paths within it begin at the body, such as `$[0].text`.
    """
    try:
        return (yield from _reading(model, body, path_values or {}, caller, text, whole, bounds))
    except (InvalidRequest, NonEnglishInput) as error:
        if whole is None:
            raise
        own = re.compile(rf"\$\.{re.escape(whole)}\b")
        fields = [own.sub("$", path) for path in error.fields]
        message = own.sub("$", error.message)
        raise type(error)(message, fields=fields, problems=error.problems) from None


def _reading(
    model: type[Model],
    body: bytes,
    path_values: Mapping[str, str],
    caller: Caller,
    text: TextPolicy,
    whole: str | None,
    bounds: JsonBounds,
) -> Slices[Model]:
    known = {*path_values, *caller.bound}
    is_left_out = not body and not any(
        field.is_required() for name, field in model.model_fields.items() if name not in known
    )
    if is_left_out:
        body = b"{}"
    if (yield from holding_more_values(body, bounds.values)):
        raise InvalidRequest(f"the body holds more than {bounds.values:,} values")
    if (yield from holding_more_digits(body, bounds.long_digits)):
        problem = f"have more than {bounds.long_digits:,} digits in all, written out without exponents"
        raise InvalidRequest(f"the long numbers of the body {problem}")
    value = _decode(body)
    if whole is not None and not is_left_out:
        value = {whole: value}
    yield
    if isinstance(value, dict):
        value = bound_values(model, _merged(value, path_values), caller)
    beside = [*path_values.values(), *caller.bound.values()]
    is_plain = _is_plain(body, text) and not any(map(_is_odd, beside))
    yield from _check_text(model, value, text, is_plain=is_plain, chars=len(body), bounds=bounds)
    outline = yield from outlined(model, value)
    content = msgspec.json.encode(outline)
    yield
    request = _validated(lambda: model.model_validate_json(content))
    yield
    return filled(request, value)


def parse_body(model: type[Model], body: bytes, path_values: Mapping[str, str] | None = None) -> Model:
    """Do what `reading_body` does, in one go."""
    return at_once(reading_body(model, body, path_values))


def parse_values(
    model: type[Model],
    values: Mapping[str, str],
    *,
    caller: Caller = ANONYMOUS,
    text: TextPolicy = "english",
) -> Model:
    """Read the values of a query string and a path into `model`, with the same errors as `reading_body`."""
    filled = bound_values(model, values, caller)
    chars = sum(map(len, filled.values()))
    at_once(_check_text(model, filled, text, is_plain=False, chars=chars, bounds=USUAL))
    return _validated(lambda: model.model_validate_strings(filled))


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


def _is_plain(body: bytes, text: TextPolicy) -> bool:
    """Tell whether a JSON body surely holds no character that its text may not."""
    if text == "any":  # JSON has no other way to write a NUL
        return b"\\" not in body or b"\\u0000" not in body
    return body.isascii() and b"\\u" not in body


def _is_odd(text: str) -> bool:
    return not text.isascii() or "\x00" in text


def _check_text(
    model: type[BaseModel], value: Any, text: TextPolicy, *, is_plain: bool, chars: int, bounds: JsonBounds
) -> Slices[None]:
    if is_plain and not holds_free(model):
        return
    faults: dict[TextFault, list[str]] = {}
    room = MAX_PATHS_CHARS
    walk = text_faults(
        model, value, is_plain=is_plain, chars=chars, any_language=text == "any", bounds=bounds
    )
    for found in walk:
        if found is None:
            yield
            continue
        path, fault = found
        faults.setdefault(fault, []).append(path)
        room -= len(path)
        if room <= 0:
            break
    if nul := faults.get(TextFault.NUL):
        raise InvalidRequest(f"{nul[0]}: NUL bytes are not allowed", fields=nul)
    if cjk := faults.get(TextFault.CJK):
        raise NonEnglishInput(CJK_MESSAGE, fields=cjk)
    if deep := faults.get(TextFault.DEEP):
        raise InvalidRequest(f"{deep[0]}: nested deeper than {bounds.depth} levels", fields=deep)
    if long := faults.get(TextFault.LONG):
        problem = f"string or key should have at most {bounds.string_chars} characters"
        raise InvalidRequest(f"{long[0]}: {problem}", fields=long)


def _validated(validate: Callable[[], Model]) -> Model:
    try:
        return validate()
    except ValidationError as error:
        raise _invalid(error) from None


def _invalid(error: ValidationError) -> InvalidRequest:
    told = faults_told(error)
    first = dict(reversed(told))  # a path with several faults is named once, for the first of them
    paths = list(dict.fromkeys(path for path, _ in told))
    return InvalidRequest(
        in_words(told, most=MAX_FAULTS_SHOWN), fields=paths, problems=[first[path] for path in paths]
    )
