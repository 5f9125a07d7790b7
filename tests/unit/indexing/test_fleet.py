"""What follows from who else shares the notes: nobody takes what is a living process's, and nothing is orphaned."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.indexing.fleet import Fleet, Member

MODELS = st.sampled_from(["acme:small:384", "acme:large:384", "local:mini:384"])
CUTS = st.sampled_from(["1:240:40:aa", "1:120:20:aa", "1:240:40:bb"])
MEMBERS = st.builds(Member, st.uuids().map(str), MODELS, CUTS, st.booleans())


def fleet_of(own: Member, everybody: list[Member]) -> Fleet:
    return Fleet(own.embedding_version, own.chunking, others=frozenset(set(everybody) - {own}))


@given(st.lists(MEMBERS, min_size=1, max_size=5, unique=True), MODELS, CUTS)
def test_a_version_is_taken_by_its_own_processes_only_while_any_lives(
    members: list[Member], version: str, chunking: str
) -> None:
    own = {one.embedding_version for one in members}
    takers = {one.embedding_version for one in members if fleet_of(one, members).may_take(version)}
    assert takers == ({version} if version in own else own), (
        "two that take each other's notes would go on for ever"
    )
    assert {fleet_of(one, members).keeps(chunking) for one in members} == {
        chunking in {one.chunking for one in members}
    }, "all agree on which chunks may stay"


def test_until_the_others_are_known_only_ones_own_is_taken() -> None:
    fleet = Fleet("acme:small:384", "1:240:40:aa")
    assert fleet.may_take("acme:small:384")
    assert not fleet.may_take("acme:large:384")
    assert fleet.keeps("1:120:20:aa")
    assert not fleet.keeps(None)
    assert fleet.warnings() == []


def test_processes_that_agree_are_no_reason_to_warn() -> None:
    own = Member("here:1", "acme:small:384", "1:240:40:aa", True)
    fleet = fleet_of(own, [own, Member("there:2", "acme:small:384", "1:240:40:aa", False)])
    assert fleet.warnings() == []


def test_who_differs_and_what_waits_is_named() -> None:
    own = Member("here:1", "acme:small:384", "1:240:40:aa", True)
    fleet = fleet_of(
        own,
        [
            Member("there:3", "acme:small:384", "1:120:20:aa", True),
            Member("there:2", "acme:large:384", "1:240:40:aa", False),
        ],
    )
    fleet.waiting = {"acme:large:384": 17}
    model, cut, waiting = fleet.warnings()
    assert all(word in model for word in ("there:2", "acme:large:384", "acme:small:384"))
    assert all(word in cut for word in ("there:3", "1:120:20:aa", "1:240:40:aa"))
    assert all(word in waiting for word in ("17", "acme:large:384"))


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_those_who_wait_hear_when_somebody_comes_or_goes() -> None:
    fleet = Fleet("acme:small:384", "1:240:40:aa")
    heard: list[str] = []

    async def listen() -> None:
        await fleet.wait_known()
        heard.append("known")
        await fleet.wait_changed()
        heard.append("changed")

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        fleet.see(frozenset())
        await anyio.wait_all_tasks_blocked()
        fleet.see(frozenset())
        await anyio.wait_all_tasks_blocked()
        assert heard == ["known"]
        fleet.see(frozenset([Member("there:2", "acme:large:384", "1:240:40:aa", True)]))
    assert heard == ["known", "changed"]
