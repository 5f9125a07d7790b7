"""The folder of an embedded index: its lock, its marks and its endpoint."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from elf.index.edge.folder import (
    MAX_SOCKET_PATH_BYTES,
    CleanMark,
    FolderInUse,
    FolderUnusable,
    IndexFolder,
    Layout,
    ShardFolder,
)
from tests.folders import fresh_folder


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    first, second = IndexFolder(tmp_path / "new" / "index"), IndexFolder(tmp_path / "new" / "index")
    with first.owned(), pytest.raises(FolderInUse, match="in use"), second.owned():
        pytest.fail("owned twice")
    with IndexFolder(tmp_path / "new" / "index").owned():
        assert (tmp_path / "new" / "index").stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(FolderUnusable, match="file/index"), IndexFolder(tmp_path / "file" / "index").owned():
        pytest.fail("owned a folder inside a file")


def test_a_folder_that_holds_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "shard").mkdir()
    (tmp_path / "shard" / "of a pot").write_text("mine")
    with pytest.raises(FolderUnusable, match="it holds shard"), IndexFolder(tmp_path).owned():
        pytest.fail("owned somebody else's folder")
    assert [path.name for path in tmp_path.rglob("*")] == ["shard", "of a pot"]


@pytest.mark.parametrize("name", [".DS_Store", "lost+found", "layout.json"])
def test_what_a_system_or_an_index_leaves_in_a_folder_is_no_reason_to_refuse_it(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).touch()
    with IndexFolder(tmp_path).owned():
        assert (tmp_path / "lock").exists()


def test_the_clean_mark_is_taken_once(tmp_path: Path) -> None:
    folder = ShardFolder(tmp_path)
    assert folder.take_clean_mark() is None
    folder.write_clean_mark(CleanMark(points=3))
    assert folder.take_clean_mark() == CleanMark(points=3)
    assert folder.take_clean_mark() is None


@pytest.mark.parametrize("content", [b"", b"{", b'{"points": "many"}', b"\xff"])
def test_a_torn_mark_is_no_mark(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "clean.json").write_bytes(content)
    (tmp_path / "layout.json").write_bytes(content)
    folder = ShardFolder(tmp_path)
    assert folder.take_clean_mark() is None
    assert folder.read_layout() is None


def test_openings_that_did_not_end_are_counted(tmp_path: Path) -> None:
    folder = ShardFolder(tmp_path)
    assert [folder.begin_opening() for _ in range(3)] == [0, 1, 2]
    folder.end_opening()
    assert folder.begin_opening() == 0


def test_discarding_the_shard_leaves_what_is_not_the_engines(tmp_path: Path) -> None:
    folder = ShardFolder(tmp_path)
    folder.write_layout(Layout(version=1, vector_dim=8, avg_len=20.0))
    (folder.shard / "segments").mkdir(parents=True)
    (tmp_path / "other").write_text("mine")
    folder.discard_shard()
    folder.discard_shard()
    assert folder.read_layout() is None
    assert [entry.name for entry in tmp_path.iterdir()] == ["other"]


def test_a_link_in_the_place_of_the_shard_is_removed_but_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("data")
    folder = ShardFolder(tmp_path / "index")
    folder.root.mkdir()
    folder.shard.symlink_to(elsewhere)
    folder.discard_shard()
    assert not folder.shard.exists()
    assert (elsewhere / "precious").read_text() == "data"


def test_the_socket_lies_in_the_folder_when_its_path_is_short(tmp_path: Path) -> None:
    folder = IndexFolder(tmp_path / "i")
    assert folder.choose_socket_path() == folder.root / "index.sock"


def test_a_long_folder_gets_a_short_socket_path_of_its_own_in_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fresh_folder() as short:  # as tmp_path need not be
        monkeypatch.setattr("tempfile.tempdir", str(short))
        one, two = (IndexFolder(tmp_path / ("x" * 120) / name).choose_socket_path() for name in ("a", "b"))
        assert one != two
        assert len(os.fsencode(one)) <= MAX_SOCKET_PATH_BYTES
        assert one.parent.stat().st_mode & 0o777 == 0o700


def test_a_temporary_folder_that_others_may_enter_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"elf-{os.getuid()}").mkdir()
    (tmp_path / f"elf-{os.getuid()}").chmod(0o755)
    with pytest.raises(FolderUnusable, match="this user alone"):
        IndexFolder(tmp_path / ("x" * 120)).choose_socket_path()


def test_the_endpoint_is_found_from_the_folder(tmp_path: Path) -> None:
    folder = IndexFolder(tmp_path)
    with pytest.raises(FileNotFoundError):
        folder.read_endpoint()
    folder.publish_endpoint(tmp_path / "ü.sock")
    assert IndexFolder(tmp_path).read_endpoint() == tmp_path / "ü.sock"
    folder.withdraw_endpoint()
    folder.withdraw_endpoint()
    with pytest.raises(FileNotFoundError):
        folder.read_endpoint()
