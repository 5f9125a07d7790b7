"""The toys by their client and by the commands made from it: every form that a call may have."""

from __future__ import annotations

import pytest

from elf.client import AsyncClient, Client, Forbidden, InvalidRequest, NotFound
from tests.families.command_line import CommandLine
from tests.families.toy_rows.client import ToyBox
from tests.system.service import RunningService, wait_for


def test_a_family_is_called_in_every_form_it_has(client: Client) -> None:
    box = ToyBox(client)
    bear = box.put("ein B\u00e4r \u718a")
    boat, train = box.put_all(["a boat", "a \u2028 train"]).toys
    assert box.get(bear.toy_id) == bear
    with box.all() as toys:
        assert {toy.words for toy in toys} == {bear.words, boat.words, train.words}
    assert box.drop(boat.toy_id) is None
    with pytest.raises(NotFound, match=f"there is no toy {boat.toy_id} in this box"):
        box.get(boat.toy_id)
    with pytest.raises(NotFound):
        box.drop(boat.toy_id)
    with pytest.raises(InvalidRequest) as caught:
        box.put_all(["x", ""])
    assert caught.value.fields == ("toys[1]",)
    with pytest.raises(Forbidden):
        box.empty()
    found = wait_for(lambda: box.find(bear.words, limit=1).toys, "the toy has a vector")
    assert [toy.words for toy in found] in ([bear.words], [train.words])


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_same_client_serves_async_code(service: RunningService, context: dict[str, str]) -> None:
    async with AsyncClient(service.url, **context) as client:
        box = ToyBox(client)
        bear = await box.put("a bear")
        assert await box.get(bear.toy_id) == bear
        async with box.all() as toys:
            assert [toy.toy_id async for toy in toys] == [bear.toy_id]
        await box.drop(bear.toy_id)
        with pytest.raises(NotFound):
            await box.get(bear.toy_id)


def test_a_family_has_a_command_for_each_of_its_calls(elf: CommandLine) -> None:
    bear = elf.data(ToyBox, "put", "a bear")
    (boat,) = elf.data(ToyBox, "put-all", "a boat")["toys"]
    assert elf(ToyBox, "get", bear["toy_id"]).out == f"toy_id  {bear['toy_id']}\nwords   a bear\nscore   -\n"
    shown = elf(ToyBox, "all").out.splitlines()
    assert sorted(shown) == sorted(f"{toy['toy_id']}  {toy['words']}  -" for toy in (bear, boat))
    assert elf(ToyBox, "drop", boat["toy_id"]) == (0, "", "")
    gone = elf(ToyBox, "get", boat["toy_id"])
    assert gone == (1, "", f"elf: NOT_FOUND: there is no toy {boat['toy_id']} in this box\n")
    assert elf(ToyBox, "empty").err.startswith("elf: FORBIDDEN: ")
    assert elf(ToyBox, "find", "a bear", "--limit", "0").code == 1
