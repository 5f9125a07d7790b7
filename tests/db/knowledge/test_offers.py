"""What the family offers to whoever stands above all families: candidates for an answer, and items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from elf.api.caller import ANONYMOUS, Caller
from elf.core.errors import InvalidRequest, NotFound
from elf.families.knowledge.model import MEMORY_TYPES, MemoryType
from elf.families.knowledge.offers import KnowledgeItems, KnowledgeRecall
from elf.offers import Item, Question, Subject
from tests.db.knowledge.conftest import AGENT, ANA, TENANT, KnowledgeHouse
from tests.db.knowledge.finding_kit import QUERY, Finder
from tests.notes_kit import unit

pytestmark = pytest.mark.anyio

BEN = Caller(user="ben")
TO_ANA = Subject(tenant_id=TENANT, user="ana")
ANYONE = Subject(tenant_id=TENANT)


@dataclass
class Offers:
    """Asks for candidates and items, and sees to it that asking leaves no trace."""

    finder: Finder

    def __post_init__(self) -> None:
        kit = self.finder.house.kit
        self.house = self.finder.house
        self.items = KnowledgeItems(kit)
        self._recall = KnowledgeRecall(kit, version=kit.embedder.version)

    async def recall(
        self, subject: Subject = TO_ANA, caller: Caller = ANA, *, text: str = QUERY, **more: Any
    ) -> Sequence[Item]:
        question = Question(**({"text": text, "vector": unit(1.0), "subject": subject, "limit": 50} | more))
        embedded, counted = list(self.house.model.texts), await self._counted()
        found = await self._recall(question, caller)
        assert (self.house.model.texts, await self._counted()) == (embedded, counted)
        return found

    async def texts(self, subject: Subject = TO_ANA, caller: Caller = ANA, **more: Any) -> set[str]:
        return {one.text for one in await self.recall(subject, caller, **more)}

    async def one(self, kind: MemoryType, id: UUID, caller: Caller = ANA, **more: Any) -> Item:
        """The item of a memory among what is recalled; it reads the same by its address."""
        (found,) = [one for one in await self.recall(ANYONE, caller, **more) if one.id == str(id)]
        read = await self.items.read(kind, str(id), ANYONE, caller)
        assert (read.text, read.provenance, read.states, read.at) == (
            found.text, found.provenance, found.states, found.at,
        )  # fmt: skip
        return found

    async def _counted(self) -> Sequence[Any]:
        return [
            await self.house.rows(
                f"SELECT sum(reference_count), max(last_referenced_at) FROM knowledge_{kind}s"
            )
            for kind in MEMORY_TYPES
        ]


@pytest.fixture
def offers(knowledge: KnowledgeHouse) -> Offers:
    return Offers(Finder(knowledge))


async def test_all_kinds_are_candidates_with_terms_that_add_up(offers: Offers) -> None:
    finder = offers.finder
    fact = await finder.fact("by the window", 0.9, subject="Ana", predicate="seat")
    rule = await finder.rule("Ask which seat first", 0.8)
    episode = await finder.episode("Ana asked which seat it was.", 0.7)
    found = await offers.recall(ANYONE)
    assert {(one.kind, one.id, one.text) for one in found} == {
        ("fact", str(fact), "Ana seat: by the window"),
        ("rule", str(rule), "Ask which seat first"),
        ("episode", str(episode), "Ana asked which seat it was."),
    }
    assert [one.at for one in found] == [offers.house.clock.now()] * 3
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(set(one.terms) == {"semantic", "keyword"} and 0 < one.score <= 1 for one in found)
    best = next(one for one in found if one.kind == "rule")  # the first of its kind on both lists
    assert best.score == pytest.approx(1.0)
    assert await offers.recall(ANYONE, limit=1) == [found[0]]


async def test_without_a_vector_words_are_enough_and_without_words_there_is_nothing(offers: Offers) -> None:
    by_words = await offers.finder.fact("which seat she likes", 0.1)
    await offers.finder.fact("by the window", 0.9)
    assert [one.id for one in await offers.recall(ANYONE, vector=None)] == [str(by_words)]
    assert await offers.recall(ANYONE, text=" \x00\n ") == []


async def test_for_a_user_there_is_what_is_theirs_and_what_is_global(offers: Offers) -> None:
    finder = offers.finder
    for scope, caller in (("global", AGENT), ("travel", AGENT), ("user:ana", ANA), ("user:ben", BEN)):
        await finder.fact(f"fact {scope}", 0.9, scope=scope, caller=caller)
        await finder.rule(f"rule {scope}", 0.9, scope=scope, caller=caller)
        await finder.episode(f"episode {scope}", 0.9, butler=scope.replace("global", "chat"), caller=caller)
    await finder.fact("fact of ben", 0.9, caller=BEN)
    await finder.episode("travel with ana", 0.9, caller=AGENT, metadata={"user_id": "ana"})
    await finder.episode("chat with ana", 0.9, butler="chat", caller=AGENT, metadata={"user": "ana"})
    await finder.episode("travel with ben", 0.9, caller=AGENT, metadata={"user_id": "ben", "user": "ana"})
    shared = {"fact global p: fact global", "rule global"}
    own = {"fact user:ana p: fact user:ana", "rule user:ana", "episode user:ana"}
    assert await offers.texts() == shared | own | {"travel with ana", "chat with ana"}
    to_agent = Subject(tenant_id=TENANT, user="ana", agent_id="travel")
    assert await offers.texts(to_agent) == shared | own | {"travel with ana"}
    bound = Caller(user="ana", bound={"butler": "chat"})
    assert await offers.texts(to_agent, bound) == shared | own | {"chat with ana"}
    assert await offers.texts(TO_ANA, BEN) == shared
    assert await offers.texts(TO_ANA, ANONYMOUS) == shared | {"travel with ana", "chat with ana"}
    assert await offers.texts(Subject(tenant_id="other", user="ana")) == set()
    assert await offers.texts(TO_ANA, Caller(user="ana", bound={"tenant_id": "other"})) == set()


async def test_for_an_agent_there_is_what_is_its_own_and_what_is_global(offers: Offers) -> None:
    finder = offers.finder
    for scope in ("global", "travel", "chat"):
        await finder.fact(scope, 0.9, scope=scope, caller=AGENT)
    await finder.fact("user:ana", 0.9, scope="user:ana")
    await finder.episode("to travel", 0.9, caller=AGENT)
    await finder.episode("to chat", 0.9, butler="chat", caller=AGENT)
    agent = Subject(tenant_id=TENANT, agent_id="travel")
    assert await offers.texts(agent) == {"global p: global", "travel p: travel", "to travel"}
    everything = await offers.texts(ANYONE)
    assert everything == {f"{one} p: {one}" for one in ("global", "travel", "chat", "user:ana")} | {
        "to travel", "to chat",
    }  # fmt: skip
    assert await offers.texts(ANYONE, BEN) == everything - {"user:ana p: user:ana"}
    assert await offers.texts(Subject(tenant_id=TENANT, agent_id="user:ana"), BEN) == set()


async def test_kinds_and_times_bound_what_is_found_before_the_limit(offers: Offers) -> None:
    finder, clock = offers.finder, offers.house.clock
    for number in range(3):
        await finder.fact(f"seat {number}", 0.9 - number / 10)
        await finder.rule(f"seat rule {number}", 0.9 - number / 10)
        await finder.episode(f"seat episode {number}", 0.9 - number / 10)
        clock.turn(hours=1)
    since, until = clock.now() - timedelta(hours=2), clock.now() - timedelta(hours=1)
    only_one = {"seat 1 p: seat 1", "seat rule 1", "seat episode 1"}
    assert await offers.texts(ANYONE, since=since, until=until, limit=3) == only_one
    assert await offers.texts(ANYONE, since=until) == {"seat 2 p: seat 2", "seat rule 2", "seat episode 2"}
    assert await offers.texts(ANYONE, kinds=frozenset({"rule"}), until=since, limit=1) == {"seat rule 0"}
    assert await offers.texts(ANYONE, kinds=frozenset({"note"})) == set()
    assert len(await offers.recall(ANYONE)) == 9


async def test_an_item_names_what_it_rests_on(offers: Offers) -> None:
    finder, house = offers.finder, offers.house
    session = uuid4()
    said = {"message_ids": ["m1", "m2", 3], "entry_id": "e1", "other": "x"}
    first = await finder.episode("one", 0.5, session_id=session, metadata=said)
    second = await finder.episode("two", 0.5, session_id=session, metadata={"turn_id": "t1"})
    fact = await finder.fact("by the window", 0.9, source_episode_id=first)
    await house.link(("fact", fact), ("episode", second), "derived_from")
    of_first = [f"episode:{first}", f"session:{session}", "entry:e1", "message:m1", "message:m2"]
    item = await offers.one("fact", fact)
    assert item.provenance == [*of_first, f"episode:{second}", "turn:t1"]
    assert (await offers.one("episode", first)).provenance == of_first
    await house.rows("DELETE FROM knowledge_episodes WHERE id = $1 RETURNING 1", second)
    assert (await offers.one("fact", fact)).provenance == [*of_first, f"episode:{second}"]


async def test_what_is_another_users_is_no_source_that_is_named(offers: Offers) -> None:
    finder, house = offers.finder, offers.house
    rule = await finder.rule("Ask first", 0.9, caller=AGENT)
    secret = await finder.episode("ana said so", 0.5, butler="user:ana", metadata={"message_id": "m1"})
    to_ben = await finder.episode(
        "ben said so", 0.5, caller=BEN, metadata={"message_id": "m2", "user": "ben"}
    )
    for one, caller in ((secret, ANA), (to_ben, BEN)):
        await house.link(("rule", rule), ("episode", one), "derived_from", caller)
    assert (await offers.one("rule", rule, BEN)).provenance == [f"episode:{to_ben}", "message:m2"]
    (of_ana,) = await offers.recall(TO_ANA, kinds=frozenset({"rule"}))
    assert of_ana.provenance == [f"episode:{secret}", "message:m1"]


async def test_states_say_what_makes_an_item_less_than_it_seems(offers: Offers) -> None:
    finder, house = offers.finder, offers.house
    faded = await finder.fact("the aisle", 0.9, permanence="ephemeral")
    house.clock.turn(days=20)  # exp(-2) is below .2
    fresh = await finder.fact("the window", 0.8)
    rule = await finder.rule("Seat Ana at the window", 0.7)
    assert (await offers.one("fact", faded)).states == ["fading"]
    assert (await offers.one("fact", fresh)).states == []
    await house.link(("fact", fresh), ("rule", rule), "contradicts")
    assert (await offers.one("fact", fresh)).states == ["contradicted"]
    assert (await offers.one("rule", rule)).states == ["contradicted"]
    await offers.items.forget("fact", str(fresh), ANYONE, ANA)
    assert (await offers.one("rule", rule)).states == []
    house.clock.turn(days=11)  # exp(-3.1) is below .05
    assert str(faded) not in {one.id for one in await offers.recall(ANYONE)}


async def test_a_contradiction_that_the_caller_may_not_see_says_nothing(offers: Offers) -> None:
    finder, house = offers.finder, offers.house
    fact = await finder.fact("the aisle", 0.9, caller=AGENT)
    own = await finder.fact("the window", 0.8, scope="user:ana")
    await house.link(("fact", own), ("fact", fact), "contradicts")
    assert (await offers.one("fact", fact)).states == ["contradicted"]
    assert (await offers.one("fact", fact, BEN)).states == []


async def test_a_fact_whose_place_is_taken_is_read_and_not_recalled(offers: Offers) -> None:
    finder = offers.finder
    first = await finder.fact("the aisle", 0.9, subject="Ana", predicate="seat")
    second = await finder.fact("the window", 0.9, subject="Ana", predicate="seat")
    assert [one.id for one in await offers.recall(ANYONE)] == [str(second)]
    read = await offers.items.read("fact", str(first), ANYONE, ANA)
    assert (read.text, read.states) == ("Ana seat: the aisle", [f"superseded_by:{second}"])


async def test_what_is_forgotten_is_not_there_and_told_in_an_event(offers: Offers) -> None:
    finder = offers.finder
    memories = {
        "fact": await finder.fact("seat", 0.9),
        "rule": await finder.rule("seat first", 0.9),
        "episode": await finder.episode("a seat", 0.9),
    }
    told = {"fact": "fact_retracted", "rule": "rule_forgotten", "episode": "episode_forgotten"}
    for kind, id in memories.items():
        await offers.items.forget(kind, str(id), ANYONE, ANA)
        assert (await offers.house.events(id))[-1] == told[kind]
        with pytest.raises(NotFound):
            await offers.items.read(kind, str(id), ANYONE, ANA)
        with pytest.raises(NotFound):
            await offers.items.forget(kind, str(id), ANYONE, ANA)
    assert await offers.recall(ANYONE) == []


async def test_what_one_may_not_see_is_not_there(offers: Offers) -> None:
    finder = offers.finder
    memories: dict[MemoryType, UUID] = {
        "fact": await finder.fact("seat", 0.9, scope="user:ana"),
        "rule": await finder.rule("seat first", 0.9, scope="user:ana"),
        "episode": await finder.episode("a seat", 0.9, butler="user:ana"),
    }
    hidden = [
        (ANYONE, BEN),
        (ANYONE, ANONYMOUS),
        (Subject(tenant_id=TENANT, user="ben"), ANA),
        (Subject(tenant_id=TENANT, agent_id="travel"), ANA),
        (Subject(tenant_id="other", user="ana"), ANA),
        (TO_ANA, Caller(user="ana", bound={"tenant_id": "other"})),
    ]
    for kind, id in memories.items():
        for subject, caller in hidden:
            with pytest.raises(NotFound):
                await offers.items.read(kind, str(id), subject, caller)
            with pytest.raises(NotFound):
                await offers.items.forget(kind, str(id), subject, caller)
        with pytest.raises(NotFound):
            await offers.items.read(kind, "no id", TO_ANA, ANA)
        assert (await offers.items.read(kind, str(id), TO_ANA, ANA)).id == str(id)
    with pytest.raises(InvalidRequest, match=r"\$\.kind"):
        await offers.items.read("note", str(uuid4()), TO_ANA, ANA)
