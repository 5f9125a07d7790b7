"""Unpacking and decoding within bounds, whatever the bytes are."""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.providers.answer import Unreadable, decoded, unpacked

ANYTHING: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


@pytest.mark.parametrize("coding", ["", "identity", " Identity "])
def test_what_is_not_packed_stays_as_it_is(coding: str) -> None:
    assert unpacked(b"anything", coding, most_bytes=8) == b"anything"


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", " GZIP"])
@given(content=st.binary(max_size=2000))
def test_gzip_is_unpacked_up_to_the_bound(coding: str, content: bytes) -> None:
    packed = gzip.compress(content)
    assert unpacked(packed, coding, most_bytes=len(content)) == content
    if content:
        with pytest.raises(Unreadable, match="larger"):
            unpacked(packed, coding, most_bytes=len(content) - 1)


def test_a_bomb_is_not_unpacked_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    grown: list[int] = []
    original = zlib.decompressobj

    class Watched:
        def __init__(self, wbits: int) -> None:
            self._inner = original(wbits)

        def decompress(self, content: bytes, most: int) -> bytes:
            plain = self._inner.decompress(content, most)
            grown.append(len(plain))
            return plain

    monkeypatch.setattr(zlib, "decompressobj", Watched)
    with pytest.raises(Unreadable, match="larger than the 1000 bytes"):
        unpacked(gzip.compress(b" " * 10_000_000), "gzip", most_bytes=1000)
    assert grown == [1001]


@pytest.mark.parametrize("coding", ["br", "zstd", "deflate", "compress", "gzip, gzip", "é"])
def test_other_packings_are_refused(coding: str) -> None:
    with pytest.raises(Unreadable, match="not asked for"):
        unpacked(b"anything", coding, most_bytes=100)


WHOLE = gzip.compress(b'{"fine": true}', mtime=0)


@pytest.mark.parametrize(
    "content", [b"", b"plain", WHOLE[:-1], WHOLE + b"x", WHOLE + WHOLE, WHOLE[:9] + b"\xff" * 9]
)
def test_what_is_no_single_whole_gzip_is_refused(content: bytes) -> None:
    with pytest.raises(Unreadable, match="not the gzip"):
        unpacked(content, "gzip", most_bytes=1000)


def test_what_json_has_no_numbers_for_reads_as_null() -> None:
    content = b'{"a": [NaN, -Infinity, Infinity, 1.5], "b": "x"}'
    assert decoded(ANYTHING, content, "is bad") == {"a": [None, None, None, 1.5], "b": "x"}


@given(
    content=st.binary(max_size=200)
    | st.text(alphabet='[]{}",:0123456789eE+-.NaInfity\\u ', max_size=200).map(str.encode)
)
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with suppress(Unreadable):
        decoded(ANYTHING, content, "is bad")


@pytest.mark.parametrize(
    "content",
    [b"[" * 1_000_000, b'{"a":' * 200_000, b"1" * 1_000_000, b"1e999999", b'"\\ud800"', b'"\xff"'],
    ids=lambda content: repr(content[:12]),
)
def test_what_would_break_a_reader_is_refused(content: bytes) -> None:
    with pytest.raises(Unreadable, match="is bad"):
        decoded(msgspec.json.Decoder(list[float] | str), content, "is bad")
