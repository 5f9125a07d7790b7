"""The client of each family, and the commands made from it, against a service with all families."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from elf.cli import main
from elf.client import (
    AsyncClient,
    Client,
    InvalidRequest,
    NotFound,
    Unauthorized,
)
from tests.families.toy_corpus.client import StoryClient
from tests.families.toy_rows.client import ToyBox
from tests.system.service import RunningService, wait_for, write_config

pytestmark = pytest.mark.anyio
UNKNOWN = "00000000-0000-4000-8000-000000000000"
FAMILIES = (ToyBox, StoryClient)


@pytest.fixture
def context(tenant: str) -> dict[str, str]:
    return {"tenant_id": tenant.replace("/", "."), "project_id": "p", "agent_id": "a"}


@pytest.fixture
def client(service: RunningService, context: dict[str, str]) -> Iterator[Client]:
    with Client(service.url, **context) as client:
        yield client


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
    with pytest.raises(Unauthorized):
        box.empty()
    found = wait_for(lambda: box.find(bear.words, limit=1).toys, "the toy has a vector")
    assert [toy.words for toy in found] in ([bear.words], [train.words])


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


def test_texts_are_found_and_explained(client: Client) -> None:
    stories = StoryClient(client)
    told = stories.tell("The bear sleeps in the boat.")
    assert stories.retell(told.story_id, "The bear sleeps in the train.").story_id == told.story_id
    found = wait_for(lambda: stories.find("Where does the bear sleep?").stories, "the story is found")
    assert [story.story_id for story in found] == [told.story_id]
    assert stories.end(told.story_id).story_id == told.story_id
    with pytest.raises(NotFound):
        stories.explain(UNKNOWN)


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class CommandLine:
    """Runs commands of the families in this process, for one tenant of the service."""

    def __init__(self, config: Path, tenant: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._given = ["-c", str(config), "--tenant", tenant]
        self._capsys = capsys

    def __call__(self, family: str, verb: str, *arguments: str) -> Ended:
        code = main([family, verb, *arguments, *self._given], FAMILIES)
        printed = self._capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    def data(self, *command: str) -> Any:
        ended = self(*command, "--json")
        assert (ended.code, ended.err) == (0, "")
        return json.loads(ended.out)


@pytest.fixture
def elf(
    service: RunningService, context: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    config = write_config(tmp_path, http_bind=f'"{urlsplit(service.url).netloc}"')
    return CommandLine(config, context["tenant_id"], capsys)


def test_a_family_has_a_command_for_each_of_its_calls(elf: CommandLine) -> None:
    bear = elf.data("toy_rows", "put", "a bear")
    (boat,) = elf.data("toy_rows", "put-all", "a boat")["toys"]
    assert (
        elf("toy_rows", "get", bear["toy_id"]).out == f"toy_id  {bear['toy_id']}\nwords   a bear\nscore   -\n"
    )
    shown = elf("toy_rows", "all").out.splitlines()
    assert sorted(shown) == sorted(f"{toy['toy_id']}  {toy['words']}  -" for toy in (bear, boat))
    assert elf("toy_rows", "drop", boat["toy_id"]) == (0, "", "")
    gone = elf("toy_rows", "get", boat["toy_id"])
    assert gone == (1, "", f"elf: NOT_FOUND: there is no toy {boat['toy_id']} in this box\n")
    assert elf("toy_rows", "empty").err.startswith("elf: UNAUTHORIZED: ")
    assert elf("toy_rows", "find", "a bear", "--limit", "0").code == 1


def test_a_command_finds_and_explains_texts(elf: CommandLine) -> None:
    told = elf.data("toy_corpus", "tell", "The bear sleeps in the boat.")
    found = wait_for(
        lambda: elf.data("toy_corpus", "find", "Where does the bear sleep?")["stories"], "the story is found"
    )
    assert [story["story_id"] for story in found] == [told["story_id"]]
    assert elf("toy_corpus", "explain", UNKNOWN).code == 1
