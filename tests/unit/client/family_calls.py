"""What the calls of a family's client ask for, held against the operations of the family."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from elf.api.operation import Operation
from elf.client.call import Call, Listing, Stream
from elf.family import Family
from elf.web.parsing import parse_body, parse_values


def call_of(asked: object) -> Call[Any]:
    """Return the call that a method made; the first one of a listing."""
    if isinstance(asked, Listing):
        return asked.at(asked.cursor)
    call = asked.call if isinstance(asked, Stream) else asked
    assert isinstance(call, Call)
    return call


def led_to(call: Call[Any], operations: Collection[Operation]) -> tuple[Operation, dict[str, str]]:
    """Return the operation that a call asks for, with the values in its path; one without parameters comes first."""
    path = unquote(urlsplit(call.target).path)
    for operation in sorted(operations, key=lambda one: len(one.path_parameters)):
        found = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", operation.path), path)
        if found is not None and operation.method == call.method:
            return operation, found.groupdict()
    raise AssertionError(f"nothing is offered at {call.method} {path}")


def taken(calls: Iterable[Call[Any]], family: Family) -> set[Operation]:
    """Return the operations that calls ask for; each has to take the arguments, at the address that it is served at."""
    led = set()
    for call in calls:
        operation, values = led_to(call, (*family.operations, *family.admin_operations))
        if call.content is None:
            parse_values(operation.request, dict(parse_qsl(urlsplit(call.target).query)) | values, text="any")
        else:
            parse_body(operation.request, call.content, values)
        assert call.for_operators == (operation in family.admin_operations), call.target
        led.add(operation)
    return led
