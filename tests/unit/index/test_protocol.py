"""Frames and messages of the embedded index."""

from __future__ import annotations

import math

import msgspec
import pytest

from elf.families.notes.keeping.space import NOTES
from elf.index.edge.protocol import (
    MAX_FRAME_BYTES,
    Count,
    Counted,
    Done,
    FrameBuffer,
    FrameEncoder,
    Open,
    ProtocolError,
    Query,
    ReplyDecoder,
    Request,
    RequestDecoder,
    Scan,
    Upsert,
    WireFilter,
    WirePoint,
    WireQuery,
    split_ids,
)
from elf.index.within import Within

ID = bytes(range(16))
REQUESTS: list[Request] = [
    Count(1),
    Scan(2, ID, 10),
    Scan(3, None, 10),
    Query(4, [WireQuery(b"\0" * 8, "wörds 😀", WireFilter({"a": "b"}, [{"c": ["d", "e"]}, {}]), 60)]),
    Query(5, [WireQuery(None, None, WireFilter({}, within=Within("group", frozenset(["a", "é"]))), 1)]),
    Open(6, NOTES),
    Query(7, [WireQuery(None, None, WireFilter({}, None, "kéy", {"created_at": ("x", None)}, ID * 2), 1)]),
    Upsert(8, [WirePoint(ID, ID, b"\0" * 8, "", {"a": None, "b": 1, "c": 0.5, "d": True, "e": "x"}, ID)]),
]
NAMELESS = msgspec.msgpack.encode(["Open", 1, msgspec.to_builtins(NOTES) | {"name": "No name"}])


@pytest.mark.parametrize("size", [1, 3, 7, 10_000])
def test_requests_come_out_as_they_went_in_however_the_bytes_are_cut(size: int) -> None:
    stream = b"".join(FrameEncoder().encode(request) for request in REQUESTS)
    buffer, decoder = FrameBuffer(), RequestDecoder()
    received = [
        decoder.decode(frame)
        for start in range(0, len(stream), size)
        for frame in buffer.feed(stream[start : start + size])
    ]
    assert received == REQUESTS


def test_replies_keep_their_kind() -> None:
    decoder = ReplyDecoder()
    for reply in (Done(7), Counted(8, 9)):
        [frame] = FrameBuffer().feed(FrameEncoder().encode(reply))
        assert decoder.decode(frame) == reply


@pytest.mark.parametrize(
    "frame", [b"", b"\xc1", b"garbage", b"\x92\xa7Unknown\x01", b"\x92\xa5Count\xa1x", NAMELESS]
)
def test_bytes_that_are_no_message_are_refused(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        RequestDecoder().decode(frame)
    with pytest.raises(ProtocolError):
        ReplyDecoder().decode(frame)


def test_an_announced_frame_that_is_too_long_is_refused_before_it_comes() -> None:
    with pytest.raises(ProtocolError, match="longer than"):
        list(FrameBuffer().feed((MAX_FRAME_BYTES + 1).to_bytes(4, "big")))


@pytest.mark.parametrize("value", ["\ud800", 2**70, object()])
def test_a_value_without_a_wire_form_is_refused(value: object) -> None:
    payload: dict[str, object] = {"field": value}
    with pytest.raises(ProtocolError):
        FrameEncoder().encode(Upsert(1, [WirePoint(ID, ID, b"", "", payload)]))  # type: ignore[arg-type]


def test_a_number_that_is_not_finite_travels_unchanged() -> None:
    [frame] = FrameBuffer().feed(
        FrameEncoder().encode(Upsert(1, [WirePoint(ID, ID, b"", "", {"x": math.inf})]))
    )
    request = RequestDecoder().decode(frame)
    assert isinstance(request, Upsert)
    assert request.points[0].payload == {"x": math.inf}


def test_ids_are_cut_apart_at_16_bytes() -> None:
    assert split_ids(ID + ID[::-1]) == [ID, ID[::-1]]
    with pytest.raises(ProtocolError):
        split_ids(ID[:-1])
