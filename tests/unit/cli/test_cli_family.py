"""`elf FAMILY VERB`: the commands of a family, made from a client that the command line has never heard of."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from command_line import CommandLine
from fake_service import Answer, FakeService, error
from msgspec import Struct

from elf.cli.arguments import parser
from elf.client import Page
from elf.client.call import Call, Listing, Stream, filled, get, listing, nothing, post, reader
from elf.client.errors import ErrorBody, code_of
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

IDS = {"tenant_id": "default", "project_id": "default", "agent_id": "default"}


class Story(Struct, frozen=True):
    text: str


class Problem(Struct, frozen=True):
    problem: str


def told_plainly(status: int, content: bytes) -> ErrorBody:
    return ErrorBody(code_of(status), msgspec.json.decode(content, type=Problem).problem)


class Stories(FamilyClient[C_co]):
    name = "stories"
    about = "stories, found by what they tell"

    @method
    def tell(
        self,
        text: Annotated[str, "what happens in it"],
        parts: Sequence[int],
        *,
        kind: Annotated[Literal["tale", "myth"] | None, "what kind it is"] = None,
        about: Sequence[str] | None = None,
        told_by: UUID | str | None = None,
        weight: float = 0.5,
        times: int | None = None,
        source: dict[str, Any] | None = None,
        loud: bool = False,
        long: bool | None = None,
    ) -> Call[Story]:
        """Tell a story. Raises Conflict when it was told."""
        given = {
            "text": text,
            "parts": parts,
            "kind": kind,
            "about": about,
            "told_by": told_by,
            "weight": weight,
        }
        rest = {"times": times, "source": source, "loud": loud, "long": long}
        return post("/stories", {**self.owner, **given, **rest}, reader(Story))

    @method
    def get(self, story_id: str) -> Call[Story]:
        """Hear a story again."""
        call = get(filled("/stories/{story_id}", {"story_id": story_id}), self.owner, reader(Story))
        return replace(call, read_error=told_plainly)

    @method
    def names(self) -> Call[list[Story]]:
        """Say how they are called."""
        return get("/names", {}, reader(list[Story]))

    @method
    def forget(self) -> Call[None]:
        """Forget them."""
        return post("/forget", self.owner, nothing)

    @method
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Listing[Story]:
        """List stories."""
        return listing("/stories", {"limit": limit}, Page[Story], cursor)

    @method
    def hear(self) -> Stream[Story]:
        """Hear one after the other."""
        return Stream(get("/hear", self.owner, reader(Story)))


@pytest.fixture
def stories(elf: CommandLine) -> CommandLine:
    return replace(elf, families=[Stories])


def test_a_method_is_a_command_with_its_parameters_as_arguments_and_flags(
    stories: CommandLine, service: FakeService
) -> None:
    service.respond = lambda asked: Answer(201, {"text": "a bear"})
    plain = stories("stories tell", "a bear", "1", "2")
    assert (plain.code, plain.out) == (0, "text  a bear\n")
    full = stories("stories tell", "a bear", "3", "--kind", "myth", "--about", "one", "--about", "two",
        "--told-by", "me", "--weight", "0.25", "--times", "4", "--source", '{"app": "x"}', "--loud", "--no-long",
        "--json", "--agent", "b",
    )  # fmt: skip
    assert (full.code, full.data) == (0, {"text": "a bear"})
    assert [asked.body for asked in service.asked] == [
        {**IDS, "text": "a bear", "parts": [1, 2], "weight": 0.5, "loud": False},
        {
            **IDS, "agent_id": "b", "text": "a bear", "parts": [3], "kind": "myth", "about": ["one", "two"],
            "told_by": "me", "weight": 0.25, "times": 4, "source": {"app": "x"}, "loud": True, "long": False,
        },
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x", "one"], "argument PARTS: invalid int value: 'one'"),
        (["x", "1", "--kind", "joke"], "argument --kind: invalid choice: 'joke'"),
        (["x", "1", "--source", "{"], "argument --source: invalid JSON value: '{'"),
        (["x", "1", "--weight", "nan"], "argument --weight: invalid number value: 'nan'"),
        (["x"], "the following arguments are required: PARTS"),
    ],
)
def test_a_value_that_is_none_is_refused_by_the_name_of_its_argument(
    stories: CommandLine, service: FakeService, arguments: list[str], said: str
) -> None:
    ended = stories("stories tell", *arguments)
    assert (ended.code, service.asked) == (2, [])
    assert said in ended.err


def test_help_tells_what_the_client_says_of_its_methods(stories: CommandLine) -> None:
    assert "stories, found by what they tell" in stories("-h").out
    assert "hear one after the other" in stories("stories -h").out
    shown = stories("stories tell", "-h").out
    assert "Tell a story.\n" in shown
    assert "what happens in it" in shown
    assert "--kind {tale,myth}" in shown


def test_rows_stand_below_one_another_and_a_listing_says_how_to_go_on(
    stories: CommandLine, service: FakeService
) -> None:
    rows = [{"text": "one", "n": 1}, {"text": "three\x1b[2J"}]
    service.respond = lambda asked: Answer(body={"items": rows, "next_cursor": "more"})
    listed = stories("stories list", "--limit", "2", "--cursor", "c")
    assert (listed.code, listed.out) == (0, "one        1\nthree [2J  -\n")
    assert "continue with --cursor more" in listed.err
    assert service.asked[0].params == {"limit": "2", "cursor": "c"}
    service.respond = lambda asked: Answer(
        body={"items": rows[:1], "trace": "t", "tags": [], "next_cursor": None}
    )
    assert stories("stories list").out == "trace  t\none  1\n"
    service.respond = lambda asked: Answer(
        body={"items": rows[:1], "next_cursor": "more", "afterCursor": "more"}
    )
    assert stories("stories list")[:2] == (0, "one  1\n")
    nested = {
        "next_cursor": None,
        "story": {"text": "one", "of": {"who": "Ana", "tags": ["a"]}, "more": {}},
        "n": 1,
    }
    service.respond = lambda asked: Answer(body={"items": [], **nested})
    assert stories("stories list").out.splitlines() == [
        "story.text     one",
        "story.of.who   Ana",
        'story.of.tags  ["a"]',
        "story.more     {}",
        "n              1",
    ]
    service.respond = lambda asked: Answer(body={"items": [], "next_cursor": None})
    assert stories("stories list").err == "elf: nothing found\n"
    service.respond = lambda asked: Answer(body=[])
    empty = stories("stories names")
    assert (empty.code, empty.out, empty.err) == (0, "", "elf: nothing found\n")


def test_an_answer_without_a_body_prints_nothing(stories: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(204, "")
    assert stories("stories forget") == (0, "", "")


def test_an_error_ends_with_the_exit_code_of_any_command(stories: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: Answer(404, {"problem": "no such story"})
    assert stories("stories get", "s") == (1, "", "elf: NOT_FOUND: no such story\n")
    as_it_is = stories("stories get", "s", "--json")
    assert (as_it_is.code, as_it_is.data) == (1, {"problem": "no such story"})
    service.respond = lambda asked: error(503, "UNAVAILABLE")
    assert stories("stories names").code == 3
    assert stories("stories hear") == (3, "", "elf: UNAVAILABLE: the message\n")
    service.respond = lambda asked: error(403, "FORBIDDEN")
    assert stories("stories hear") == (1, "", "elf: FORBIDDEN: the message\n")
    service.respond = lambda asked: Answer(200, {"other": 1})
    assert stories("stories names").code == 3
    assert stories("stories get", "..") == (2, "", "elf: story_id: cannot stand in a path\n")


def test_a_stream_is_printed_event_by_event(stories: CommandLine, service: FakeService) -> None:
    events = 'data: {"text": "one"}\n\ndata: {"text": "two"}\n\n'
    service.respond = lambda asked: Answer(200, events, {"Content-Type": "text/event-stream"})
    assert stories("stories hear").out == "one\ntwo\n"
    assert stories("stories hear", "--json").out == '{"text": "one"}\n{"text": "two"}\n'
    failed = f'{events}event: error\ndata: {{"error_code": "UNAVAILABLE", "message": "later"}}\n\n'
    service.respond = lambda asked: Answer(200, failed)
    assert stories("stories hear") == (3, "one\ntwo\n", "elf: UNAVAILABLE: later\n")
    as_it_is = stories("stories hear", "--json")
    assert (as_it_is.code, as_it_is.err) == (3, "")
    assert [json.loads(line) for line in as_it_is.out.splitlines()] == [
        {"text": "one"},
        {"text": "two"},
        {"error_code": "UNAVAILABLE", "message": "later"},
    ]
    service.respond = lambda asked: error(403, "FORBIDDEN")
    refused = stories("stories hear", "--json")
    assert (refused.code, refused.data["error_code"], refused.err) == (1, "FORBIDDEN", "")


def test_every_family_that_comes_with_elf_makes_commands() -> None:
    commands = next(
        action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)
    ).choices
    assert len(commands) == len(set(commands))
    with pytest.raises(argparse.ArgumentError, match="conflicting subparser: stories"):
        parser([Stories, Stories])
