"""Answers as JSON, in parts: a page of notes may be many mebibytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Final

import anyio.lowlevel
import msgspec
from pydantic import BaseModel

from elf.api.operation import Answer
from elf.core.slices import Slices, in_slices
from elf.web.response import JSON, Response

_PART_BYTES: Final = 256 * 1024


def _written(value: object) -> msgspec.Raw:
    if isinstance(value, BaseModel):
        return msgspec.Raw(value.model_dump_json())
    raise TypeError(f"{type(value).__name__} has no JSON")


_encode = msgspec.json.Encoder(enc_hook=_written).encode


def json_of(answer: Answer) -> bytes:
    """Return the JSON of an answer that is small."""
    return answer.model_dump_json().encode() if isinstance(answer, BaseModel) else _encode(answer)


async def json_response(answer: Answer, *, status: int = 200) -> Response:
    """Return an answer on its way; a large one is written and sent part by part."""
    parts = await in_slices(rendering(answer))
    if len(parts) == 1:
        return Response(parts[0], status=status, content_type=JSON)
    return Response(_sent(parts), status=status, content_type=JSON, length=sum(map(len, parts)))


def rendering(answer: Answer) -> Slices[list[bytes]]:
    """Return the JSON of an answer in parts of some size; of a struct, the items of lists one by one."""
    if isinstance(answer, BaseModel) or not _has_list(answer):
        return [json_of(answer)]
    parts = [bytearray()]
    for piece in _pieces(answer):
        if len(parts[-1]) >= _PART_BYTES:
            parts.append(bytearray())
        parts[-1] += piece
        yield
    return [bytes(part) for part in parts]


def _has_list(answer: msgspec.Struct) -> bool:
    return any(isinstance(getattr(answer, name), list) for name in answer.__struct_fields__)


def _pieces(answer: msgspec.Struct) -> Iterator[bytes]:
    left_out: tuple[object, ...] = (msgspec.UNSET,)
    if answer.__struct_config__.omit_defaults:
        left_out += (None,)
    opening = b"{"
    for name in answer.__struct_encode_fields__:
        value = getattr(answer, name)
        if any(value is one for one in left_out):
            continue
        yield opening + _encode(name) + b":"
        opening = b","
        if isinstance(value, list):
            yield from _items(value)
        else:
            yield _encode(value)
    yield b"}" if opening == b"," else b"{}"


def _items(values: Sequence[object]) -> Iterator[bytes]:
    yield b"["
    for number, value in enumerate(values):
        yield b"," + _encode(value) if number else _encode(value)
    yield b"]"


async def _sent(parts: Sequence[bytes]) -> AsyncGenerator[bytes, None]:
    for part in parts:
        yield part
        await anyio.lowlevel.checkpoint()
