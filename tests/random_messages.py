"""Random messages of protobuf: right ones, wrong ones, and bytes that are none."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Struct, Value

INTEGERS: Final = (0, 0, 1, 2, 20, 200, 201, -1, 2**31 - 1, -(2**31))
ENUMS: Final = (0, 1, 1, 2, 2, 3, 4, 5, -1)
NUMBERS: Final = (0.0, -0.0, 1.0, 0.5, 1e308, 5e-324, math.nan, math.inf, -math.inf, 2.0**53 + 2)
TEXTS: Final = (
    "", "x", " ", "\0", "ana", "bob", "history", "history/lc4j", "latest", "all", "none", "USER", "AI", "7", "-1",
    "\u4e2d\u6587", "\U0001f9dd", "x" * 600,
)  # fmt: skip
NAMES: Final = ("role", "text", "events", "attachments", "href", "contentType", "", "\0", "x")


class RandomMessages:
    """Messages by a seed; `ids` are ids that mean something."""

    def __init__(self, rng: random.Random, ids: Sequence[UUID]) -> None:
        self._rng = rng
        self._ids = ids

    def of(self, kind: Descriptor) -> Message:
        """Return a message of this kind."""
        message = GetMessageClass(kind)()
        for field in kind.fields:
            if self._rng.random() < (0.8 if field.containing_oneof else 0.2):
                continue
            if field.is_repeated:
                for _ in range(self._rng.choice((0, 1, 1, 2, 5))):
                    self._add(getattr(message, field.name), field)
            elif field.message_type is not None:
                getattr(message, field.name).CopyFrom(self._message(field.message_type))
            else:
                setattr(message, field.name, self._scalar(field))
        return message

    def bytes_of(self, kind: Descriptor) -> bytes:
        """Return the bytes of such a message, or of one that has been damaged, or just bytes."""
        data = bytearray(self.of(kind).SerializeToString())
        match self._rng.randrange(5):
            case 0:
                return self._rng.randbytes(self._rng.randrange(60))
            case 1:
                return bytes(data[: self._rng.randrange(len(data) + 1)])
            case 2 if data:
                data[self._rng.randrange(len(data))] = self._rng.randrange(256)
            case 3:
                data += b"\xfa\x7f\x03new"  # a field that nobody knows yet
        return bytes(data)

    def _add(self, values: Any, field: FieldDescriptor) -> None:
        made = self._message(field.message_type) if field.message_type is not None else self._scalar(field)
        values.append(made)

    def _message(self, kind: Descriptor) -> Message:
        if kind.full_name == Value.DESCRIPTOR.full_name:
            return self._value(self._rng.choice((0, 1, 3)))
        if kind.full_name == Struct.DESCRIPTOR.full_name:
            return self._value_of_object(2).struct_value
        return self.of(kind)

    def _scalar(self, field: FieldDescriptor) -> Any:
        match field.type:
            case FieldDescriptor.TYPE_BYTES:
                return self._id()
            case FieldDescriptor.TYPE_STRING:
                return self._rng.choice((*TEXTS, *map(str, self._ids)))
            case FieldDescriptor.TYPE_BOOL:
                return self._rng.random() < 0.5
            case FieldDescriptor.TYPE_ENUM:
                return self._rng.choice(ENUMS)
        return self._rng.choice(INTEGERS)

    def _id(self) -> bytes:
        wrong = (b"", self._rng.randbytes(16), b"x", self._ids[0].bytes * 2)
        return self._rng.choice(wrong) if self._rng.random() < 0.2 else self._rng.choice(self._ids).bytes

    def _value(self, depth: int) -> Value:
        match self._rng.randrange(7):
            case 0:
                return Value(null_value=0)  # type: ignore[arg-type]
            case 1:
                return Value(bool_value=True)
            case 2:
                return Value(number_value=self._rng.choice(NUMBERS))
            case 3:
                return Value(string_value=self._rng.choice(TEXTS))
            case 4:
                return Value()
            case 5 if depth:
                made = Value()
                made.list_value.values.extend(self._value(depth - 1) for _ in range(self._rng.randrange(4)))
                return made
            case 6 if depth:
                return self._value_of_object(depth)
        return self._nested()

    def _value_of_object(self, depth: int) -> Value:
        made = Value()
        made.struct_value.SetInParent()
        for name in self._rng.sample(NAMES, self._rng.randrange(4)):
            made.struct_value.fields[name].CopyFrom(self._value(depth - 1))
        return made

    def _nested(self) -> Value:
        outer = inner = Value()
        for _ in range(self._rng.randrange(40)):  # as deep as messages may be, and then some
            inner = inner.list_value.values.add()
        inner.bool_value = False
        return outer
