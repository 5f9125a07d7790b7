"""Stories by their client and by the commands made from it."""

from __future__ import annotations

import pytest

from elf.client import Client, NotFound
from tests.families.command_line import CommandLine
from tests.families.toy_corpus.client import StoryClient
from tests.system.service import wait_for

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def test_texts_are_found_and_explained(client: Client) -> None:
    stories = StoryClient(client)
    told = stories.tell("The bear sleeps in the boat.")
    assert stories.retell(told.story_id, "The bear sleeps in the train.").story_id == told.story_id
    found = wait_for(lambda: stories.find("Where does the bear sleep?").stories, "the story is found")
    assert [story.story_id for story in found] == [told.story_id]
    assert stories.end(told.story_id).story_id == told.story_id
    with pytest.raises(NotFound):
        stories.explain(UNKNOWN)


def test_a_command_finds_and_explains_texts(elf: CommandLine) -> None:
    told = elf.data(StoryClient, "tell", "The bear sleeps in the boat.")
    found = wait_for(
        lambda: elf.data(StoryClient, "find", "Where does the bear sleep?")["stories"], "the story is found"
    )
    assert [story["story_id"] for story in found] == [told["story_id"]]
    assert elf(StoryClient, "explain", UNKNOWN).code == 1
