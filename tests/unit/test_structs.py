"""Reading what came as structs."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from elf.core.structs import json_decoder, read_json, read_value

AT_ONCE = """
import sys
from threading import Barrier, Thread

import msgspec

from elf.core.structs import read_json, read_value

sys.setswitchinterval(1e-6)
for number in range(300):
    inner = msgspec.defstruct("Inner", [("name", "str"), ("most", "int | None", None)])
    kind = msgspec.defstruct("Outer", [("first", inner), ("second", inner)], namespace={"number": number})
    value = {"first": {"name": "a"}, "second": {"name": "b", "most": number}}
    together = Barrier(4)
    found = []

    def read() -> None:
        together.wait()
        found.append(read_value(value, kind) == read_json(msgspec.json.encode(value), kind))

    threads = [Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4
"""


class Shelf(msgspec.Struct):
    name: str
    books: list[int] = []


def test_json_and_plain_values_are_read() -> None:
    assert read_json(b'{"name": "low", "books": [1]}', Shelf) == Shelf("low", [1])
    assert read_json('{"name": "low"}', Shelf) == read_value({"name": "low"}, Shelf) == Shelf("low")
    assert read_value(Shelf("low"), Shelf) == Shelf("low")
    assert json_decoder(Shelf) is json_decoder(Shelf)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="name"):
        read_json(b"{}", Shelf)
    with pytest.raises(msgspec.ValidationError, match="name"):
        read_value({"name": 1}, Shelf)
    with pytest.raises(msgspec.DecodeError):
        read_json(b"{", Shelf)


def test_threads_that_read_a_struct_for_the_first_time_at_once_do_no_harm() -> None:
    subprocess.run([sys.executable, "-X", "faulthandler", "-c", AT_ONCE], check=True, timeout=120)
