"""Text files of users, taken along, taken in, and erased."""

from __future__ import annotations

import pytest

from elf.offers import Subject
from tests.db.assistant.assistant_kit import TENANT, USER, AssistantHouse
from tests.db.assistant.files_kit import B, create, replace, texts
from tests.db.assistant.test_taking_along import exported, of_kind, taken_in

pytestmark = pytest.mark.anyio


async def test_files_are_taken_along_as_they_are_and_taken_in_by_the_rules(house: AssistantHouse) -> None:
    await create(house, "/memories/x/a.md")
    await replace(house, "Tea", "Coffee", path="/memories/x/a.md")
    await create(house, B)
    lines = await exported(house, user_id=USER)
    assert [one["path"] for one in of_kind(lines, "file")] == [B, "/memories/x/a.md"]
    assert [one["text"] for one in of_kind(lines, "file_version")] == ["Tea.\n"]
    before = await texts(house)
    assert (await taken_in(house, lines))["known"] == 2
    await house.post("files/delete", path=B)
    await house.post("files/delete", path="/memories/x")
    await create(house, "/memories/x", "in the way")
    taken = await taken_in(house, lines)
    assert (taken["new"], taken["known"], taken["left"]) == (1, 0, 2)
    moved = await taken_in(house, lines, user_id="bob")
    assert (moved["new"], await texts(house, user_id="bob")) == (2, before)
    bad = [{**line, "file": {**line["file"], "path": "/memories/../x"}} for line in lines if "file" in line][
        :1
    ]
    refused = await taken_in(house, bad, 400)
    assert refused["fields"] == ["$.items[0].file.path"]


async def test_above_all_families_files_come_back_with_their_versions(house: AssistantHouse) -> None:
    await create(house, "/memories/x/a.md")
    await replace(house, "Tea", "Coffee", path="/memories/x/a.md")
    subjects = house.opened.subjects
    assert subjects is not None
    subject = Subject(tenant_id=TENANT, user=USER)
    lines = [line async for line in subjects.export(subject)]
    erased = await subjects.erase(subject)
    assert (erased["files"], erased["file_versions"]) == (1, 1)
    assert await subjects.take_in(lines) == len(lines) == 2
    assert await subjects.take_in(lines) == 0
    assert [line async for line in subjects.export(subject)] == lines
    await subjects.erase(subject)
    await create(house, "/memories/x", "in the way")
    assert await subjects.take_in(lines) == 0
