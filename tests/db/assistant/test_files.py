"""Text files of users over HTTP: versions, listings, search, and many who change them at once."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from elf.db.database import Database
from tests.db.assistant.assistant_kit import USER, AssistantHouse, house_at
from tests.db.assistant.files_kit import A, B, create, replace, texts

pytestmark = pytest.mark.anyio

AWS_KEY = "AKIA" + "IOSFODNN7EXAMPLQ"


async def test_what_a_file_said_before_each_change_can_be_read(house: AssistantHouse) -> None:
    first = await create(house)
    assert (first["version"], first["size_bytes"], first["redacted"]) == (1, 5, False)
    house.clock.turn(hours=1)
    assert (await replace(house, "Tea", "Grüner Tee"))["size_bytes"] == 13
    inserted = await house.post("files/insert", path=A, insert_line=0, insert_text="# Drinks")
    assert inserted["version"] == 3
    assert (await replace(house, "Tee", "Tee"))["version"] == 3
    kept = (await house.get("files/versions", path=A))["items"]
    assert [(one["version"], one["size_bytes"]) for one in kept] == [(3, 22), (2, 13), (1, 5)]
    said = [(await house.get("files/text", path=A, version=number))["text"] for number in (1, 2, 3)]
    assert said == ["Tea.\n", "Grüner Tee.\n", "# Drinks\nGrüner Tee.\n"]
    assert kept[2]["written_at"] < kept[1]["written_at"]
    refused = await house.get("files/text", 404, path=A, version=4)
    assert (refused["message"], refused["fields"]) == (f"There is no version 4 of {A}", ["$.version"])


async def test_versions_go_along_when_a_file_is_moved_and_go_when_it_is_deleted(
    house: AssistantHouse,
) -> None:
    await create(house)
    await replace(house, "Tea", "Coffee")
    await house.post("files/rename", old_path=A, new_path="/memories/x/b.md")
    assert (await house.get("files/text", path="/memories/x/b.md", version=1))["text"] == "Tea.\n"
    gone = await house.post("files/delete", path="/memories/x")
    assert (gone["files"], await house.rows("SELECT * FROM assistant_file_versions")) == (1, [])
    await create(house, "/memories/x/b.md", "New.\n")
    assert len((await house.get("files/versions", path="/memories/x/b.md"))["items"]) == 1


async def test_so_many_versions_stay_as_the_config_says(database: Database, tmp_path: Path) -> None:
    for most, kept in ((0, [4]), (2, [4, 3, 2])):
        async with house_at(database, tmp_path, f"[assistant.files]\nmax_versions = {most}\n") as house:
            await create(house, text="0")
            for number in range(3):
                await replace(house, str(number), str(number + 1))
            rows = (await house.get("files/versions", path=A))["items"]
            assert [one["version"] for one in rows] == kept
            await house.post("files/delete", path=A)


async def test_a_change_of_another_version_than_was_expected_is_refused(house: AssistantHouse) -> None:
    await create(house)
    assert (await replace(house, "Tea", "Coffee", expected_version=1))["version"] == 2
    refused = await replace(house, "Coffee", "Milk", 409, expected_version=1)
    assert refused["message"] == f"The file {A} has version 2 by now, not 1"
    assert refused["fields"] == ["$.expected_version"]
    line = {"insert_line": 0, "insert_text": "x"}
    await house.post("files/insert", 409, path=A, **line, expected_version=3)
    await house.post("files/delete", 409, path=A, expected_version=1)
    await house.post("files/delete", 409, path="/memories", expected_version=1)
    await house.post("files/delete", 404, path=B, expected_version=1)
    assert await texts(house) == {A: "Coffee.\n"}
    await house.post("files/delete", path=A, expected_version=2)
    assert await texts(house) == {}


async def test_a_folder_has_no_version_to_expect(house: AssistantHouse) -> None:
    await create(house, "/memories/x/a.md")
    refused = await house.post("files/delete", 409, path="/memories/x", expected_version=1)
    assert refused["message"] == "The path /memories/x is not a file."


async def test_edits_at_once_are_all_there_and_each_has_a_version(house: AssistantHouse) -> None:
    await create(house, text="")
    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(
                lambda number=number: house.post(
                    "files/insert", path=A, insert_line=0, insert_text=f"line {number}"
                )
            )
    said = (await house.get("files/text", path=A))["text"].splitlines()
    assert sorted(said) == sorted(f"line {number}" for number in range(20))
    assert (await house.get("files/text", path=A))["version"] == 21


async def test_of_those_who_expect_one_version_one_alone_changes_the_file(house: AssistantHouse) -> None:
    await create(house)
    statuses: list[int] = []

    async def change(number: int) -> None:
        body = {
            "user_id": USER,
            "path": A,
            "old_str": "Tea",
            "new_str": f"Tea {number}",
            "expected_version": 1,
        }
        answer = await house.client.post("/v1/assistant/files/str_replace", json=body)
        statuses.append(answer.status_code)

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(change, number)
    assert sorted(statuses) == [200] + [409] * 7


async def test_nothing_is_a_file_and_a_folder_whoever_adds_and_moves_at_once(house: AssistantHouse) -> None:
    paths = ["/memories/x", "/memories/x/y", "/memories/x/y/z", "/memories/w", "/memories/w/y"]

    async def ask(name: str, **body: str) -> None:
        await house.client.post(f"/v1/assistant/files/{name}", json={"user_id": USER, **body})

    for _ in range(5):
        async with anyio.create_task_group() as group:
            for path in paths:
                group.start_soon(lambda path=path: ask("create", path=path, file_text=path))
                for other in paths:
                    group.start_soon(
                        lambda path=path, other=other: ask("rename", old_path=path, new_path=other)
                    )
        there = sorted(await texts(house))
        assert there
        assert [one for one in there for other in there if other.startswith(f"{one}/")] == []
        await ask("delete", path=there[0])


async def test_files_are_listed_by_their_paths_page_by_page(house: AssistantHouse) -> None:
    paths = [f"/memories/{name}" for name in ("Z.md", "a.md", "b/1.md", "b/2.md", "b-c.md", "b.md", "ä.md")]
    for path in reversed(paths):
        await create(house, path)
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = await house.get("files", limit=2, **cursor)
        found += [one["path"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert found == sorted(paths)
    below = (await house.get("files", path="/memories/b"))["items"]
    assert [one["path"] for one in below] == ["/memories/b/1.md", "/memories/b/2.md"]
    refused = await house.get("files", 400, path="/memories/b", cursor=page["next_cursor"] or "none")
    assert refused["fields"] == ["$.cursor"]


async def test_files_are_found_by_words_those_with_most_of_them_first(house: AssistantHouse) -> None:
    await create(house, A, "# Drinks\n\nAna prefers green tea.\nNo milk.\n")
    await create(house, B, "Tea at five.\n")
    await create(house, "/memories/x/c.md", "Bob's coffee.\n")
    await create(house, A, "Green tea.\n", user_id="bob")
    found = (await house.get("files/search", query="the green TEA"))["items"]
    assert [(one["path"], one["words"]) for one in found] == [(A, 2), (B, 1)]
    assert found[0]["lines"] == [{"number": 3, "text": "Ana prefers green tea."}]
    assert (await house.get("files/search", query="green tea", path="/memories/x"))["items"] == []
    assert (await house.get("files/search", query="'); & | ! <->"))["items"] == []
    assert len((await house.get("files/search", query="tea", limit=1))["items"]) == 1
    await replace(house, "green tea", "water")
    assert [one["path"] for one in (await house.get("files/search", query="tea"))["items"]] == [B]


async def test_a_text_that_stands_in_many_lines_is_told_with_the_first_of_them(house: AssistantHouse) -> None:
    await create(house, text="a\n" * 1000)
    refused = await replace(house, "a", "b", 409)
    assert "in lines: 1, 2, 3, " in refused["message"]
    assert refused["message"].endswith(", 99, 100 and more. Please ensure it is unique")


async def test_a_credential_is_blanked_also_one_that_two_edits_put_together(house: AssistantHouse) -> None:
    made = await create(house, text=f"key: {AWS_KEY}\n")
    assert made["redacted"]
    assert AWS_KEY not in str(await texts(house))
    await create(house, B, f"{AWS_KEY[:8]}+\n")
    edited = await replace(house, "+", AWS_KEY[8:], path=B)
    assert edited["redacted"]
    rows = await house.rows(
        "SELECT text FROM assistant_files UNION ALL SELECT text FROM assistant_file_versions"
    )
    assert AWS_KEY not in str([row["text"] for row in rows])


async def test_no_text_and_no_path_is_logged(
    house: AssistantHouse, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "/memories/Zanzibarqx.md"
    await create(house, path, "Wolpertingerqx\n")
    await replace(house, "Wolpertinger-qx", "x", 409, path=path)
    await house.get("files/text", path=path)
    await house.get("files/search", query="Wolpertingerqx")
    logged = capsys.readouterr()
    assert "request" in logged.out + logged.err
    assert "qx" not in logged.out + logged.err


async def test_the_largest_text_has_no_more_words_than_can_be_kept(
    database: Database, tmp_path: Path
) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pairs = [f"{one}{other}" for one in letters for other in letters]
    hyphened = " ".join(f"{one}-{other}-x{one}" for one in pairs for other in pairs[:40])
    async with house_at(database, tmp_path, "[assistant.files]\nmax_bytes = 200000\n") as house:
        for text in (
            hyphened[:200_000],
            " ".join(pairs * 100)[:200_000],
            "x" * 200_000,
            "http://a.b/c " * 15_000,
        ):
            assert (await create(house, text=text))["size_bytes"] == len(text)
            await house.post("files/delete", path=A)


async def test_one_user_reaches_no_file_of_another(house: AssistantHouse) -> None:
    await create(house, text="Ana's\n")
    bob = {"user_id": "bob"}
    await create(house, text="Bob's\n", **bob)
    await create(house, "/memories/x/b.md", **bob)
    await house.post("files/rename", old_path="/memories/x", new_path="/memories/y", **bob)
    await house.post("files/create", path="/memories/x", file_text="free for her", user_id=USER)
    await house.post("files/delete", path=A, **bob)
    assert await texts(house) == {A: "Ana's\n", "/memories/x": "free for her"}
    assert [*await texts(house, **bob)] == ["/memories/y/b.md"]
