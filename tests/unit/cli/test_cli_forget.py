"""`elf forget`: who is asked before anything is deleted, and what is sent."""

from __future__ import annotations

import io
import sys

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService

WHOSE = {"tenant_id": "default", "project_id": "p"}


class Keyboard(io.StringIO):
    """Standard input with somebody at it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def admin(elf: CommandLine, service: FakeService) -> CommandLine:
    """A command line whose config has the fake service, which holds 450 notes, at the admin address alone."""
    text = elf.config.read_text().replace(f"127.0.0.1:{service.port}", "127.0.0.1:1")
    elf.config.write_text(text.replace("127.0.0.1:8767", f"127.0.0.1:{service.port}"))
    deleted = iter([200, 200, 50])

    def respond(asked: Asked) -> Answer:
        if asked.method == "GET":
            return Answer(body={"notes": 450})
        count = next(deleted)
        return Answer(body={"deleted": count, "more": count == 200})

    service.respond = respond
    return elf


@pytest.mark.parametrize("said", ["n", "", "yess", "no"])
def test_whoever_does_not_say_yes_deletes_nothing(
    admin: CommandLine, service: FakeService, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard(f"{said}\n" if said else ""))
    code, out, err = admin("forget", "--project", "p")
    assert (code, out) == (1, "")
    question = "elf: delete 450 notes of tenant default, project p, private ones among them? [y/N] "
    assert err == f"{question}elf: nothing was deleted\n"
    assert service.asked == [Asked("GET", "/v1/admin/forget", WHOSE, None)]


@pytest.mark.parametrize("said", ["y", "Yes "])
def test_whoever_says_yes_deletes_until_there_are_no_more(
    admin: CommandLine, service: FakeService, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard(f"{said}\n"))
    code, out, _ = admin("forget", "--project", "p", "--agent", "anna")
    assert (code, out) == (0, "450 notes deleted\n")
    assert [asked.body for asked in service.asked] == [None, *[WHOSE | {"agent_id": "anna"}] * 3]


def test_the_count_is_given_as_data(admin: CommandLine) -> None:
    assert admin("forget", "--agent", "anna", "--yes", "--json").data == {"deleted": 450}
