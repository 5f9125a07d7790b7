"""What the verbs of a memory take: every form of what was said, addresses, bounds; and what they say to all else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from elf.client import InvalidRequest, Message
from elf.client.families.memories import Item, Said
from elf.client.memory.at_once import at_once
from elf.client.memory.inputs import address_of, limit_of, messages_of, told_of, wait_ms_of
from elf.client.memory.subject import Subject

ID = "0b8ff2a0-5d0c-4f1e-9c3a-7a51d3a7c001"


def test_what_was_said_comes_as_text_message_or_a_list_of_both() -> None:
    plain = {"role": "assistant", "content": "Noted."}
    said = Said(content="Hi.", id="m1")
    assert messages_of("Hi.") == [{"content": "Hi."}]
    assert messages_of(plain) == [plain]
    assert messages_of(one for one in ("Hi.", plain, said)) == [{"content": "Hi."}, plain, said]
    told = Message(role="tool", content="4", msg_id="m2", ts="2026-11-26")
    assert messages_of(told) == [Said(content="4", role="tool", id="m2", at="2026-11-26")]
    assert told_of(["Hi.", plain, told]) == [("user", "Hi."), ("assistant", "Noted."), ("tool", "4")]


@pytest.mark.parametrize("given", [None, 7, b"Hi."])
def test_what_is_no_list_of_messages_is_refused_by_name(given: object) -> None:
    with pytest.raises(
        InvalidRequest, match="messages: should be a text, a message, or a list of them"
    ) as no:
        messages_of(given)
    assert no.value.fields == ("messages",)


def test_what_is_no_message_is_refused_by_its_place() -> None:
    with pytest.raises(InvalidRequest, match=r"messages\[1\]: should be a text or a message, not int"):
        messages_of(["Hi.", 3])
    with pytest.raises(InvalidRequest, match=r"messages\[1\].content: should be a text"):
        told_of(["Hi.", {"role": "user", "content": 3}])


def test_an_address_is_read_of_all_that_has_one() -> None:
    item = Item(
        family="graph", kind="planner", id="a/b:1", text="x", provenance=[], at=datetime.now(UTC), states=[]
    )
    for given in (item, {"id": item.address, "memory": "x"}, "graph/planner/a/b:1"):
        assert address_of(given) == ("graph", "planner", "a/b:1")
    assert str(address_of(item)) == item.address


@pytest.mark.parametrize("given", [ID, "notes/note", "notes//x", "", None, 3, {}, {"id": None}])
def test_what_is_no_address_is_refused_with_an_example(given: object) -> None:
    with pytest.raises(
        InvalidRequest, match="memory_id: should be the address of an item, such as notes/note/"
    ):
        address_of(given)


def test_waiting_is_as_long_as_it_is_said() -> None:
    assert [wait_ms_of(one) for one in (True, False, 0, 1.5, 30)] == [30_000, 0, 0, 1500, 30_000]


@pytest.mark.parametrize("given", [-1, 31, float("nan"), "1", None])
def test_what_is_no_time_to_wait_is_refused(given: object) -> None:
    with pytest.raises(InvalidRequest, match="wait: should be True, False, or a number of seconds, 0 to 30"):
        wait_ms_of(given)


def test_a_limit_has_two_names_and_a_bound() -> None:
    assert [limit_of(*one, default=20, most=100) for one in ((None, None), (3, None), (None, 100))] == [
        20,
        3,
        100,
    ]
    with pytest.raises(InvalidRequest, match="give limit or top_k"):
        limit_of(3, 3, default=20, most=100)
    for name, given in (
        ("limit", (0, None)),
        ("top_k", (None, 101)),
        ("limit", (True, None)),
        ("limit", ("3", None)),
    ):
        with pytest.raises(InvalidRequest, match=f"{name}: should be a whole number, 1 to 100"):
            limit_of(*given, default=20, most=100)


def test_whose_it_is_is_a_text_and_what_a_call_says_wins() -> None:
    assert Subject("ana", "bot").with_("bob", run_id="trip") == Subject("bob", "bot", "trip")
    with pytest.raises(InvalidRequest, match="user_id: should be a text, not int"):
        Subject("ana").with_(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="user_id: say whose: a list is of one user"):
        Subject().need_user("a list")


def test_what_awaits_more_than_a_client_that_blocks_is_no_hang() -> None:
    class Never:
        def __await__(self) -> object:
            yield

    async def waits() -> None:
        await Never()  # type: ignore[misc]

    with pytest.raises(RuntimeError, match="awaits more than a client that blocks"):
        at_once(waits())
