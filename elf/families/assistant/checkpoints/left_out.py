"""Puts the texts that are sent once, in the summary of a checkpoint, into the values that they were left out of."""

from __future__ import annotations

from typing import Any

from elf.core.errors import InvalidRequest
from elf.core.long_texts import long_texts, put_in
from elf.core.slices import Slices
from elf.families.assistant.api import checkpoints as a


def whole_values(request: a.PutCheckpoint) -> Slices[list[a.ChannelValue]]:
    """Return the values of a checkpoint whole, the last one of each channel and version.

    They have not many more bytes than the body of the request, for no part of the summary may be in two values. Raises
    InvalidRequest where they say of texts what the summary does not.
    """
    values: dict[tuple[str, str], a.ChannelValue] = {}
    used: set[tuple[str, str]] = set()
    for index, value in enumerate(request.values):
        if value.left_out is not None:
            value = yield from _whole(
                value, value.left_out, request.summary, f"$.values[{index}].left_out", used
            )
        values[value.channel, value.version] = value
    return list(values.values())


def _whole(
    value: a.ChannelValue,
    left_out: a.LeftOut,
    summary: dict[str, Any] | None,
    path: str,
    used: set[tuple[str, str]],
) -> Slices[a.ChannelValue]:
    within = left_out.within
    where = (within, value.channel if within == "graph_state" else "")
    said = (summary or {}).get(within)
    if within == "graph_state":
        said = said.get(value.channel) if isinstance(said, dict) else None
    if where in used:
        raise _fault(f"{path}.within", "another value has the texts of this one")
    used.add(where)
    texts = yield from long_texts(said)
    try:
        data = put_in(value.data, texts, left_out.places)
    except ValueError as error:
        raise _fault(f"{path}.places", str(error)) from None
    return value.model_copy(update={"data": data, "left_out": None})


def _fault(path: str, problem: str) -> InvalidRequest:
    return InvalidRequest(f"{path}: {problem}", fields=[path])
