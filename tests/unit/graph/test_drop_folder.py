"""The drop folder: what lies in it, how it is read, and how it is moved, whatever anybody puts there."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from elf.families.graph.errors import UnsafeLayout
from elf.families.graph.ingest import drop_folder
from elf.families.graph.ingest.drop_folder import DropFolder, Replaced
from elf.families.graph.ingest.folders import open_folders
from elf.families.graph.ingest.rejection import Rejection

MOST = 1000
NOBODY = 65534


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "memory"
    place.mkdir()
    return place


@pytest.fixture
def ingest(memory: Path) -> Path:
    return memory / "ingest"


@pytest.fixture
def folder(memory: Path) -> Iterator[DropFolder]:
    with open_folders(str(memory)) as folders:
        yield DropFolder(folders)


def names_in(folder: DropFolder) -> list[str]:
    return [entry.name for entry in folder.waiting()]


def rejection_of(folder: DropFolder, name: str) -> str:
    entry = folder.look(name)
    assert entry is not None
    with pytest.raises(Rejection) as caught:
        folder.read(entry, max_bytes=MOST)
    return caught.value.code


def swap_before(monkeypatch: pytest.MonkeyPatch, call: str, swap: Callable[[], None]) -> None:
    """Have somebody do something just before the next call of a function of the system."""
    real = getattr(os, call)

    def raced(*given: object, **named: object) -> object:
        monkeypatch.undo()
        swap()
        return real(*given, **named)

    monkeypatch.setattr(drop_folder.os, call, raced)


def test_the_folders_are_made_for_their_owner_alone(ingest: Path, folder: DropFolder) -> None:
    made = [ingest, ingest / "processed", ingest / "rejected"]
    assert [one.stat().st_mode & 0o777 for one in made] == [0o700] * 3


@pytest.mark.parametrize("name", ["ingest", "ingest/processed", "ingest/rejected"])
@pytest.mark.parametrize("instead", ["file", "link", "pipe"])
def test_something_else_where_a_folder_should_be_is_an_unsafe_layout(
    memory: Path, name: str, instead: str
) -> None:
    (memory / name).parent.mkdir(exist_ok=True)
    outside = memory.parent / "outside"
    outside.mkdir()
    if instead == "file":
        (memory / name).write_text("no folder")
    elif instead == "link":
        (memory / name).symlink_to(outside)
    else:
        os.mkfifo(memory / name)

    with pytest.raises(UnsafeLayout, match=name), open_folders(str(memory)):
        pass

    assert list(outside.iterdir()) == []


def test_a_memory_that_is_reached_over_a_link_is_an_unsafe_layout(memory: Path) -> None:
    (memory.parent / "link").symlink_to(memory)
    with pytest.raises(UnsafeLayout), open_folders(str(memory.parent / "link")):
        pass
    assert list(memory.iterdir()) == []


def test_files_wait_in_the_order_of_their_names_and_folders_and_unfinished_ones_stay(
    ingest: Path, folder: DropFolder
) -> None:
    for name in ("b.md", "a.txt", "Z.json", ".hidden.md", "c.md.tmp", "d.md.PART", "é.md"):
        (ingest / name).write_text("text")
    (ingest / "folder.md").mkdir()
    assert names_in(folder) == ["Z.json", "a.txt", "b.md", "é.md"]


def test_a_file_is_read_as_it_is(ingest: Path, folder: DropFolder) -> None:
    data = bytes(range(256))
    (ingest / "a.txt").write_bytes(data)
    (entry,) = folder.waiting()
    read = folder.read(entry, max_bytes=256)
    assert (read.name, read.data, read.stamp) == ("a.txt", data, entry.stamp)


def test_what_is_no_single_regular_file_is_not_read(ingest: Path, folder: DropFolder) -> None:
    outside = ingest.parent / "outside.md"
    outside.write_text("not yours")
    (ingest / "link.md").symlink_to(outside)
    (ingest / "dangling.md").symlink_to("nowhere")
    os.link(outside, ingest / "second-name.md")
    os.mkfifo(ingest / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listening:
        before = os.getcwd()
        os.chdir(ingest)  # the path of a socket has to be short
        listening.bind("socket.md")
        os.chdir(before)
        assert {name: rejection_of(folder, name) for name in names_in(folder)} == dict.fromkeys(
            ["dangling.md", "link.md", "pipe.md", "second-name.md", "socket.md"], "not_regular_file"
        )


def test_a_file_that_is_too_large_is_not_read(ingest: Path, folder: DropFolder) -> None:
    (ingest / "huge.txt").touch()
    os.truncate(ingest / "huge.txt", 1 << 40)
    assert rejection_of(folder, "huge.txt") == "file_too_large"
    (ingest / "whole.txt").write_bytes(b"x" * MOST)
    entry = folder.look("whole.txt")
    assert entry is not None
    assert len(folder.read(entry, max_bytes=MOST).data) == MOST


def test_a_file_that_changes_while_it_is_read_is_rejected(
    ingest: Path, folder: DropFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ingest / "a.txt").write_text("half")
    (entry,) = folder.waiting()

    def write_on() -> None:
        with (ingest / "a.txt").open("a") as file:
            file.write(" and half")

    swap_before(monkeypatch, "read", write_on)
    with pytest.raises(Rejection) as caught:
        folder.read(entry, max_bytes=MOST)
    assert caught.value.code == "file_changed"


@pytest.mark.parametrize("instead", ["file", "link", "pipe", "folder", "nothing"])
def test_what_takes_the_place_of_a_file_before_it_is_opened_is_not_read(
    ingest: Path, folder: DropFolder, monkeypatch: pytest.MonkeyPatch, instead: str
) -> None:
    (ingest / "a.md").write_text("mine")
    (entry,) = folder.waiting()
    swap_before(monkeypatch, "open", lambda: put_instead(ingest / "a.md", instead))
    with pytest.raises(Replaced):
        folder.read(entry, max_bytes=MOST)


@pytest.mark.parametrize("instead", ["file", "link", "pipe", "folder", "nothing"])
@pytest.mark.parametrize("moment", ["stat", "rename"])
def test_what_takes_the_place_of_a_file_before_it_is_moved_stays_in_the_drop_folder(
    ingest: Path, folder: DropFolder, monkeypatch: pytest.MonkeyPatch, instead: str, moment: str
) -> None:
    (ingest / "a.md").write_text("mine")
    (entry,) = folder.waiting()
    swap_before(monkeypatch, moment, lambda: put_instead(ingest / "a.md", instead))

    with pytest.raises(Replaced):
        folder.move("a.md", entry.stamp, "processed", "a.md")

    assert list((ingest / "processed").iterdir()) == []
    assert os.path.lexists(ingest / "a.md") == (instead != "nothing")


def put_instead(path: Path, instead: str) -> None:
    kept = path.parent.parent / "kept"
    path.rename(kept)  # so that what comes does not get its inode
    outside = path.parent.parent / "outside"
    if instead == "file":
        path.write_text("other")
    elif instead == "link":
        outside.write_text("outside")
        path.symlink_to(outside)
    elif instead == "pipe":
        os.mkfifo(path)
    elif instead == "folder":
        path.mkdir()


def test_a_link_is_itself_moved(ingest: Path, folder: DropFolder) -> None:
    outside = ingest.parent / "outside.md"
    outside.write_text("not yours")
    (ingest / "link.md").symlink_to(outside)
    (entry,) = folder.waiting()
    folder.move("link.md", entry.stamp, "rejected", folder.free_name("rejected", "link.md"))
    assert (ingest / "rejected" / "link.md").readlink() == outside
    assert outside.read_text() == "not yours"


def test_names_that_clash_with_a_file_or_a_manifest_get_a_number(ingest: Path, folder: DropFolder) -> None:
    (ingest / "processed" / "a.md").write_text("there already")
    (ingest / "processed" / "a.md.1.processed.json").write_text("{}")
    (ingest / "processed" / "a.md.2").symlink_to("nowhere")
    assert folder.free_name("processed", "a.md") == "a.md.3"
    assert folder.free_name("rejected", "a.md") == "a.md"


def test_a_file_that_may_not_be_moved_stays(memory: Path, ingest: Path, folder: DropFolder) -> None:
    (ingest / "a.md").write_text("mine")
    (entry,) = folder.waiting()
    (ingest / "processed").chmod(0o500)
    user = os.geteuid()
    if user == 0:  # who may do all is refused nothing
        for path in (ingest, ingest / "processed", memory):
            os.chown(path, NOBODY, -1)
        os.seteuid(NOBODY)
    try:
        with pytest.raises(OSError, match="denied") as caught:
            folder.move("a.md", entry.stamp, "processed", "a.md")
    finally:
        if user == 0:
            os.seteuid(0)
    assert caught.value.errno == errno.EACCES
    assert (ingest / "a.md").read_text() == "mine"
