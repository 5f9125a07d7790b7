"""Reading what a provider answers, within bounds: never more bytes than was asked for, packed or unpacked."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, TypeVar, cast

import httpx
import msgspec

T = TypeVar("T")

PLAIN: Final = frozenset({"", "identity"})
GZIP: Final = frozenset({"gzip", "x-gzip"})
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
# What Python servers write, and JSON does not know.
_NO_NUMBERS: Final = (b"-Infinity", b"Infinity", b"NaN")


class Unreadable(Exception):
    """An answer is not what was asked for; the message says in what way, and repeats nothing of the answer."""


async def body_of(response: httpx.Response, *, most_bytes: int) -> bytes:
    """Return the body as it came, maybe packed. Raises Unreadable at the first byte too many."""
    declared = response.headers.get("Content-Length", "")
    if declared.isascii() and declared.isdecimal() and _exceeds(declared, most_bytes):
        raise _too_large(most_bytes)
    received: list[bytes] = []
    size = 0
    # The stream itself, a generator in every transport: the methods of the response unpack without bound.
    stream = cast("httpx.AsyncByteStream", response.stream)
    async with aclosing(cast("AsyncGenerator[bytes]", aiter(stream))) as parts:
        async for part in parts:
            size += len(part)
            if size > most_bytes:
                raise _too_large(most_bytes)
            received.append(part)
    return b"".join(received)


def _exceeds(digits: str, most: int) -> bool:
    significant = digits.lstrip("0")
    return len(significant) > 18 or int(significant or "0") > most


def unpacked(content: bytes, coding: str, *, most_bytes: int) -> bytes:
    """Return a body without its content coding, which may be gzip although nobody asked for it.

    Raises Unreadable for another one, for what is no whole gzip, and for what would grow beyond `most_bytes`.
    """
    name = coding.strip().lower()
    if name in PLAIN:
        return content
    if name not in GZIP:
        raise Unreadable("is packed in a way that was not asked for")
    unpack = zlib.decompressobj(_GZIP_WINDOW)
    try:
        plain = unpack.decompress(content, most_bytes + 1)
    except zlib.error:
        raise Unreadable("is not the gzip that it says") from None
    if len(plain) > most_bytes:
        raise _too_large(most_bytes)
    if not unpack.eof or unpack.unused_data:
        raise Unreadable("is not the gzip that it says")
    return plain


def decoded(decoder: msgspec.json.Decoder[T], content: bytes, problem: str) -> T:
    """Return the JSON that a decoder knows, NaN and the infinities read as null. Raises Unreadable with `problem`.

    Takes time and memory in proportion to the content, whatever it holds.
    """
    try:
        try:
            return decoder.decode(content)
        except msgspec.DecodeError:
            plain = _without_no_numbers(content)
            if plain is None:
                raise
            return decoder.decode(plain)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise Unreadable(problem) from None


def _without_no_numbers(content: bytes) -> bytes | None:
    if not any(word in content for word in _NO_NUMBERS):
        return None
    for word in _NO_NUMBERS:
        content = content.replace(word, b"null")
    return content


def _too_large(most_bytes: int) -> Unreadable:
    return Unreadable(f"is larger than the {most_bytes} bytes that what was asked for can take")
