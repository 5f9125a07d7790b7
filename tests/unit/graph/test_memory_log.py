"""The log of a memory: lines of several processes, whole, and no more of them than there is room for."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from elf.families.graph.store import log_file
from elf.families.graph.store.log_file import append_events, remove_lines

ROOM = 200


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(log_file, "FULL_BYTES", ROOM)
    return tmp_path / "memory.log"


def numbers_in(path: Path) -> list[int]:
    return [json.loads(line)["number"] for line in path.read_text().splitlines()]


def append(path: Path | str, number: int, **other: Any) -> None:
    append_events(path, [{"event": "memory.test", "number": number}], **other)


def test_a_full_log_is_put_aside_in_the_place_of_the_one_before(path: Path) -> None:
    for number in range(40):
        append(path, number)
    aside = path.with_name("memory.log.1")
    assert sorted(os.listdir(path.parent)) == [path.name, aside.name]
    kept = numbers_in(aside) + numbers_in(path)
    assert kept == list(range(kept[0], 40))
    assert kept[0] > 0
    assert ROOM <= aside.stat().st_size < ROOM + 50


def test_a_log_that_is_named_in_a_folder_is_put_aside_there(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        for number in range(10):
            append(path.name, number, folder=folder)
    finally:
        os.close(folder)
    assert sorted(os.listdir(path.parent)) == ["memory.log", "memory.log.1"]


def test_a_full_log_that_another_process_writes_to_is_put_aside_by_the_next(path: Path) -> None:
    path.write_bytes(b"x" * ROOM)
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        append(path, 1)
        assert os.listdir(path.parent) == [path.name]
    append(path, 2)
    assert numbers_in(path) == [2]


def test_a_log_that_has_taken_the_place_of_a_full_one_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"x" * ROOM)
    lock = fcntl.flock

    def raced(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(log_file.fcntl, "flock", lock)
        path.rename(path.with_name("memory.log.1"))
        append(path, 1)
        lock(descriptor, operation)

    monkeypatch.setattr(log_file.fcntl, "flock", raced)
    append(path, 2)
    assert numbers_in(path) == [1, 2]
    assert path.with_name("memory.log.1").read_bytes() == b"x" * ROOM


def test_a_link_is_not_followed(path: Path) -> None:
    elsewhere = path.with_name("elsewhere")
    elsewhere.write_bytes(b"x" * ROOM)
    path.symlink_to(elsewhere)
    append(path, 1)
    assert elsewhere.read_bytes() == b"x" * ROOM
    assert path.is_symlink()


def test_no_line_is_lost_that_is_appended_while_others_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "memory.log"
    path.parent.mkdir()

    def write(first: int) -> None:
        for number in range(first, first + 300):
            append(path, number)
            append_events(path, [{"event": "memory.test", "actor": "ana"}])

    writers = [Thread(target=write, args=(first,)) for first in (0, 1000, 2000)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        remove_lines(path, "ana")
    remove_lines(path, "ana")
    expected = [number for first in (0, 1000, 2000) for number in range(first, first + 300)]
    assert sorted(numbers_in(path)) == expected
