"""The memory tool over ELF beside the tool over a file system that comes with the package anthropic.

Both are given the same commands and have to say the same, word for word. Where ELF is stricter, a table says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from anthropic.tools import BetaLocalFilesystemMemoryTool

from elf.claude import ElfMemoryTool
from elf.client import Client
from tests.adapters.claude_kit import (
    Command,
    Said,
    create,
    delete,
    insert,
    of,
    rename,
    replace,
    said,
    view,
    without_sizes_of_folders,
)  # fmt: skip
from tests.db.assistant.assistant_kit import assistant_config, served_beside_the_others
from tests.folders import fresh_folder


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    bounds = "[assistant.files]\nmax_bytes = 4096\nmax_files = 40\nmax_versions = 2\n"
    with fresh_folder() as folder, served_beside_the_others(assistant_config(Path(folder), bounds)) as url:
        yield url


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address, tenant_id="acme") as client:
        yield client


@pytest.fixture
def ours(client: Client) -> ElfMemoryTool:
    return ElfMemoryTool(client, user_id=f"u-{uuid4()}")


@pytest.fixture
def theirs(tmp_path: Path) -> BetaLocalFilesystemMemoryTool:
    return BetaLocalFilesystemMemoryTool(str(tmp_path))


A, B = "/memories/a.md", "/memories/b.md"
TREE = [create(f"/memories/{name}", name) for name in (
    "b/deep/er/four.md", "b/deep/three.md", "b/two.md", "b.md", "a.txt", "z/.hidden.md", "z/.config/x.md",
    ".secret.md",
    "Z.md", "ä.md", "with space.md", "50%.md", "..odd", "b-c.md",
)]  # fmt: skip

SAME: Mapping[str, Sequence[Command]] = {
    "nothing is there yet": [view("/memories"), view(A), view("/memories/x/y")],
    "a file is made and seen": [create(A), view(A), view("/memories"), create(A), view(A)],
    "a file is made where a folder is": [create("/memories/x/a.md"), create("/memories/x"), create("/memories")],
    "an empty file": [create(A, ""), view(A), view("/memories"), insert(A, 0, "one"), view(A)],
    "no line end at the end": [create(A, "one\ntwo"), view(A), insert(A, 2, "three"), view(A)],
    "carriage returns stay": [create(A, "one\r\ntwo\r\n"), insert(A, 1, "1.5"), view(A), replace(A, "\r\nt",
        "T"), view(A)],
    "other line ends are none": [create(A, "one\x0btwo\x85three\u2028four\n"), view(A), insert(A, 1, "last"),
        view(A)],
    "empty lines": [create(A, "\n\n\n"), view(A), insert(A, 3, "x"), view(A), insert(A, 9, "y")],
    "ranges of lines": [
        create(A),
        *(view(A, view_range=one) for one in ([2, 3], [1, -1], [3, 3], [0, 2], [-5, 2], [5, 99], [9, 12],
            [4, 2], [1, 0], [1, -2])),
    ],
    "a range of a folder": [create(A), view("/memories", view_range=[1, 2])],
    "a tree, two levels deep": [
        *TREE, *(view(f"/memories{one}") for one in ("", "/b", "/b/deep", "/b/deep/er", "/z", "/z/.config",
            "/b/none")),
    ],
    "sizes of files": [
        *(create(f"/memories/{size}",
            "x" * size) for size in (0, 1, 1023, 1024, 1025, 1536, 2000, 2048, 4096)), view("/memories"),
    ],
    "a part is replaced": [
        create(A), replace(A, "tea", "coffee"), view(A), replace(A, "# Ana", "# Anna"), replace(A, "Mia.\n",
            "Mia.\nShe is old.\n"), view(A),
    ],
    "a part of several lines": [create(A), replace(A, "tea.\nAna lives", "tea,\nmilk\nand lives"), view(A)],
    "a part goes": [create(A), replace(A, "Ana has a cat.\n", ""), view(A), replace(A, "Ana prefers tea.", ""),
        view(A)],
    "a part is replaced by itself": [create(A), replace(A, "tea", "tea"), view(A)],
    "all is replaced": [create(A, "x"), replace(A, "x", ""), view(A), view("/memories")],
    "a part that is not there": [create(A), replace(A, "Tea", "x"), replace(A, " tea ", "x"), replace(B, "tea",
        "x"), view(A)],
    "a part that is there more than once": [
        create(A), replace(A, "Ana", "x"), replace(A, "\nAna", "x"), create(B, "aaa\naa\n"), replace(B, "aa",
            "b"), view(A), view(B),
    ],
    "what looks like a pattern or a path": [
        create(A, r"$.path is ${x} \1 %s {0}"), replace(A, r"$.path", r"\g<0>$.user_id"), view(A),
        replace(A, "$.none", "x"),
    ],
    "a folder is edited": [
        create("/memories/x/a.md"), replace("/memories/x", "a", "b"), insert("/memories/x", 0, "a"),
        replace("/memories", "a", "b"),
        insert("/memories", 0, "a"),
    ],
    "lines are put in": [
        create(A), insert(A, 0, "top"), insert(A, 7, "bottom\n"), insert(A, 2, "two\nlines\n\n"),
        insert(A, 1, ""), view(A),
    ],
    "lines are put where none are": [create(A), insert(A, 7, "x"), insert(A, -1, "x"), insert(B, 0, "x"), view(A)],
    "a file is deleted": [create(A), delete(A), view(A), delete(A), create(A, "new"), view(A)],
    "a folder is deleted": [*TREE, delete("/memories/b"), view("/memories"), view("/memories/b.md"),
        delete("/memories/b")],
    "the root stays": [create(A), delete("/memories"), delete("/memories/"), rename("/memories", B),
        view("/memories")],
    "a file is renamed": [
        create(A), rename(A, B), view(A), view(B), rename(A, "/memories/c.md"),
        rename(B, "/memories/x/y/c.md"), view("/memories/x"),
    ],
    "a folder is renamed": [*TREE, rename("/memories/b", "/memories/n/m"), view("/memories/n"),
        view("/memories/n/m/deep/three.md"),
                            view("/memories/b.md"), view("/memories/b-c.md"), view("/memories/b")],
    "a name is taken": [
        create(A), create(B), create("/memories/x/a.md"), rename(A, B), rename(A, "/memories/x"),
        rename("/memories/x", A),
        rename(A, "/memories"), rename(A, A), rename("/memories/none", B), rename("/memories/none",
            "/memories/none"), view("/memories"),
    ],
    "paths that lead elsewhere": [
        one for path in ("/etc/passwd", "memories/a.md", "", "/", "/memories/../a.md",
            "/memories/../../etc/passwd", "/memories/x/../../a.md")
        for one in (view(path), create(path), replace(path, "a", "b"), insert(path, 0, "a"), delete(path),
            rename(path, B), rename(A, path))
    ],
    "any language": [create("/memories/日本/お茶.md", "お茶が好き\n"), view("/memories/日本/お茶.md"),
        replace("/memories/日本/お茶.md", "茶", "水"),
                     view("/memories"), create("/memories/🍵.md", "🍵"), view("/memories")],
}  # fmt: skip


@pytest.mark.parametrize("case", SAME)
def test_both_tools_say_the_same(
    case: str, ours: ElfMemoryTool, theirs: BetaLocalFilesystemMemoryTool
) -> None:
    for command in SAME[case]:
        here, there = (without_sizes_of_folders(said(tool, command)) for tool in (ours, theirs))
        assert here == there, command


NO_FOLDER = "The path /memories/a.md is not a directory."
# What they do: an exception of another sort, or the text; and what ours says.
STRICTER: Mapping[str, tuple[Sequence[Command], Command, str]] = {
    "a path that only begins alike": (
        [], create("/memoriesfoo/a.md"), "Path must start with /memories, got: /memoriesfoo/a.md",
    ),
    "dots that are encoded": (
        [], create("/memories/%2e%2e/a.md"), "Path /memories/%2e%2e/a.md would escape /memories directory",
    ),
    "dots that are encoded twice": (
        [], view("/memories/%252E%252E/a.md"), "Path /memories/%252E%252E/a.md would escape /memories directory",
    ),
    "a slash that is encoded": ([], view("/memories/a%2Fb"), "Path /memories/a%2Fb would escape /memories directory"),
    "dots that lead back": (
        [create(A)], view("/memories/x/../a.md"), "Path /memories/x/../a.md would escape /memories directory",
    ),
    "an empty part": ([create(A)], view("/memories//a.md"), "Path /memories//a.md has an empty part"),
    "two slashes at the end": ([create(A)], view("/memories//"), "Path /memories// has an empty part"),
    "a dot alone": ([create(A)], view("/memories/./a.md"), "Path /memories/./a.md has a part that is no name"),
    "a blank part": ([], create("/memories/ /a.md"), "Path /memories/ /a.md has a part that is no name"),
    "a backslash": ([], create("/memories/..\\a.md"),
        "Path /memories/..\\a.md holds a character that no name may have"),
    "a line end in a name": ([], create("/memories/a\nb"),
        "Path /memories/a\nb holds a character that no name may have"),
    "NUL in a path": ([], view("/memories/a\x00b"), "path: NUL bytes are not allowed"),
    "NUL in a text": ([], create(A, "a\x00b"), "file_text: NUL bytes are not allowed"),
    "a long name": (
        [], create(f"/memories/{'ä' * 128}"),
        f"Path /memories/{'ä' * 128} is too long: at most 1024 bytes, and 255 for each part",
    ),
    "a credential as a name": (
        [], create("/memories/AKIAIOSFODNN7EXAMPLQ"),
        "A path must not hold a credential, and this one holds one of kind aws_access_key_id",
    ),
    "a folder into itself": (
        [create("/memories/x/a.md")], rename("/memories/x", "/memories/x/y"),
        "Cannot rename /memories/x to /memories/x/y, which is below it",
    ),
    "a file below a file": ([create(A)], create(f"{A}/b.md"), NO_FOLDER),
    "a file far below a file": ([create(A)], create(f"{A}/b/c.md"), NO_FOLDER),
    "a file renamed below a file": ([create(A), create(B)], rename(B, f"{A}/b.md"), NO_FOLDER),
    "no new_str": ([create(A)], of("str_replace", path=A, old_str="tea"), "new_str: is missing"),
    "no path": ([], of("view"), "path: is missing"),
    "an old_str of nothing": (
        [create(A, "")], replace(A, "", "x"), "old_str: string should have at least 1 character",
    ),
    "a range of one number": (
        [create(A)], view(A, view_range=[1]), "view_range: list should have at least 2 items after validation, not 1",
    ),
    "a number that is none": (
        [create(A)], of("insert", path=A, insert_line="one", insert_text="x"),
        "insert_line: should be a valid integer",
    ),
    "an unknown command": ([], of("undo_edit", path=A), "Unknown command: undo_edit"),
    "a text that is too large": (
        [], create(A, "ä" * 3000), "The file /memories/a.md would have 6,000 bytes, and 4,096 is the most",
    ),
    "an edit that makes it too large": (
        [create(A, "x" * 4000)], insert(A, 0, "y" * 100),
        "The file /memories/a.md would have 4,102 bytes, and 4,096 is the most",
    ),
    "too many files": (
        [create(f"/memories/{number}", "") for number in range(40)], create(A),
        "There are 40 files already, which is the most. Delete some first",
    ),
    "a path too long elsewhere": (
        [create(f"/memories/x/{'/'.join(['n' * 200] * 4)}")], rename("/memories/x", f"/memories/{'y' * 250}"),
        f"Below /memories/{'y' * 250} a path would have more than 1,024 bytes, which is the most",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STRICTER)
def test_it_refuses_in_plain_words_what_the_other_takes_or_fails_on(
    case: str, ours: ElfMemoryTool, client: Client
) -> None:
    before, command, wanted = STRICTER[case]
    assert [said(ours, one).is_error for one in before] == [False] * len(before)
    kept = [*client.assistant.files(user_id=ours.user_id)]
    assert said(ours, command) == Said(wanted, True)
    assert [*client.assistant.files(user_id=ours.user_id)] == kept
