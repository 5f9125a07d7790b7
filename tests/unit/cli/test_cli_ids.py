"""Ids by how they begin: what is asked for, and what is said when it is not one."""

from __future__ import annotations

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService

NOTE_ID = "01890a5d-ac96-474b-bcce-b302099a8057"
OTHER_ID = "01890a5d-0000-474b-bcce-b302099a8057"
CONTEXT = {"tenant_id": "default", "project_id": "default", "agent_id": "default"}
NOTE = {"note_id": NOTE_ID, "text": "Tea is green."}


def knows(service: FakeService, *ids: str) -> None:
    items = [{"id": one, "text": f"Tea\x07 of {one[9:13]}."} for one in ids]
    service.respond = lambda asked: Answer(body={"items": items} if asked.path.endswith("/ids") else NOTE)


def test_the_beginning_of_an_id_is_asked_for_within_the_context(
    elf: CommandLine, service: FakeService
) -> None:
    knows(service, NOTE_ID)
    assert elf("get", "01890a5D").code == 0
    assert service.asked == [
        Asked("GET", "/v1/memory/ids", CONTEXT | {"kind": "note", "prefix": "01890a5D"}, None),
        Asked("GET", f"/v1/memory/notes/{NOTE_ID}", CONTEXT, None),
    ]


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (("get",), "note"),
        (("history",), "note"),
        (("delete",), "note"),
        (("restore",), "note"),
        (("update", "--importance", "1"), "note"),
        (("explain",), "result"),
        (("traces",), "search"),
        (("restore", NOTE_ID, "--version"), "version"),
    ],
)
def test_an_id_that_could_be_several_is_refused_with_their_list(
    elf: CommandLine, service: FakeService, command: tuple[str, ...], kind: str
) -> None:
    knows(service, OTHER_ID, NOTE_ID)
    code, out, err = elf(*command, "01890a5d")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        f"elf: more than one {kind} begins with 01890a5d; name one of them by more of its id:",
        f"  {OTHER_ID}  Tea  of 0000.",
        f"  {NOTE_ID}  Tea  of ac96.",
    ]


def test_an_id_that_is_none_is_named_with_the_context_that_was_asked(
    elf: CommandLine, service: FakeService
) -> None:
    knows(service)
    outcome = elf("get", "01890a5d", "--agent", "anna")
    where = "tenant default, project default, agent anna"
    assert outcome == (1, "", f"elf: no note begins with 01890a5d in this context ({where})\n")


@pytest.mark.parametrize("given", ["01890a5", "01890a5g", "tea", f"{NOTE_ID}0"])
def test_what_is_no_beginning_of_an_id_is_not_looked_up(
    elf: CommandLine, service: FakeService, given: str
) -> None:
    knows(service)
    assert elf("get", given).code == 2
    assert service.asked == []
