"""Text files of a user by the client and by commands, against the whole service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import assert_type
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from elf.client import AsyncClient, Client, Conflict, InvalidRequest, NotFound, PayloadTooLarge
from elf.client.families.assistant import AssistantClient
from elf.client.families.assistant.file_results import WrittenFile
from tests.families.command_line import CommandLine, Ended
from tests.system.service import RunningService, write_config

pytestmark = pytest.mark.anyio

USER = "ana"
A = "/memories/a.md"
Elf = Callable[..., Ended]


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid4()}"


@pytest.fixture
def known(service: RunningService, tenant: str) -> Iterator[AssistantClient[Client]]:
    with Client(service.url, tenant_id=tenant) as client:
        yield client.assistant


@pytest.fixture
def elf(service: RunningService, tenant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Elf:
    """Runs a command for the user."""
    lines = {"http_bind": f'"{urlsplit(service.url).netloc}"'}
    line = CommandLine(write_config(tmp_path, **lines), tenant, capsys)

    def run(verb: str, *arguments: str) -> Ended:
        return line(AssistantClient, verb, *arguments, "--user-id", USER)

    return run


def test_files_are_kept_edited_moved_and_found(known: AssistantClient[Client]) -> None:
    made = assert_type(known.create_file(A, "Ana prefers tea.\n", user_id=USER), WrittenFile)
    assert (made.text, made.version, made.size_bytes) == (f"File created successfully at: {A}", 1, 17)
    changed = known.replace_in_file(A, "tea", "milk", expected_version=1, user_id=USER)
    assert (changed.version, changed.text.splitlines()[1]) == (2, "     1\tAna prefers milk.")
    assert known.insert_into_file(A, 0, "# Drinks", user_id=USER).version == 3
    assert known.view_file(A, view_range=[2, 2], user_id=USER).text.endswith("\n     2\tAna prefers milk.")
    assert known.rename_file(A, "/memories/x/b.md", user_id=USER).files == 1
    assert [one.path for one in known.files(user_id=USER)] == ["/memories/x/b.md"]
    assert [*known.files(path="/memories/y", user_id=USER)] == []
    assert known.read_file("/memories/x/b.md", version=1, user_id=USER).text == "Ana prefers tea.\n"
    versions = known.file_versions("/memories/x/b.md", user_id=USER).items
    assert [one.version for one in versions] == [3, 2, 1]
    (found,) = known.search_files("milk", user_id=USER).items
    assert (found.path, found.words, found.lines[0].number) == ("/memories/x/b.md", 1, 2)
    assert known.delete_file("/memories/x", user_id=USER).files == 1
    assert known.view_file("/memories", user_id=USER).version is None


def test_what_cannot_be_done_is_refused_by_its_argument(known: AssistantClient[Client]) -> None:
    known.create_file(A, "tea tea", user_id=USER)
    for kind, field, ask in (
        (Conflict, "path", lambda: known.create_file(A, "", user_id=USER)),
        (NotFound, "path", lambda: known.view_file("/memories/b.md", user_id=USER)),
        (InvalidRequest, "path", lambda: known.view_file("/memories/../a.md", user_id=USER)),
        (Conflict, "old_str", lambda: known.replace_in_file(A, "tea", "x", user_id=USER)),
        (Conflict, "insert_line", lambda: known.insert_into_file(A, 9, "x", user_id=USER)),
        (Conflict, "new_path", lambda: known.rename_file(A, A, user_id=USER)),
        (NotFound, "old_path", lambda: known.rename_file("/memories/b.md", "/memories/c.md", user_id=USER)),
        (PayloadTooLarge, "file_text", lambda: known.create_file("/memories/b.md", "ä" * 60_000, user_id=USER)),
        (InvalidRequest, "file_text", lambda: known.create_file("/memories/b.md", "a" * 200_000, user_id=USER)),
        (InvalidRequest, "cursor", lambda: [*known.files(cursor="none", user_id=USER)]),
    ):  # fmt: skip
        with pytest.raises(kind) as refused:
            ask()
        assert refused.value.fields == (field,)
    assert known.read_file(A, user_id=USER).version == 1


async def test_all_of_it_can_be_awaited(service: RunningService, tenant: str) -> None:
    async with AsyncClient(service.url, tenant_id=tenant) as client:
        known = client.assistant
        await known.create_file(A, "Tea.\n", user_id=USER)
        assert [one.path async for one in known.files(user_id=USER)] == [A]
        assert (await known.read_file(A, user_id=USER)).text == "Tea.\n"


def test_commands_do_the_same(elf: Elf) -> None:
    assert elf("create-file", A, "Ana prefers tea.\n").out == f"File created successfully at: {A}\n"
    edited = elf("replace-in-file", A, "tea", "green tea", "--expected-version", "1")
    assert (edited.code, "     1 Ana prefers green tea." in edited.out) == (0, True)
    assert elf("view-file", "/memories").out.splitlines()[-1] == f"23B {A}"
    assert elf("view-file", A, "--view-range", "1", "--view-range", "1").out.count("\n") == 2
    assert elf("read-file", A, "--version", "1").out == "Ana prefers tea.\n"
    assert elf("search-files", "tea").out == f"{A}  1  Ana prefers green tea.\n"
    assert elf("search-files", "milk").err == "elf: nothing found\n"
    assert A in elf("files").out
    assert [one["version"] for one in json.loads(elf("file-versions", A, "--json").out)["items"]] == [2, 1]
    refused = elf("insert-into-file", A, "7", "x")
    assert (refused.code != 0, "[0, 1]" in refused.err) == (True, True)
    assert elf("rename-file", A, "/memories/b.md").out.startswith("Successfully renamed")
    blanked = elf("create-file", A, "key: AKIA" + "IOSFODNN7EXAMPLQ")
    assert (blanked.code, blanked.err) == (0, "elf: a credential was blanked\n")
    assert elf("delete-file", "/memories/b.md").out == "Successfully deleted /memories/b.md\n"
