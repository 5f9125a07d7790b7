"""Named SQL: what the loader reads, and what it refuses."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elf.core.errors import StartupError
from elf.db import queries
from elf.db.queries import Queries, parse_blocks, sql_folder

NAMES = st.from_regex(r"q_[a-z0-9_]{0,12}", fullmatch=True)
LINES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=20)
BODIES = st.lists(
    LINES.filter(lambda line: "--" not in line and not line.endswith(";")), min_size=1, max_size=4
).map("\n".join)


def write(folder: Path, text: str, name: str = "some.queries.sql") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


@settings(deadline=None)  # a busy machine is no fault
@given(st.dictionaries(NAMES, BODIES, max_size=6))
def test_what_is_written_as_blocks_is_read_back_by_name(statements: dict[str, str]) -> None:
    text = "-- About this file.\n\n" + "\n\n".join(
        f"-- name: {name}\n-- Does something.\n{body};" for name, body in statements.items()
    )
    read = dict(parse_blocks(text, source="here"))
    assert read == {name: f"-- {name}\n{body}" for name, body in statements.items()}


@settings(deadline=None)  # a busy machine is no fault
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_its_source(text: str) -> None:
    try:
        blocks = list(parse_blocks(text, source="the source"))
    except StartupError as error:
        blocks = []
        named = "the source" in str(error)
    else:
        named = True
    assert named
    assert all(statement.startswith(f"-- {name}\n") for name, statement in blocks)


def test_queries_are_items_and_attributes(tmp_path: Path) -> None:
    loaded = Queries.load(write(tmp_path, "-- name: one\n-- Gives one.\nSELECT 1;"), required=["one"])
    assert loaded["one"] == loaded.one == "-- one\nSELECT 1"
    assert list(loaded) == ["one"]
    with pytest.raises(AttributeError, match="two"):
        _ = loaded.two
    with pytest.raises(KeyError):
        _ = loaded["two"]
    assert copy.copy(loaded) == loaded


def test_all_files_of_a_folder_are_read(tmp_path: Path) -> None:
    write(tmp_path, "-- name: one\n-- Gives one.\nSELECT 1", "a.queries.sql")
    write(tmp_path, "-- name: two\n-- Gives two.\nSELECT 2", "b.queries.sql")
    write(tmp_path, "CREATE TABLE t ()", "tables.sql")
    assert set(Queries.load(tmp_path)) == {"one", "two"}


def test_a_required_query_that_is_missing_is_an_error_that_names_it(tmp_path: Path) -> None:
    write(tmp_path, "-- name: one\n-- Gives one.\nSELECT 1")
    with pytest.raises(StartupError, match="three, two"):
        Queries.load(tmp_path, required=["one", "two", "three"])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("-- name: Not-A-Name\n-- Text.\nSELECT 1", "not a query name"),
        ("-- name:\n-- Text.\nSELECT 1", "not a query name"),
        ("-- name: keys\n-- Text.\nSELECT 1", "not a query name"),
        ("-- name: bare\nSELECT 1", "bare has no sentence"),
        ("-- name: hollow\n-- Text.\n;", "hollow has no statement"),
        ("-- name: hollow\n-- Text.\n-- name: next\n-- Text.\nSELECT 1", "hollow has no statement"),
        ("-- name: twin\n-- A.\nSELECT 1;\n-- name: twin\n-- B.\nSELECT 2", "twin is defined twice"),
    ],
)
def test_a_malformed_block_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(StartupError, match=complaint):
        Queries.load(write(tmp_path, text))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "some.queries.sql").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StartupError, match=r"some\.queries\.sql cannot be read"):
        Queries.load(tmp_path)


def test_the_sql_folder_is_found_beside_the_package_and_inside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = sql_folder()
    assert (checkout / "init.sql").is_file()
    module = tmp_path / "elf" / "db" / "queries.py"
    monkeypatch.setattr(queries, "__file__", str(module))
    with pytest.raises(StartupError, match=r"no init\.sql"):
        sql_folder()
    shutil.copytree(checkout, tmp_path / "elf" / "sql")
    assert sql_folder() == tmp_path / "elf" / "sql"
